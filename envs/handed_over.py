"""Last observations of episodes that an environment goes on writing into."""

from __future__ import annotations

from typing import Any

import numpy as np


class HandedOver:
    """Arrays that were handed over as they are, and must stay so.

    Gymnasium's `SyncVectorEnv` keeps no copy of an episode's last observation. An
    environment that writes all observations into one array has written the first one
    of the next episode there before anyone sees it.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []

    def keep(self, observations: list[Any]) -> None:
        """Remember these from now on, instead of those before."""
        arrays = [array for obs in observations for array in _arrays(obs)]
        self._kept = [(array, array.copy()) for array in arrays]

    def check(self, envs: Any) -> None:
        """Raise ValueError if one of them was written into, and forget them."""
        if not self._kept:
            return
        kept, self._kept = self._kept, []
        for array, copy in kept:
            if not np.array_equal(array, copy, equal_nan=array.dtype.kind == "f"):
                raise ValueError(
                    f"an environment of {envs} writes its observations into the array"
                    f" that it returned as an episode's last one ({copy} became"
                    f" {array}), and {type(envs.unwrapped).__name__} keeps no copy: let"
                    " the environment return a copy (obs.copy()), or pass its class"
                    " instead of the batch, whose own batch makes copies"
                )


def _arrays(obs: Any) -> list[np.ndarray]:
    if hasattr(obs, "values"):
        return [array for child in obs.values() for array in _arrays(child)]
    return [obs] if isinstance(obs, np.ndarray) else []
