"""Read configs from files and mappings, also of earlier versions, and write them."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from yieldrl.foundations.aliases import field_for, named_as_in_file, to_fields
from yieldrl.foundations.config_blocks import close_to, has_blocks
from yieldrl.foundations.files import read_file
from yieldrl.foundations.named_code import refuse_untrusted
from yieldrl.foundations.plain import read, written
from yieldrl.foundations.validation import Checked, FieldError, plain_hints


@dataclasses.dataclass(frozen=True, kw_only=True)
class FromFiles(Checked):
    """A checked dataclass, stored in files, that knows fields of earlier versions."""

    absent: ClassVar[tuple[str, ...]] = ()
    """Fields of related algorithms that this one does not have."""

    retired: ClassVar[Mapping[str, tuple[Any, str]]] = {}
    """Removed fields: the value without effect, and what replaces the field. In files,
    a removed field with that value is ignored."""

    def __new__(cls, *args: Any, **values: Any) -> Self:
        try:
            cls.refuse_names(values)
        except ValueError as reason:
            raise TypeError(str(reason)) from None
        return super().__new__(cls)

    @classmethod
    def refuse_names(cls, names: Iterable[str]) -> None:
        """Raise ValueError for a name of a removed field, or of a field in another
        library."""
        for name in [name for name in names if name not in cls.__dataclass_fields__]:
            said = f"{cls.__qualname__} has no field {name!r}"
            if name in cls.retired:
                raise ValueError(f"{said} any more: {cls.retired[name][1]}")
            if (ours := field_for(name, cls)) is not None:
                raise ValueError(f"{said}: here it is {ours!r}")

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values that JSON, YAML and checkpoints can hold."""
        hints = plain_hints(type(self))
        names = [entry.name for entry in dataclasses.fields(self)]
        return {name: written(getattr(self, name), hints[name]) for name in names}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The config that `to_dict` or a config file describes, with blocks or without.

        With blocks, names of `yieldrl.foundations.aliases` are accepted too; models
        and loggers are not part of a config. ValueError if a name is unknown (the
        nearest known one is proposed) or a value does not fit its field.
        """
        said = cls._as_now(values)
        blocks = has_blocks(said)
        fields = to_fields(said, cls) if blocks else said
        cls.refuse_names(fields)
        hints = plain_hints(cls)
        known = {entry.name for entry in dataclasses.fields(cls)}
        for name in [name for name in fields if name not in known]:
            hint = close_to(name, known) or f"leave it out; known: {sorted(known)}"
            if name in cls.__dataclass_fields__ or name in cls.absent:
                hint = f"it means nothing to {cls.__module__}, leave it out"
            raise ValueError(f"{cls.__qualname__} has no field {name!r}: {hint}")
        given = {key: read(value, hints[key]) for key, value in fields.items()}
        try:
            return cls(**given)
        except FieldError as error:
            if not blocks:
                raise
            raise named_as_in_file(error, said, cls) from None

    @classmethod
    def from_file(cls, path: str | Path, *, trust: bool = False) -> Self:
        """Load a JSON, YAML or TOML file; FileNotFoundError or ValueError if unfit.

        UntrustedError if it names code of your own (`env_id: my_module:MyEnv`), unless
        `trust` says that this may be imported.
        """
        config = cls.from_dict(read_file(path))
        if not trust:
            refuse_untrusted(config.to_dict(), Path(path))
        return config

    @classmethod
    def _as_now(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Values saved by an earlier version, without removed fields."""
        now = dict(values)
        if isinstance(now.get("compile"), bool) and now.pop("compile"):
            now = {"speed": "compile", **now}  # `compile` was a bool before
        for name in cls.retired.keys() & now.keys() - cls.__dataclass_fields__.keys():
            if now[name] == cls.retired[name][0]:
                del now[name]
        cls.refuse_names(now.keys() & cls.retired.keys())
        return now
