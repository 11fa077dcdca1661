"""Whether a vector environment does what its interface says, before training in it."""

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
    """Play with random actions, and raise at the first answer that is wrong.

    What is looked at: shapes, dtypes and bounds of all answers; that `final_obs` is
    what an episode came to and its mask says which ended; that a new episode keeps
    nothing of the old, with a seed and (where chance comes from `np_random`) without;
    that the same seed gives the same, and another seed something else; that what one
    environment does, and its seed, leaves the others alone. For a `TorchVectorEnv`
    every step is also computed again from the methods that you wrote, in all three
    autoreset modes and with a short time limit, and its `state_dict`, its copies and
    its freedom from waiting for the device are tried.

    What no episode does within `steps` is not seen. Where `reset(seed=...)` warns that
    it ignores the seed, as EnvPool's does, nothing that takes a repetition is tried,
    and a warning says so.

    Args:
        envs: The environments, two of them at least.
        steps: How many steps to play.
        seed: Of the environments and the actions.

    Raises:
        TypeError, ValueError: At the first wrong answer.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> check(gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=8))
    """
    check_spaces(envs)
    if envs.num_envs < 2:
        raise ValueError(f"num_envs = {envs.num_envs}: check two environments or more")
    seeded = _takes_seeds(envs, seed)
    first = play(envs, steps, seed, seeded=seeded)
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
    check_runs.compare(first, play(envs, steps, seed), check_runs.SEED)
    _check_other_seeds(envs, seed)
    _check_isolation(envs, first, seed)
    check_runs.check_own_seeds(envs, steps, seed)
    check_runs.check_nothing_survives(envs, steps, seed)


def _takes_seeds(envs: Any, seed: int) -> bool:
    """Whether `reset` takes a seed without a warning that it ignores it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        envs.reset(seed=seed)
    return not any(
        "seed" in str(w.message) and "ignored" in str(w.message) for w in said
    )


def _check_other_seeds(envs: Any, seed: int) -> None:
    """Seeds must matter where chance does."""
    by_seed = [named(envs, "obs", envs.reset(seed=seed + i)[0]) for i in range(8)]
    by_chance = [named(envs, "obs", envs.reset()[0]) for _ in range(8)]
    alike_by_seed, alike_by_chance = (
        all(check_runs.alike(obs, found[0]) for obs in found)
        for found in (by_seed, by_chance)
    )
    if alike_by_seed and not alike_by_chance:
        raise ValueError(
            f"reset(seed=...) gave the same first observations for the seeds {seed} to"
            f" {seed + 7}, but reset() gives others each time: seed the generator with"
            " the number that is given"
        )


def _check_starts(envs: Any, run: list[Moment]) -> None:
    """First observations after an automatic reset are like those after `reset`."""
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
        if strange.mean() > 0.5:  # a few of them can be rare ones
            raise ValueError(
                f"{name} = {fresh[strange.argmax()]} after an automatic reset, but"
                f" reset() gives values from {low} to {high}: start the new episode"
                " from nothing of the old"
            )


def _check_isolation(envs: Any, run: list[Moment], seed: int) -> None:
    """Other actions in environment 0 change nothing in the others.

    Until the first episode ends: from then on a generator that all share may give
    others other numbers.
    """
    other = play(envs, first_end(run), seed, instead=seed + 1)
    at_once = envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    for t, (this, that) in enumerate(zip(run, other, strict=False)):
        ended = ended_in(this) | ended_in(that)
        # Environments that begin an episode may draw from a shared generator.
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
