"""Conformance test of a vector environment, to run before training in it."""

import itertools
import warnings
from collections import Counter
from functools import reduce
from operator import getitem
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch.utils._python_dispatch import TorchDispatchMode

from yieldrl.core import spaces
from yieldrl.core.conversion import copied_array
from yieldrl.envs.arrays import leaves
from yieldrl.envs.autoreset import ASSEMBLED, StepReader
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.make import check_spaces

Moment = dict[str, np.ndarray]
"""Results of a step: name such as `obs.image` or `reward` -> array `[N, ...]`."""

SEED = (
    "with the same seed and the same actions: draw all random numbers from the"
    " generator that the seed sets, and let a reset forget the episodes before it"
)
SHARED_ACTION = (
    "where environment 0 took another action: let no environment write to what another"
    " one reads"
)
SHARED_SEED = (
    "after the others had got other seeds: let each environment draw from a generator"
    " of its own (self.np_random, which super().reset(seed=seed) seeds)"
)
SURVIVES = (
    "in the same episode after other episodes had been played: let reset() set back all"
    " that a step changes, with a seed and without"
)


def check(envs: VectorEnv, *, steps: int = 200, seed: int = 0) -> None:
    """Play with random actions, and raise at the first wrong result.

    It checks shapes, dtypes and bounds of all results; `final_obs` and its mask; that
    a new episode keeps no state of the old one, with a seed and (if random numbers come
    from `np_random`) without; that equal seeds give equal results, and other seeds
    others; that no environment, nor its seed, affects another. The methods that you
    wrote for a `TorchVectorEnv` must be pure functions that do not wait for the device.

    Behaviour that does not occur within `steps` is not tested. If `reset(seed=...)`
    warns that it ignores the seed, as EnvPool's does, a warning names skipped tests; so
    it does for a class of its own that has no list `envs` of single environments, or
    takes no list of seeds for them: whether environments share a generator, and whether
    an episode is the same after others, can only be tried one by one.

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
    run = _play(envs, steps, seed if seeded else None, seed)
    _check_starts(envs, run)
    _check_final(run)
    if isinstance(envs, TorchVectorEnv):
        _check_functions(envs, seed)
    if not seeded:
        warnings.warn(
            f"{type(envs).__name__}.reset says that it ignores seeds: nothing that"
            " takes a repetition was tried (what a seed determines, and whether one"
            " environment changes another)",
            stacklevel=2,
        )
        return
    _compare(run, _play(envs, steps, seed, seed), SEED)
    _check_other_seeds(envs, seed)
    parts = getattr(envs.unwrapped, "envs", [])
    single = bool(parts) and all(isinstance(env, gym.Env) for env in parts)
    apart, untried = _check_apart(envs, run, seed, single), []
    if not apart:
        untried.append("share a generator")
    if single:
        _check_nothing_survives(envs, steps, seed)
    elif not isinstance(envs.unwrapped, TorchVectorEnv | ASSEMBLED):
        untried.append("keep something of an episode in the next")
    if untried:
        warnings.warn(
            f"{type(envs.unwrapped).__name__} is a batch of a class of its own: whether"
            f" its environments {' or '.join(untried)} was not tried",
            stacklevel=2,
        )


def _play(
    envs: VectorEnv, steps: int, seeds: Any, seed: int, instead: int | None = None
) -> list[Moment]:
    """All results of a run of `steps` steps, after a reset with `seeds`, with actions
    drawn with `seed`, or in environment 0 with `instead`."""
    # Not `envs.action_space`, which in EnvPool is that of one environment.
    chooser, other = (
        batch_space(envs.single_action_space, envs.num_envs) for _ in range(2)
    )
    chooser.seed(seed)
    other.seed(instead)
    obs, _ = envs.reset(seed=seeds)
    run, reader = [_named(envs, "obs", obs)], StepReader(envs)
    for _ in range(steps):
        action = chooser.sample()
        if instead is not None:
            action[0] = other.sample()[0]
        given = action.copy()
        run.append(_results(envs, envs.step(action), reader))
        if not np.array_equal(given, action):
            raise ValueError("step wrote to the actions that it was given: copy them")
    return run


def _results(envs: Any, answer: Any, reader: StepReader) -> Moment:
    """A step's results as arrays, in DISABLED mode also those of a reset after it;
    raises if they are wrong."""
    obs, reward, terminated, truncated, info = answer
    moment, shape = _named(envs, "obs", obs), (envs.num_envs,)
    moment["reward"] = reward = copied_array(reward)
    _expect("reward", reward, reward.dtype if reward.dtype.kind == "f" else "f4", shape)
    if not np.isfinite(reward).all():
        raise ValueError(f"reward = {reward}: it must be finite, always")
    for name, value in {"terminated": terminated, "truncated": truncated}.items():
        moment[name] = copied_array(value)
        _expect(name, moment[name], np.bool_, shape)
    ended, mode = _ended(moment), envs.metadata["autoreset_mode"]
    if ended.any() and mode is AutoresetMode.SAME_STEP:
        next_obs = reader.read(answer, resets=None).next_obs
        moment |= _final(envs, moment, next_obs, info)
    if ended.any() and mode is AutoresetMode.DISABLED:
        obs, _ = envs.reset(options={"reset_mask": ended})
        moment |= _named(envs, "first_obs", obs)
    return moment


def _final(envs: Any, moment: Moment, next_obs: Any, info: dict[str, Any]) -> Moment:
    """The `final_obs` of a step in which an episode ended."""
    ended, mask = _ended(moment), copied_array(info.get("_final_obs", False))
    if not np.array_equal(mask, ended):
        raise ValueError(
            f'info["_final_obs"] = {mask}, but terminated | truncated = {ended}: the'
            " mask says whose episode ended in this step"
        )
    given = info["final_obs"]
    if isinstance(given, np.ndarray) and given.dtype == object:  # Gymnasium's format
        return _named(envs, "final_obs", next_obs)
    dense = _named(envs, "final_obs", given)
    for name, value in dense.items():
        obs = moment[name.removeprefix("final_")]
        if not np.array_equal(value[~ended], obs[~ended]):
            raise ValueError(
                f"{name} = {value[~ended][0]} where no episode ended, and obs ="
                f" {obs[~ended][0]}: there, both are the next observation"
            )
    return dense


def _named(envs: Any, name: str, obs: Any) -> Moment:
    """Observations as arrays by name; raises if they are outside their space."""
    arrays = {}
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
        arrays[leaf] = array
    return arrays


def _expect(name: str, array: np.ndarray, dtype: Any, shape: tuple[int, ...]) -> None:
    if (array.dtype, array.shape) != (np.dtype(dtype), shape):
        raise ValueError(
            f"{name} must be {np.dtype(dtype)} of shape {shape}, got {array.dtype} of"
            f" shape {array.shape}: convert it where it is made"
        )


def _ended(moment: Moment) -> np.ndarray:
    """Whether an episode ended, bool `[N]`; False after a reset."""
    none = np.zeros((), np.bool_)
    return moment.get("terminated", none) | moment.get("truncated", none)


def _first_end(run: list[Moment]) -> int:
    """Index of the first moment in which an episode ended, or of the last one."""
    ends = (t for t, moment in enumerate(run) if _ended(moment).any())
    return next(ends, len(run) - 1)


def _difference(
    these: list[Moment], those: list[Moment], rows: slice = slice(None)
) -> str:
    """Where two runs differ first, in these environments, in words; or nothing."""
    for t, (this, that) in enumerate(zip(these, those, strict=False)):
        for name in (name for name in this if name in that):
            before, after = this[name][rows], that[name][rows]
            if not np.array_equal(before, after):
                i = int((before != after).reshape(len(before), -1).any(1).argmax())
                which = f"{name} of environment {i + (rows.start or 0)}"
                return f"{which} was {before[i]} in step {t}, and {after[i]}"
    return ""


def _compare(
    these: list[Moment], those: list[Moment], reason: str, rows: slice = slice(None)
) -> None:
    """Raise if two runs differ that should not."""
    if difference := _difference(these, those, rows):
        raise ValueError(f"{difference} {reason}")


def _check_starts(envs: Any, run: list[Moment]) -> None:
    """Check that observations after an automatic reset are like those of `reset`."""
    ends = [moment for moment in run if _ended(moment).any()]
    if not ends or envs.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
        return
    count = 512 // envs.num_envs + 2
    resets = [_named(envs, "obs", envs.reset()[0]) for _ in range(count)]
    for name in resets[0]:
        first = np.concatenate([m[name] for m in resets]).astype(np.float64)
        fresh = np.concatenate([m[name][_ended(m)] for m in ends])
        low, high = first.min(0), first.max(0)
        room = high - low + 1e-6 * (1 + np.abs(high))
        outside = (fresh < low - room) | (fresh > high + room)
        strange = outside.reshape(len(fresh), -1).any(1)
        if strange.mean() > 0.5:  # a few may be rare observations
            raise ValueError(
                f"{name} = {fresh[strange.argmax()]} after an automatic reset, but"
                f" reset() gives values from {low} to {high}: start the new episode"
                " from nothing of the old"
            )


def _check_final(run: list[Moment]) -> None:
    """Check that `final_obs` is neither the next episode's first observation nor, at a
    truncation, the observation before the last step.

    With few states it may well be, by chance: those that are alike are an error if
    these observations occur at no other time.
    """
    seen: Counter[bytes] = Counter()  # how often each observation occurs
    ends = []  # (final, next episode's first, before the last step, whether truncated)
    for before, moment in itertools.pairwise(run):
        last, obs = _rows(before, "obs"), _rows(moment, "obs")
        final = _rows(moment, "final_obs")
        seen.update(obs)
        if final:
            cut = moment["truncated"] & ~moment["terminated"]
            which = _ended(moment).nonzero()[0]
            ends += [(final[i], obs[i], last[i], cut[i]) for i in which]
    cuts = [end for end in ends if end[3]]
    for some, how, at, what in (
        (ends, "", 1, "first observation of the next episode"),
        (cuts, " by truncation", 1, "first observation of the next episode"),
        (cuts, " by truncation", 2, "observation before the last step"),
    ):
        alike = all(end[0] == end[at] and seen[end[at]] == 1 for end in some)
        if alike and len(some) > 1:
            raise ValueError(
                f"at all {len(some)} ends of episodes{how} final_obs is the {what}: put"
                " there what the episode came to, before the reset, in memory of its"
                " own"
            )


def _rows(moment: Moment, kind: str) -> list[bytes]:
    """The observations of each environment as bytes, to compare and to count."""
    names = [name for name in moment if name.split(".")[0] == kind]
    columns = [[row.tobytes() for row in moment[name]] for name in names]
    return [b"".join(parts) for parts in zip(*columns, strict=True)]


def _check_other_seeds(envs: Any, seed: int) -> None:
    """Check that other seeds give other results if there is randomness."""

    def all_alike(seeds: Any) -> bool:
        first = [[_named(envs, "obs", envs.reset(seed=s)[0])] for s in seeds]
        return not any(_difference(first[0], other) for other in first)

    if all_alike(range(seed, seed + 8)) and not all_alike([None] * 8):
        raise ValueError(
            f"reset(seed=...) gave the same first observations for the seeds {seed} to"
            f" {seed + 7}, but reset() gives others each time: seed the generator with"
            " the number that is given"
        )


def _check_apart(envs: Any, run: list[Moment], seed: int, single: bool) -> bool:
    """Check that neither an environment's actions nor its seed change the others; False
    if each cannot be given a seed. `single` are those of a list of environments."""
    # Until the first episode ends: then they may draw from a shared generator.
    other = _play(envs, _first_end(run), seed, seed, seed + 1)
    end = min(_first_end(run), _first_end(other))
    results = {name: value for name, value in run[end].items() if "obs" not in name}
    _compare([*run[:end], results], other, SHARED_ACTION, slice(1, None))
    batched = isinstance(envs.unwrapped, TorchVectorEnv)
    # Those of one TorchVectorEnv share a generator after their first states.
    steps = 0 if batched else min(len(run) - 1, 100)
    seeds = [seed + i for i in range(envs.num_envs)]
    assembled = isinstance(envs.unwrapped, ASSEMBLED)
    try:
        if not (batched or assembled or single):
            return False  # others may use one seed for the whole batch
        run = _play(envs, steps, seeds, seed)
    except (TypeError, gym.error.Error):
        if batched or assembled:
            raise
        return False
    # With a shared generator, the first seed or the last one may decide.
    for i in (0, envs.num_envs - 1):
        others = [s if j == i else s + 10_007 for j, s in enumerate(seeds)]
        again = _play(envs, steps, others, seed)
        _compare(run, again, SHARED_SEED, slice(i, i + 1))
    return True


def _check_nothing_survives(envs: Any, steps: int, seed: int) -> None:
    """Check that an episode is the same with and without episodes before it.

    Random numbers come from `np_random`, which is set before each; episodes that still
    depend on the seed are not compared.
    """

    def episode(before: int, seed: int) -> list[Moment]:
        _play(envs, before, seed, seed)
        for i, env in enumerate(envs.unwrapped.envs):
            env.unwrapped.np_random = np.random.default_rng(i)
        run = _play(envs, 30, None, 0)
        return run[: _first_end(run) + 1]

    fresh, *others = (episode(0, seed + 100 * i) for i in range(1, 5))
    if not any(_difference(fresh, other) for other in others):
        _compare(fresh, episode(min(steps, 100), seed + 100), SURVIVES)


class _NoWaiting(TorchDispatchMode):
    """Raises when an operation would synchronize with the device."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        waits = ("_local_scalar_dense", "nonzero", "masked_select")
        if any(word in str(func) for word in waits):
            raise ValueError(
                f"a step calls {func}, which waits for the device: use torch.where"
                " instead of `if`, .item() and boolean indices"
            )
        return func(*args, **(kwargs or {}))


def _check_functions(envs: TorchVectorEnv, seed: int) -> None:
    """Check that the methods of a subclass are pure functions of their arguments."""
    envs = envs.clone(envs.num_envs)
    envs.autoreset_mode = AutoresetMode.SAME_STEP  # no step needs a reset before it
    envs.reset(seed=seed)  # checks shapes and dtypes
    envs.action_space.seed(seed)
    drawn = [envs.action_space.sample() for _ in range(14)]
    action, *actions = map(envs._action_reader.read, drawn)
    for other in actions[:3]:
        envs.step(other)
    state, noise = envs.state, envs.draw_noise()

    def results() -> dict[str, Any]:
        return {
            "initial_state": envs.initial_state(noise),
            "dynamics": envs.random_dynamics(state, action, noise),
            "observe": envs.observe(state),
        }

    given = leaves((state, action, noise))
    before = [tensor.clone() for tensor in given]
    with torch.no_grad(), _NoWaiting():
        first = results()
    if not all(map(torch.equal, before, given)):
        raise ValueError(
            "initial_state, dynamics or observe wrote to its arguments: make new"
            " tensors (x = x + 1, not x += 1)"
        )
    for other in actions[3:]:
        envs.step(other)
    for name, result in results().items():
        # Up to the rounding of a compiled step.
        pairs = zip(leaves(first[name]), leaves(result), strict=True)
        if not all(torch.allclose(x, y, rtol=1e-4, atol=1e-5) for x, y in pairs):
            raise ValueError(
                f"{name} gave something else for the same arguments ten steps later:"
                " keep all that changes in the state, or it leaks into other episodes;"
                " draw chance from the noise"
            )
