"""Does a vector environment keep its promises? Ask before you train in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.check_answers import SEED, Moment, compare, named, play, same
from yieldrl.envs.check_batched import check_batched
from yieldrl.envs.make import check as check_spaces


def check(envs: VectorEnv[Any, Any, Any], *, steps: int = 200, seed: int = 0) -> None:
    """Play with random actions, and raise at the first promise that is not kept.

    What is looked at: shapes, dtypes and bounds of all answers; that `final_obs` is
    what an episode came to and its mask says which ended; that a new episode keeps
    nothing of the old; that the same seed gives the same, and another seed something
    else; that what one environment does leaves the others alone. For a `TorchVectorEnv`
    every step is also derived anew from the methods that you wrote, in all three
    autoreset modes and with a short time limit, and its `state_dict`, its copies and
    its freedom from waiting for the device are tried.

    The environments are reset and played in; a `TorchVectorEnv` is cloned for most of
    it. What no episode does within `steps` is not seen.

    Args:
        envs: The environments, two of them at least.
        steps: How many steps to play.
        seed: Of the environments and the actions.

    Raises:
        TypeError, ValueError: Saying what was wrong, what was got, and what to do.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> check(gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=8))
    """
    check_spaces(envs)
    if envs.num_envs < 2:
        raise ValueError(f"num_envs = {envs.num_envs}: check two environments or more")
    first = play(envs, steps, seed)
    _check_starts(envs, first)
    _check_final(first)
    if isinstance(envs, TorchVectorEnv):
        check_batched(envs, seed)
    compare(first, play(envs, steps, seed), SEED)
    _check_other_seeds(envs, seed)
    _check_isolation(envs, steps, seed)


def _ended(moment: Moment) -> np.ndarray:
    """Whose episode ended, bool `[N]`; nobody's where it was a reset."""
    nobody = np.zeros((), np.bool_)
    return moment.get("terminated", nobody) | moment.get("truncated", nobody)


def _check_final(run: list[Moment]) -> None:
    """`final_obs` is not what came after the reset, whenever an episode ends."""
    ends = [m for m in run if _ended(m).any()]
    names = [name for name in run[0] if ends and f"final_{name}" in ends[0]]
    if not names:  # in the other autoreset modes
        return
    alike = all(
        same(m[f"final_{name}"][_ended(m)], m[name][_ended(m)])
        for m in ends
        for name in names
    )
    if alike and not _all_alike([{k: m[k] for k in names} for m in run]):
        raise ValueError(
            f"at all {sum(_ended(m).sum() for m in ends)} ends of episodes final_obs is"
            " the first observation of the next episode: put there what the episode"
            " came to, before the reset"
        )


def _check_other_seeds(envs: Any, seed: int) -> None:
    """Seeds must matter where chance does."""
    by_seed = [named(envs, "obs", envs.reset(seed=seed + i)[0]) for i in range(8)]
    by_chance = [named(envs, "obs", envs.reset()[0]) for _ in range(8)]
    if _all_alike(by_seed) and not _all_alike(by_chance):
        raise ValueError(
            f"reset(seed=...) gave the same first observations for the seeds {seed} to"
            f" {seed + 7}, but reset() gives others each time: seed the generator with"
            " the number that is given"
        )


def _all_alike(moments: list[Moment]) -> bool:
    first = moments[0]
    return all(same(m[name], first[name]) for m in moments for name in first)


def _check_starts(envs: Any, run: list[Moment]) -> None:
    """First observations after an automatic reset are like those after `reset`."""
    if envs.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
        return
    ends = [m for m in run if _ended(m).any()]
    if not ends:
        return
    resets = [
        named(envs, "obs", envs.reset()[0]) for _ in range(512 // envs.num_envs + 2)
    ]
    for name in resets[0]:
        known = np.concatenate([m[name] for m in resets]).astype(np.float64)
        fresh = np.concatenate([m[name][_ended(m)] for m in ends])
        low, high = known.min(0), known.max(0)
        room = high - low + 1e-6 * (1 + np.abs(high))
        outside = (fresh < low - room) | (fresh > high + room)
        strange = outside.reshape(len(fresh), -1).any(1)
        if strange.mean() > 0.5:  # a few of them can be rare ones
            raise ValueError(
                f"{name} = {fresh[strange.argmax()]} after an automatic reset, but"
                f" reset() gives values from {low} to {high}: start the new episode"
                " from nothing of the old"
            )


def _check_isolation(envs: Any, steps: int, seed: int) -> None:
    """Other actions in environment 0 change nothing in the others."""
    these = play(envs, steps, seed)
    those = play(envs, steps, seed, instead=seed + 1)
    for t, (this, that) in enumerate(zip(these, those, strict=False)):
        for name in (name for name in this if name in that):
            mine, yours = this[name][1:], that[name][1:]
            if not same(mine, yours):
                i = int((mine != yours).reshape(len(mine), -1).any(1).argmax())
                raise ValueError(
                    f"another action in environment 0 changed {name} of environment"
                    f" {i + 1} in step {t} from {mine[i]} to {yours[i]}: let no"
                    " environment write to what another one reads"
                )
        if _ended(this).any() or _ended(that).any():
            return  # from here on they may share a generator's numbers differently
