"""Whether an episode ended well, by the infos of the step that ended it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from yieldrl.envs.autoreset import final_info_entry
from yieldrl.envs.single_answers import SUCCESS, said_of_success


def successes(info: Mapping[str, Any], num_envs: int) -> np.ndarray | None:
    """What a step said of success at the episodes that it ended, bool `[N]`.

    Gymnasium's vector environments put that into `final_info` where they reset within
    the step: merged into arrays, or, before Gymnasium 1.0, as one info for each.

    Returns:
        Meant for environments whose episode ended, False where nothing was said of
        one; None if nothing was said of any.
    """
    final = info.get("final_info")
    if final is not None and not isinstance(final, Mapping):
        return _of_each(final)
    for name in SUCCESS:
        if name in info or name in (final or {}):
            said = final_info_entry(info, name)
            if not isinstance(said, Mapping):
                return _flags(said, num_envs)
    said = None if final is None else said_of_success(final)
    said = said_of_success(info) if said is None else said
    return None if said is None else _flags(said, num_envs)


def _of_each(infos: Iterable[Mapping[str, Any] | None]) -> np.ndarray | None:
    said = [said_of_success(info or {}) for info in infos]
    if all(one is None for one in said):
        return None
    return np.array([bool(one) for one in said])


def _flags(said: Any, num_envs: int) -> np.ndarray:
    values = said.cpu().numpy() if isinstance(said, Tensor) else np.asarray(said)
    return values.reshape(num_envs).astype(np.bool_)
