"""Read configs from files and mappings, and write them."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from yieldrl.foundations.config_blocks import has_blocks, nearest, to_fields
from yieldrl.foundations.files import read_file
from yieldrl.foundations.named_code import refuse_untrusted
from yieldrl.foundations.plain import read, written
from yieldrl.foundations.validation import Checked, plain_hints


@dataclasses.dataclass(frozen=True, kw_only=True)
class FromFiles(Checked):
    """A checked dataclass that files can hold."""

    def __new__(cls, *args: Any, **values: Any) -> Self:
        try:
            cls.refuse_names(values)
        except ValueError as reason:
            raise TypeError(str(reason)) from None
        return super().__new__(cls)

    @classmethod
    def refuse_names(cls, names: Iterable[str]) -> None:
        """Raise ValueError, with the nearest names, for one that is not a field's."""
        known = [entry.name for entry in dataclasses.fields(cls)]
        for name in [name for name in names if name not in known]:
            hint = nearest(name, known)
            raise ValueError(f"{cls.__module__} has no field {name!r}: {hint}")

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values that JSON, YAML and checkpoints can hold."""
        hints = plain_hints(type(self))
        names = [entry.name for entry in dataclasses.fields(self)]
        return {name: written(getattr(self, name), hints[name]) for name in names}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The config that `to_dict` or a config file describes, with blocks or without.

        ValueError if a name is unknown (the nearest ones are proposed) or a value does
        not fit its field.
        """
        hints = plain_hints(cls)
        fields = to_fields(values, cls) if has_blocks(values) else values
        cls.refuse_names(fields)
        return cls(**{key: read(value, hints[key]) for key, value in fields.items()})

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
