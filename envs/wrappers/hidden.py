"""Randomized parameters that change between episodes and are not observed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl.envs.arrays import ResetResult, leaves
from yieldrl.envs.autoreset import Step
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.inputs import NoiseSource, check_choice
from yieldrl.envs.wrappers.base import BatchWrapper

Intervals = list[tuple[float, float]]
"""Low and high ends, the lowest interval first."""


class HiddenParameters(BatchWrapper):
    """Draws new parameters of the world in each episode, for each environment.

    Observations become a Dict: `"obs"` is the world's observation (or, if that is a
    Dict, its entries), and `"privileged"`, float32 `[N, P]`, the drawn values: -1 at
    the low end of the training range and 1 at its high end, so held-out values may lie
    beyond. `final_obs` has the parameters of the episode that ended. `reset(seed=...)`
    seeds the generator of the numbers, and `state_dict` has it.

    Peng et al. 2018, "Sim-to-Real Transfer of Robotic Control with Dynamics
    Randomization", arXiv:1710.06537; Kumar et al. 2021, "RMA: Rapid Motor Adaptation
    for Legged Robots", arXiv:2107.04034.

    Args:
        envs: A `TorchVectorEnv`, in other wrappers or not.
        ranges: By name, of the world's `parameter_names` and in its units, the interval
            `(low, high)` of each parameter, uniform, or several of them.
        held_out: Intervals outside of those, for evaluation; others are from `ranges`.
        side: `"training"` draws from `ranges`, `"held_out"` from `held_out`.

    Raises:
        TypeError: If the environments are no `TorchVectorEnv`.
        ValueError: If an argument is wrong, or first states depend on a parameter.

    Attributes:
        names: Names of the parameters, in the order of `privileged`.
        parameters: Current values, `[P, N]`, in the world's units.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> envs = gymnasium.make_vec("yieldrl/Pendulum-v1", num_envs=2)
        >>> envs = HiddenParameters(envs, {"mass": (0.5, 1.5), "length": (0.5, 1.3)})
        >>> obs, info = envs.reset(seed=0)
        >>> obs["obs"].shape, obs["privileged"].shape
        (torch.Size([2, 3]), torch.Size([2, 2]))
    """

    carried = ("parameters",)

    def __init__(
        self,
        envs: VectorEnv,
        ranges: Mapping[str, Any],
        *,
        held_out: Mapping[str, Any] | None = None,
        side: str = "training",
    ) -> None:
        super().__init__(envs)
        world = envs.unwrapped
        if not isinstance(world, TorchVectorEnv):
            raise TypeError(
                f"HiddenParameters sets parameters of worlds of tensors, got {envs}:"
                " give it a TorchVectorEnv, such as gymnasium.make_vec makes of"
                " yieldrl/CartPole-v1"
            )
        self.world, self.side, self.names = world, side, tuple(ranges)
        training, apart = _checked(world, ranges, held_out or {}, side)
        self.set_observation_space(
            _with_privileged(envs.single_observation_space, len(self.names))
        )
        like = {"dtype": world.dtype, "device": world.device}
        ends = [(row[0][0], row[-1][1]) for row in training.values()]
        low, high = torch.tensor(ends, **like).split(1, dim=1)  # [P, 1] each
        self._low, self._width = low, high - low
        chosen = {**training, **apart} if side == "held_out" else training
        _check_first_states(world, chosen)
        self._draws = Draws([chosen[name] for name in self.names], world)
        self._seed: Any = None  # seed of the current reset
        self._can_branch = world.device.type == "cpu"  # reading values is free there
        self.parameters = self._draws()
        self._apply()

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        self._seed = seed
        try:
            return super().reset(seed=seed, options=options)
        finally:
            self._seed = None

    def after_reset(self, obs: Any, where: Tensor) -> Any:
        self._renew(where)
        return self._shown(obs)

    def after_step(self, step: Step) -> Step:
        last = self._shown(step.next_obs)
        self._renew(step.ended)
        return step._replace(next_obs=last, obs=self._shown(step.obs))

    def _renew(self, where: Tensor) -> None:
        """Draw parameters where `where [N]` is True."""
        # Not as tensors of inference mode, which compiled steps tell from others.
        with torch.inference_mode(False), torch.no_grad():
            where = where.to(self.world.device)
            if self._seed is not None:
                drawn = self._draws.seeded(self._seed)
            elif self._can_branch and not where.any():
                return
            else:
                drawn = self._draws()
            self.parameters = torch.where(where, drawn, self.parameters)
            self._apply(where)

    def _apply(self, where: Tensor | None = None) -> None:
        rows = self.parameters.unbind()
        self.world.set_parameters(dict(zip(self.names, rows, strict=True)), where)

    def _shown(self, obs: Any) -> dict[str, Any]:
        """Observations, and what is privileged in memory of its own."""
        scaled = 2 * (self.parameters - self._low) / self._width - 1
        privileged = scaled.T.to(self.inside, torch.float32).contiguous()
        entries = obs if isinstance(obs, Mapping) else {"obs": obs}
        return {**entries, "privileged": privileged}

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """A drawn value, or an attribute of the world, for each environment."""
        if name in self.names:
            return tuple(self.parameters[self.names.index(name)].tolist())
        return self.world.get_attr(name)

    def state_dict(self) -> dict[str, Any]:
        generator = self._draws.noise.generator.get_state()
        return {**super().state_dict(), "generator": generator}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        super().load_state_dict(saved)
        self._draws.noise.generator.set_state(saved["generator"].cpu())
        self.parameters = self.parameters.to(self.world.device)
        self._apply()


class Draws:
    """Draws a uniform number for each of P names and each environment. `noise` has
    another seed than the world's noise, so that their numbers differ."""

    def __init__(self, rows: Sequence[Intervals], world: TorchVectorEnv) -> None:
        like: Any = {"dtype": world.dtype, "device": world.device}
        self.noise = NoiseSource(len(rows), world.num_envs, **like)
        # Low and high ends [K] of each row, and the width of those before, [K + 1].
        self._rows: list[tuple[Tensor, Tensor, Tensor]] = []
        for row in rows:
            low, high = np.transpose(row)
            ends = low, high, np.cumsum([0.0, *(high - low)])
            low, high, begin = (torch.tensor(x, **like) for x in ends)
            self._rows.append((low, high, begin))

    def __call__(self) -> Tensor:
        """Numbers `[P, N]`, a row for each name."""
        return self.placed(self.noise.draw())

    def seeded(self, seed: Any) -> Tensor:
        """Numbers `[P, N]` by one seed, or N; the generator continues from there."""
        several = np.ndim(seed) > 0
        others = [_other_seed(s) for s in seed] if several else _other_seed(seed)
        return self.placed(self.noise.seed(others))

    def placed(self, noise: Tensor) -> Tensor:
        """Map noise `[P, n]` in [0, 1) to the intervals, laid end to end."""
        placed = []
        for number, (low, high, begin) in zip(noise, self._rows, strict=True):
            along = number * begin[-1]
            which = torch.searchsorted(begin[1:-1], along, right=True)
            x = low[which] + (along - begin[which])
            placed.append(torch.minimum(x, high[which]))  # rounding must stay inside
        return torch.stack(placed)


def _other_seed(seed: Any) -> int | None:
    """A seed different from the world's, with which masses would equal angles."""
    if seed is None:
        return None
    purpose = int.from_bytes(b"hidden", "big")
    words = np.random.SeedSequence([purpose, int(seed)]).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


def _checked(
    world: TorchVectorEnv, ranges: Any, held_out: Any, side: str
) -> tuple[dict[str, Intervals], dict[str, Intervals]]:
    """Intervals for training and those held out, by name; ValueError if one is none,
    overlaps another, or is of something that the world does not have."""
    names = world.parameter_names
    unknown = (ranges.keys() - set(names)) | (held_out.keys() - ranges.keys())
    if unknown or not ranges:
        raise ValueError(
            f"ranges = {ranges}, held_out = {held_out}: name parameters of"
            f" {type(world).__name__}, {list(names)} (in a world of yours, floats made"
            " by self.parameter), and hold out some of those that have ranges"
        )
    check_choice("side", side, ("training", "held_out"))
    if side == "held_out" and not held_out:
        raise ValueError("side = 'held_out': say which intervals are, in held_out=")
    training = {name: _row(f"ranges[{name!r}]", x) for name, x in ranges.items()}
    apart = {name: _row(f"held_out[{name!r}]", x) for name, x in held_out.items()}
    for name, row in training.items():
        if row[0][0] == row[-1][1]:
            raise ValueError(
                f"ranges[{name!r}] = {row[0]} is one number: give it to the world as a"
                " constant, or make the interval wider"
            )
        # What is held out must not be met in training.
        _row(f"ranges and held_out of {name!r} together", row + apart.get(name, []))
    return training, apart


def _row(name: str, given: Any) -> Intervals:
    """The intervals of one parameter: one pair of numbers or several; or ValueError."""
    ends = np.atleast_2d(np.asarray(given, dtype=np.float64))
    row = sorted(map(tuple, ends.tolist()))
    along = np.ravel(row)
    if (
        ends.shape[1:] != (2,)
        or not np.isfinite(ends).all()
        or (np.diff(along) < 0).any()
    ):
        raise ValueError(
            f"{name} = {given!r}: give finite numbers (low, high), or several such"
            " pairs that do not overlap"
        )
    return row


def _with_privileged(space: Any, size: int) -> Dict:
    entries = dict(space.spaces) if isinstance(space, Dict) else {"obs": space}
    if "privileged" in entries:
        raise ValueError(
            "the observations have an entry 'privileged' already: name all parameters"
            " in the ranges of one HiddenParameters"
        )
    return Dict({**entries, "privileged": Box(-np.inf, np.inf, (size,), np.float32)})


def _check_first_states(world: TorchVectorEnv, ranges: dict[str, Intervals]) -> None:
    """Raise ValueError if a first observation depends on what is to be hidden."""
    noise, results = world.draw_noise(), []
    for end in (lambda row: row[0][0], lambda row: row[-1][1]):
        world.set_parameters({name: end(row) for name, row in ranges.items()})
        with torch.no_grad():
            state = world.initial_state(noise)
            results.append([x.clone() for x in leaves((state, world.observe(state)))])
    if not all(map(torch.equal, *results)):
        raise ValueError(
            f"first states of {type(world).__name__}, or what is observed of them,"
            f" depend on one of {list(ranges)}: they are drawn before the new"
            " parameters are, so hide others"
        )
