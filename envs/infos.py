"""What the infos of single environments say: entries to pass on, and success."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

SUCCESS = ("success", "is_success")
"""Names of success in info: Meta-World and many others; Gymnasium's robots."""


def declared_names(env: gym.Env, attribute: str) -> tuple[str, ...]:
    """The names in an attribute of an environment, or of a wrapper around it."""
    has_names = env.has_wrapper_attr(attribute)
    names = env.get_wrapper_attr(attribute) if has_names else ()
    if isinstance(names, str):
        raise TypeError(
            f"{attribute} of {env} is {names!r}: give a tuple, ({names!r},)"
        )
    return tuple(names)


def success_entry(info: Mapping[str, Any]) -> Any | None:
    """The success entry of an info, or of a dict within it; None if missing.

    >>> success_entry({"success": True}), success_entry({"task": {"is_success": 0}})
    (True, 0)
    """
    for name in SUCCESS:
        if name in info and not isinstance(info[name], Mapping):
            return info[name]
    parts = (v for k, v in info.items() if k != "final_info" and isinstance(v, Mapping))
    return next((x for x in map(success_entry, parts) if x is not None), None)
