"""The base of configs: pydantic checks their values, and files hold them."""

import dataclasses
import inspect
import reprlib
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import to_jsonable_python

from yieldrl.core.config_blocks import has_blocks, nearest, to_fields
from yieldrl.core.fields import MAX_NUMBER
from yieldrl.core.files import naming, read_file
from yieldrl.core.named_code import refuse_untrusted


@dataclass(
    frozen=True,
    kw_only=True,
    config=ConfigDict(extra="forbid", allow_inf_nan=False),
)
class Checked:
    """A frozen dataclass whose values pydantic checks: ValueError if one does not fit.

    What concerns several fields a subclass checks in `__post_init__`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a field with another default, `num_envs: int = 8`, keep its range."""
        super().__init_subclass__(**kwargs)
        annotations = inspect.get_annotations(cls)
        for name, hint in annotations.items():
            for base in cls.__mro__[1:]:
                if name in inspect.get_annotations(base):
                    if typing.get_type_hints(base)[name] == hint:
                        whole = typing.get_type_hints(base, include_extras=True)
                        annotations[name] = whole[name]
                    break
        cls.__annotations__ = annotations

    def __new__(cls, *args: Any, **values: Any) -> Self:
        if not cls.__init__.__module__.startswith("pydantic"):
            raise TypeError(
                f"{cls.__qualname__} is of dataclasses.dataclass, which checks nothing:"
                " take the `dataclass` of pydantic.dataclasses"
            )
        try:
            cls.refuse_names(values)
        except ValueError as reason:
            raise TypeError(str(reason)) from None
        return super().__new__(cls)

    @classmethod
    def refuse_names(cls, names: Iterable[str]) -> None:
        """Raise ValueError, with the nearest names, for one that is not a field's."""
        fields = [entry.name for entry in dataclasses.fields(cls)]
        for name in [name for name in names if name not in fields]:
            hint = nearest(name, fields)
            raise ValueError(f"{cls.__module__} has no field {name!r}: {hint}")

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values that JSON, YAML and checkpoints can hold."""
        return to_jsonable_python(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The config that `to_dict` or a config file describes, with blocks or without.

        ValueError if a name is unknown (the nearest ones are proposed) or a value does
        not fit its field.
        """
        fields = to_fields(values, cls) if has_blocks(values) else values
        cls.refuse_names(fields)
        try:
            return cls(**fields)
        except ValidationError as error:
            raise ValueError(in_a_line(error, cls.__qualname__)) from error

    @classmethod
    def from_file(cls, path: str | Path, *, trust: bool = False) -> Self:
        """Load a JSON, YAML or TOML file; FileNotFoundError or ValueError if unfit.

        UntrustedError if it names code of your own (`env_id: my_module:MyEnv`), unless
        `trust` says that this may be imported.
        """
        with naming(path):
            config = cls.from_dict(read_file(path))
            if not trust:
                refuse_untrusted(config.to_dict(), Path(path))
        return config

    def error(self, name: str, remedy: str) -> ValueError:
        """An error with the name of the field, its value and the remedy."""
        value = reprlib.repr(getattr(self, name))
        return ValueError(f"{type(self).__qualname__}.{name} = {value}: {remedy}")

    def _check_range(
        self, name: str, low: float, high: float = MAX_NUMBER, *, above: bool = False
    ) -> None:
        """ValueError for a number outside `[low, high]`, `(low, high]` if `above`."""
        value = getattr(self, name)
        if value is None:
            return
        enough = value > low if above else value >= low
        if enough and value <= high:
            return
        least = f"above {low}" if above else f"at least {low}"
        raise self.error(name, f"choose a number {least} and at most {high}")


def in_a_line(error: ValidationError, owner: str) -> str:
    """Which fields do not fit, what they were, and why, for the command line."""
    problems = []
    for each in error.errors():
        message = each["msg"].removeprefix("Value error, ")
        place = ".".join([owner, *map(str, each["loc"])])
        value = f"{place} = {reprlib.repr(each['input'])}: " if each["loc"] else ""
        problems.append(f"{value}{message}")
    return "; ".join(problems)
