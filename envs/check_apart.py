"""Whether environments are apart: from one another, and from their own past."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.check_answers import look_at, named, play
from yieldrl.envs.check_moments import Moment, alike, compare, ended_in, same
from yieldrl.envs.serial import SerialVectorEnv

OBJECTS = SyncVectorEnv | AsyncVectorEnv | SerialVectorEnv
"""Batches of environments that are objects of their own."""

SHARED = (
    "{name} of environment {i} was {these} in step {t}, and {those} after the others"
    " had got other seeds: let each environment draw from a generator of its own"
    " (self.np_random, which super().reset(seed=seed) seeds), not from one that they"
    " share"
)
SURVIVES = (
    "{name} of environment {i} was {these} in step {t} of an episode, and {those} in"
    " the same one after other episodes had been played: let reset() set back all that"
    " a step changes, with a seed and without"
)
TRIES = 4
"""How often an episode is played, so that nothing rare passes for a rule."""


def check_own_seeds(envs: Any, steps: int, seed: int) -> None:
    """What an environment returns depends on its own seed alone.

    Environments of one `TorchVectorEnv` share a generator after their first states.
    """
    batched = isinstance(envs.unwrapped, TorchVectorEnv)
    if not (batched or isinstance(envs.unwrapped, OBJECTS)):
        return  # others may have one seed for the whole batch
    steps = 0 if batched else min(steps, 100)
    seeds = [seed + i for i in range(envs.num_envs)]
    run = play(envs, steps, seed, seeds=seeds)
    # Of a generator that all of them seed, the first seed or the last one may count.
    for i in (0, envs.num_envs - 1):
        others = [s if j == i else s + 10_007 for j, s in enumerate(seeds)]
        again = play(envs, steps, seed, seeds=others)
        _compare_one(run, again, i, _aligned(envs, run, again))


def _aligned(envs: Any, run: list[Moment], other: list[Moment]) -> int:
    """How many moments of two runs belong together.

    In DISABLED mode a reset, which is a moment, follows the end of any episode.
    """
    if envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
        for t, (this, that) in enumerate(zip(run, other, strict=False)):
            if ended_in(this).any() != ended_in(that).any():
                return t + 1
    return min(len(run), len(other))


def _compare_one(run: list[Moment], other: list[Moment], i: int, count: int) -> None:
    """Raise where the answers of environment `i` differ."""
    for t, (this, that) in enumerate(zip(run[:count], other[:count], strict=True)):
        for name in this.keys() & that.keys():
            these, those = this[name][i], that[name][i]
            if not same(these, those):
                raise ValueError(
                    SHARED.format(name=name, i=i, t=t, these=these, those=those)
                )


def check_nothing_survives(envs: Any, steps: int, seed: int) -> None:
    """An episode after others is the one that it would have been without them.

    Chance is the same where it comes from `np_random`, which is set before. Where an
    episode depends on the seed in spite of that, it is not known what it should be.
    """
    if not isinstance(envs.unwrapped, SyncVectorEnv | SerialVectorEnv):
        return
    seeds = [seed + 100 * (i + 1) for i in range(TRIES)]
    fresh = [_episode(envs, 0, s) for s in seeds]
    if not all(_alike(fresh[0], other) for other in fresh):
        return
    later = [_episode(envs, min(steps, 100), s) for s in seeds]
    if not any(_alike(fresh[0], other) for other in later):
        compare(fresh[0], later[0], SURVIVES)


def _alike(run: list[Moment], other: list[Moment]) -> bool:
    return len(run) == len(other) and all(map(alike, run, other))


def _episode(envs: Any, before: int, seed: int) -> list[Moment]:
    """What follows a reset without a seed, until an episode ends; `before` are steps.

    Chance and actions of it are always the same.
    """
    play(envs, before, seed)
    for i, env in enumerate(envs.unwrapped.envs):
        env.unwrapped.np_random = np.random.default_rng(i)
    chooser = batch_space(envs.single_action_space, envs.num_envs)
    chooser.seed(0)
    moments = [named(envs, "obs", envs.reset()[0])]
    mode = envs.metadata["autoreset_mode"]
    for _ in range(30):
        moments.append(look_at(envs, mode, envs.step(chooser.sample())))
        if ended_in(moments[-1]).any():
            break
    return moments
