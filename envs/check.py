"""Conformance test of a vector environment, to run before training in it."""

import warnings
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from yieldrl.envs import check_runs
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.check_answers import Moment, ended_in, first_end, named, play
from yieldrl.envs.check_batched import check_batched
from yieldrl.envs.vectorize import check as check_spaces


def check(envs: VectorEnv, *, steps: int = 200, seed: int = 0) -> None:
    """Play with random actions, and raise at the first wrong result.

    It checks shapes, dtypes and bounds of all results; `final_obs` and its mask; that
    a new episode keeps no state of the old one, with a seed and (if random numbers come
    from `np_random`) without; that equal seeds give equal results, and other seeds
    others; that no environment, nor its seed, affects another. Every step of a
    `TorchVectorEnv` is also computed again from the methods that you wrote, in all
    autoreset modes and with a short time limit, and its `state_dict`, its copies and
    the absence of synchronizations are tested.

    Behaviour that does not occur within `steps` is not tested. If `reset(seed=...)`
    warns that it ignores the seed, as EnvPool's does, a warning names skipped tests.

    Args:
        envs: At least two environments.
        steps: Number of steps to play.
        seed: Seed of the environments and the actions.

    Raises:
        TypeError, ValueError: At the first wrong result.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> check(gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=8))
    """
    check_spaces(envs)
    if envs.num_envs < 2:
        raise ValueError(f"num_envs = {envs.num_envs}: check two environments or more")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        envs.reset(seed=seed)
    messages = [str(warning.message) for warning in caught]
    seeded = not any("seed" in text and "ignored" in text for text in messages)
    first = play(envs, steps, seed if seeded else None, seed)
    _check_starts(envs, first)
    check_runs.check_final(first)
    if isinstance(envs, TorchVectorEnv):
        check_batched(envs, seed)
    if not seeded:
        warnings.warn(
            f"{type(envs).__name__}.reset says that it ignores seeds: nothing that"
            " takes a repetition was tried (what a seed determines, and whether one"
            " environment changes another)",
            stacklevel=2,
        )
        return
    check_runs.compare(first, play(envs, steps, seed, seed), check_runs.SEED)
    _check_other_seeds(envs, seed)
    _check_isolation(envs, first, seed)
    check_runs.check_own_seeds(envs, steps, seed)
    check_runs.check_nothing_survives(envs, steps, seed)


def _check_other_seeds(envs: Any, seed: int) -> None:
    """Check that other seeds give other results if there is randomness."""

    def all_alike(seeds: Any) -> bool:
        found = [named(envs, "obs", envs.reset(seed=s)[0]) for s in seeds]
        return all(check_runs.alike(obs, found[0]) for obs in found)

    if all_alike(range(seed, seed + 8)) and not all_alike([None] * 8):
        raise ValueError(
            f"reset(seed=...) gave the same first observations for the seeds {seed} to"
            f" {seed + 7}, but reset() gives others each time: seed the generator with"
            " the number that is given"
        )


def _check_starts(envs: Any, run: list[Moment]) -> None:
    """Check that observations after an automatic reset are like those of `reset`."""
    if envs.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
        return
    ends = [m for m in run if ended_in(m).any()]
    if not ends:
        return
    count = 512 // envs.num_envs + 2
    resets = [named(envs, "obs", envs.reset()[0]) for _ in range(count)]
    for name in resets[0]:
        known = np.concatenate([m[name] for m in resets]).astype(np.float64)
        fresh = np.concatenate([m[name][ended_in(m)] for m in ends])
        low, high = known.min(0), known.max(0)
        room = high - low + 1e-6 * (1 + np.abs(high))
        outside = (fresh < low - room) | (fresh > high + room)
        strange = outside.reshape(len(fresh), -1).any(1)
        if strange.mean() > 0.5:  # a few may be rare observations
            raise ValueError(
                f"{name} = {fresh[strange.argmax()]} after an automatic reset, but"
                f" reset() gives values from {low} to {high}: start the new episode"
                " from nothing of the old"
            )


def _check_isolation(envs: Any, run: list[Moment], seed: int) -> None:
    """Check that other actions in environment 0 change nothing in the others.

    Only until the first episode ends: then they may draw from a shared generator.
    """
    other = play(envs, first_end(run), seed, seed, seed + 1)
    at_once = envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    for t, (this, that) in enumerate(zip(run, other, strict=False)):
        ended = ended_in(this) | ended_in(that)
        begun = np.broadcast_to(ended & at_once, (envs.num_envs,))[1:]
        for name in (name for name in this if name in that):
            differs = (this[name] != that[name])[1:].reshape(len(begun), -1).any(1)
            if name == "obs" or name.startswith("obs."):
                differs &= ~begun
            if differs.any():
                i = int(differs.argmax()) + 1
                raise ValueError(
                    f"another action in environment 0 changed {name} of environment"
                    f" {i} in step {t} from {this[name][i]} to {that[name][i]}: let no"
                    " environment write to what another one reads"
                )
        if ended.any():
            return
