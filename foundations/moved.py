"""Names that have moved: whoever asks for the old one hears the new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn


def moved_names(module: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """What a module is to have as its `__getattr__`.

    Args:
        module: Name of the module.
        places: Old names in it, and where each is now.

    >>> get = moved_names("old", {"Thing": "new.Thing"})
    >>> get("Thing")
    Traceback (most recent call last):
    ...
    ImportError: old.Thing is new.Thing now
    """

    def get(name: str) -> NoReturn:
        if name in places:  # an ImportError is shown by `from old import Thing`, too
            raise ImportError(f"{module}.{name} is {places[name]} now")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get


class Renamed:
    """An attribute under its old name: reads and writes the new one.

    Args:
        new: The new name.
    """

    def __init__(self, new: str) -> None:
        self.new = new

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(instance, self.new)

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(instance, self.new, value)
