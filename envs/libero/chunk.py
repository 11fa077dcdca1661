"""LIBERO's tasks for policies that choose several actions at once."""

from functools import partial
from typing import Any

import gymnasium as gym

from yieldrl.envs.libero.wrapper import LiberoEnvWrapper
from yieldrl.envs.make import vectorize
from yieldrl.envs.wrappers import ActionChunks


class LiberoEnvChunk(ActionChunks):
    """A batch of `LiberoEnvWrapper` that takes chunks of L actions, `[N, L, 7]`.

    It is `ActionChunks` around them. OpenVLA-OFT decides 8 actions and executes all of
    them; a trainer does the same with `chunk_length=8`.

    Args:
        num_envs: N. Each plays a task of its own if there are several.
        length: L.
        execute: How many actions of a chunk are executed; None for all.
        gamma: Discount of a single step.
        vectorization: `"sync"` simulates them one after the other, `"async"` in
            processes of their own, which start side by side.
        **kwargs: Those of `LiberoEnvWrapper`.

    Raises:
        ValueError: If an argument is out of its range.
        ImportError: If the benchmark is missing.
    """

    def __init__(
        self,
        num_envs: int = 1,
        length: int = 8,
        *,
        execute: int | None = None,
        gamma: float = 1.0,
        vectorization: str = "async",
        **kwargs: Any,
    ) -> None:
        make_one: partial[gym.Env] = partial(LiberoEnvWrapper, **kwargs)
        envs = vectorize(make_one, num_envs, vectorization)
        super().__init__(envs, length, execute=execute, gamma=gamma)
