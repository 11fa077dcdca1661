"""Conformance test of batched tensor environments, a part of `check`."""

import copy
from typing import Any

import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from yieldrl.envs.arrays import leaves
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.tree import tree_map
from yieldrl.envs.check_answers import named, play
from yieldrl.envs.check_runs import SEED, compare


def check_batched(envs: TorchVectorEnv, seed: int) -> None:
    """Compute every step again from the methods that the subclass wrote."""
    _check_functions(envs, seed)
    same_step_first = sorted(AutoresetMode, key=lambda m: m.value, reverse=True)
    for mode in same_step_first:
        variant = _variant(envs, mode)
        _check_steps(variant, seed)
        if variant._can_branch:
            waitless = _variant(envs, mode)
            waitless._can_branch = False  # compute as on a GPU
            _check_steps(waitless, seed)
    _check_copies(envs, seed)


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


def _variant(
    envs: TorchVectorEnv, mode: AutoresetMode = AutoresetMode.SAME_STEP
) -> TorchVectorEnv:
    """A clone in this autoreset mode, with a time limit of at most seven steps."""
    other = envs.clone(envs.num_envs)
    other.autoreset_mode = other.metadata["autoreset_mode"] = mode
    other._limit = min(other._limit, 7)
    return other


def _check_functions(envs: TorchVectorEnv, seed: int) -> None:
    """Check that the methods are pure functions of their arguments."""
    play = _variant(envs)
    play.reset(seed=seed)  # checks shapes and dtypes
    for action in _actions(play, seed, 3):
        play.step(action)
    state, noise = play.unfold(play.state), play.draw_noise()
    (action,) = _actions(play, seed, 1)

    def results() -> dict[str, Any]:
        return {
            "initial_state": play.initial_state(noise),
            "dynamics": play.random_dynamics(state, action, noise),
            "observe": play.observe(state),
        }

    given = (state, action, noise)
    before = [x.clone() for x in leaves(given)]
    with torch.no_grad(), _NoWaiting():
        first = results()
    for new in (first["initial_state"], first["dynamics"][0]):
        # In the order of `new`, because `unfold` may reorder a dict.
        again = tree_map(lambda _, x: x, new, play.unfold(play.fold(new)))
        _expect(again, new, "unfold(fold(state)) gave another state: keep all of it")
    _expect(before, given, WRITES)
    for action_then in _actions(play, seed + 1, 10):
        play.step(action_then)
    for name, result in results().items():
        _expect(result, first[name], f"{name} {LEAKS}")
    everywhere = torch.ones_like(play._ended)
    _expect(play.restart(everywhere, state, noise), first["initial_state"], RESTARTS)


WRITES = (
    "initial_state, dynamics or observe wrote to its arguments: make new tensors"
    " (x = x + 1, not x += 1)"
)
LEAKS = (
    "gave something else for the same arguments ten steps later: keep all that changes"
    " in the state, or it leaks into other episodes; draw chance from the noise"
)
RESTARTS = (
    "restart of all environments gave another state than initial_state: keep nothing of"
    " the episodes that ended"
)


def _check_steps(envs: TorchVectorEnv, seed: int) -> None:
    """Check that the results of `step` follow from the methods."""
    envs.reset(seed=seed)
    mode = envs.autoreset_mode
    for t, action in enumerate(_actions(envs, seed, 25)):
        now = (envs.state, envs.elapsed, envs._ended, action, envs._noise.pending)
        chance = envs.generator.get_state()
        with torch.no_grad():
            truth = dict(
                zip(_ANSWER, TorchVectorEnv.pure_step(envs, *now), strict=True)
            )
            envs.generator.set_state(chance)
            obs, reward, terminated, truncated, info = envs.step(action)
        values = (envs.state, envs.elapsed, envs._ended, obs, reward)
        got = dict(zip(_ANSWER, (*values, terminated, truncated), strict=False))
        if mode is AutoresetMode.SAME_STEP:
            got["final_obs"] = info.get("final_obs")
        for name, value in got.items():
            if not _alike(value, truth[name]):
                raise ValueError(
                    f"in step {t} in {mode.value} mode {name} was {value}, but"
                    f" initial_state, dynamics and observe make it {truth[name]}: leave"
                    " step and pure_step as they are, or correct them"
                )
        if mode is AutoresetMode.DISABLED:
            envs.reset(options={"reset_mask": terminated | truncated})


_ANSWER = ("state", "elapsed", "ended", "obs", "reward")
_ANSWER += ("terminated", "truncated", "final_obs")


def _check_copies(envs: TorchVectorEnv, seed: int) -> None:
    """Check that copies share nothing, and that a restored state continues equally."""
    alone, again, beside, other, loaded = (_variant(envs) for _ in range(5))
    run = play(alone, 25, seed, seed)
    compare(run, play(again, 25, seed, seed), SEED)
    beside.reset(seed=seed)
    other.reset(seed=seed + 1)
    for t, action in enumerate(_actions(beside, seed, 25)):
        if t == 12:
            loaded.load_state_dict(beside.state_dict())
        obs = named(beside, "obs", beside.step(action)[0])
        other.step(action)
        if t >= 12:
            continued = named(loaded, "obs", loaded.step(action)[0])
            compare([obs], [continued], SAVED)
        compare([obs], [{k: run[t + 1][k] for k in obs}], SHARED)


SHARED = (
    "{name} of environment {i} was {those}, and {these} while another object of the"
    " same class was stepped beside it: keep what changes in self.state, not in the"
    " class or the module"
)
SAVED = (
    "{name} of environment {i} was {these}, and {those} after load_state_dict: keep all"
    " that changes in self.state, which is what is saved"
)


def _actions(envs: TorchVectorEnv, seed: int, count: int) -> list[Tensor]:
    chooser = copy.deepcopy(envs.action_space)
    chooser.seed(seed)
    return [envs._action_reader.read(chooser.sample()) for _ in range(count)]


def _expect(these: Any, those: Any, complaint: str) -> None:
    if not _alike(these, those):
        raise ValueError(complaint)


def _alike(these: Any, those: Any) -> bool:
    """Whether all tensors are equal, up to the rounding of a compiled step."""
    these, those = leaves(these), leaves(those)
    return len(these) == len(those) and all(
        x.dtype == y.dtype and torch.allclose(x, y, rtol=1e-4, atol=1e-5)
        for x, y in zip(these, those, strict=True)
    )
