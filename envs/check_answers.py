"""Runs for `check`: collect the results of steps, and check each of them."""

from collections.abc import Mapping
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.foundations import spaces
from yieldrl.foundations.conversion import copied_array

Moment = dict[str, np.ndarray]
"""Results of a reset or a step: name such as `obs.image` -> array `[N, ...]`."""


def play(
    envs: VectorEnv, steps: int, seeds: Any, seed: int, instead: int | None = None
) -> list[Moment]:
    """All results of a run of `steps` steps, after a reset with `seeds`, with actions
    drawn with `seed`, or in environment 0 with `instead`."""
    mode = envs.metadata["autoreset_mode"]
    # Not `envs.action_space`, which in EnvPool is that of one environment.
    chooser, other = (
        batch_space(envs.single_action_space, envs.num_envs) for _ in range(2)
    )
    chooser.seed(seed)
    other.seed(instead)
    answer = envs.reset(seed=seeds)
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise TypeError(f"reset must return obs and info, got {type(answer)}")
    moments, kept = [named(envs, "obs", answer[0])], []
    for _ in range(steps):
        action = chooser.sample()
        if instead is not None:
            action[0] = other.sample()[0]
        given = action.copy()
        answer = envs.step(action)
        if not np.array_equal(given, action):
            raise ValueError("step wrote to the actions that it was given: copy them")
        moment = _look_at(envs, mode, answer)
        moments.append(moment)
        if isinstance(answer[0], Tensor):
            kept.append((answer[0], moment["obs"]))
        ended = ended_in(moment)
        if mode is AutoresetMode.DISABLED and ended.any():
            obs, _ = envs.reset(options={"reset_mask": ended})
            moments.append(named(envs, "obs", obs))
    for t, (tensor, was) in enumerate(kept):
        if not same(copied_array(tensor), was):
            raise ValueError(
                f"the observations of step {t} were overwritten by a later step: let"
                " observe return memory of its own (.clone())"
            )
    return moments


def _look_at(envs: Any, mode: AutoresetMode, answer: Any) -> Moment:
    """A step's results as arrays; raises if they are wrong."""
    if not (isinstance(answer, tuple) and len(answer) == 5):
        raise TypeError(
            "step must return obs, reward, terminated, truncated and info, got"
            f" {type(answer)} of length {len(answer)}"
        )
    obs, reward, terminated, truncated, info = answer
    moment = named(envs, "obs", obs)
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        moment[name] = copied_array(value)
        _expect(name, moment[name], np.bool_, (envs.num_envs,))
    moment["reward"] = reward = copied_array(reward)
    wanted = reward.dtype if reward.dtype.kind == "f" else np.float32
    _expect("reward", reward, wanted, (envs.num_envs,))
    if not np.isfinite(reward).all():
        raise ValueError(f"reward = {reward}: it must be finite, always")
    if mode is AutoresetMode.SAME_STEP and ended_in(moment).any():
        moment |= _final(envs, moment, info)
    return moment


def _final(envs: Any, moment: Moment, info: Mapping[str, Any]) -> Moment:
    """The `final_obs` of a step in which an episode ended."""
    ended = ended_in(moment)
    if "final_obs" not in info or "_final_obs" not in info:
        raise ValueError(
            "an episode ended and info lacks final_obs and its mask _final_obs, it has"
            f" {sorted(info)}: put the observations there that were reset away"
        )
    mask = copied_array(info["_final_obs"])
    _expect('info["_final_obs"]', mask, np.bool_, (envs.num_envs,))
    if not np.array_equal(mask, ended):
        raise ValueError(
            f'info["_final_obs"] = {mask}, but terminated | truncated = {ended}: the'
            " mask says whose episode ended in this step"
        )
    final, dense = info["final_obs"], {}
    if isinstance(final, np.ndarray) and final.dtype == object:  # Gymnasium's format
        for path, _ in spaces.leaves(envs.single_observation_space):
            obs = moment[".".join(("obs", *path))].copy()
            for i in ended.nonzero()[0]:
                obs[i] = reduce(getitem, path, final[i])
            dense[".".join(("final_obs", *path))] = obs
        return dense
    dense = named(envs, "final_obs", final)
    for name, value in dense.items():
        obs = moment[name.removeprefix("final_")]
        if not same(value[~ended], obs[~ended]):
            raise ValueError(
                f"{name} = {value[~ended][0]} where no episode ended, and obs ="
                f" {obs[~ended][0]}: there, both are the next observation"
            )
    return dense


def named(envs: Any, name: str, obs: Any) -> Moment:
    """Observations as arrays by name; raises if they are outside their space."""
    found = {}
    for path, space in spaces.leaves(envs.single_observation_space):
        leaf, array = ".".join((name, *path)), copied_array(reduce(getitem, path, obs))
        _expect(leaf, array, space.dtype, (envs.num_envs, *spaces.shape_of(space)))
        if isinstance(space, Box):
            outside = ~((array >= space.low) & (array <= space.high))  # True for NaN
        else:
            outside = spaces.choice_ranges(space)[0].outside(array)
        if outside.any():
            at = tuple(int(i) for i in np.argwhere(outside)[0])
            raise ValueError(
                f"{leaf} is outside of its space: {array[at]} at {at}, in {space}:"
                " widen single_observation_space, or clip what is observed"
            )
        found[leaf] = array
    return found


def _expect(name: str, array: np.ndarray, dtype: Any, shape: tuple[int, ...]) -> None:
    if (array.dtype, array.shape) != (np.dtype(dtype), shape):
        raise ValueError(
            f"{name} must be {np.dtype(dtype)} of shape {shape}, got {array.dtype} of"
            f" shape {array.shape}: convert it where it is made"
        )


def ended_in(moment: Moment) -> np.ndarray:
    """Whether an episode ended, bool `[N]`; False after a reset."""
    none = np.zeros((), np.bool_)
    return moment.get("terminated", none) | moment.get("truncated", none)


def first_end(run: list[Moment]) -> int:
    """Index of the first moment in which an episode ended, or of the last one."""
    ends = (t for t, moment in enumerate(run) if ended_in(moment).any())
    return next(ends, len(run) - 1)


def same(these: np.ndarray, those: np.ndarray) -> bool:
    return these.shape == those.shape and bool((these == those).all())
