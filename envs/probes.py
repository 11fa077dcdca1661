"""Probe worlds: so small that what there is to learn in them is known beforehand.

Each asks for one thing more than those before it, so the first that an algorithm fails
says where to look: values, observations, discounts, cuts, actions, and all together.

Jones 2021, "Debugging RL, Without the Agonizing Pain", has five such worlds; here they
have two actions each, which do nothing in the first four, and there is one that is cut.
"""

from typing import Any, NamedTuple

import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv


class Answer(NamedTuple):
    """What an algorithm should come to know of a probe world: all observations to act
    on, `obs` float32 `[K, 1]`, what the best policy is worth there, `value` float32
    `[K]`, and its actions, int64 `[K]`, None where actions do nothing."""

    obs: Tensor
    value: Tensor
    action: Tensor | None


class ProbeVectorEnv(TorchVectorEnv):
    """Base of the probe worlds: an observation in [-1, 1], two actions. The state is
    what is observed, `[1, N]`; it begins at 0."""

    single_observation_space = spaces.Box(-1, 1, (1,))
    single_action_space = spaces.Discrete(2)
    noise_size = 1

    def initial_state(self, noise: Tensor) -> Tensor:
        return torch.zeros_like(noise)

    def answer(self, gamma: float) -> Answer:
        """What there is to learn with a discount from 0 up to and without 1."""
        raise NotImplementedError(f"{type(self)} lacks answer(gamma)")


class SidedProbeVectorEnv(ProbeVectorEnv):
    """Base of those that begin at -1 or 1, either as likely."""

    def initial_state(self, noise: Tensor) -> Tensor:
        return torch.where(noise < 0.5, -1.0, 1.0).to(noise.dtype)


class ProbeRewardVectorEnv(ProbeVectorEnv):
    """One step, which pays 1: is the reward learned, and nothing expected after it?"""

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return state, torch.ones_like(state[0]), _all(state)

    def answer(self, gamma: float) -> Answer:
        return _answer([0], [1])


class ProbeObservationVectorEnv(SidedProbeVectorEnv):
    """One step, which pays what was seen: does the value depend on the observation?"""

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return state, state[0].clone(), _all(state)

    def answer(self, gamma: float) -> Answer:
        return _answer([-1, 1], [-1, 1])


class ProbeDelayVectorEnv(ProbeVectorEnv):
    """Two steps, 0 and then 1 are seen, the last pays 1: is a reward carried back?"""

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        last = state[0] == 1
        return torch.ones_like(state), last.to(state.dtype), last

    def answer(self, gamma: float) -> Answer:
        return _answer([0, 1], [gamma, 1])


class ProbeCutVectorEnv(ProbeVectorEnv):
    """Pays 1 for ever, but is cut after some steps: is a cut no end?"""

    def __init__(
        self, num_envs: int = 1, *, max_episode_steps: int | None = 5, **kwargs: Any
    ) -> None:
        super().__init__(num_envs, max_episode_steps=max_episode_steps, **kwargs)

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return state, torch.ones_like(state[0]), ~_all(state)

    def answer(self, gamma: float) -> Answer:
        """It is worth `1 / (1 - gamma)`, wherever it is cut."""
        return _answer([0], [1 / (1 - gamma)])


class ProbeActionVectorEnv(ProbeVectorEnv):
    """One step: action 1 pays 1 and action 0 costs 1. Is the better one preferred?"""

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return state, _sign(action == 1, state), _all(state)

    def answer(self, gamma: float) -> Answer:
        return _answer([0], [1], [1])


class ProbeChoiceVectorEnv(SidedProbeVectorEnv):
    """One step: action 1 pays 1 on side 1, action 0 on side -1, and else it costs 1.

    Does what is done depend on what is seen?
    """

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        right = (action == 1) == (state[0] > 0)
        return state, _sign(right, state), _all(state)

    def answer(self, gamma: float) -> Answer:
        return _answer([-1, 1], [1, 1], [0, 1])


def _all(state: Tensor) -> Tensor:
    return torch.ones_like(state[0], dtype=torch.bool)


def _sign(good: Tensor, state: Tensor) -> Tensor:
    return good.to(state.dtype) * 2 - 1


def _answer(
    obs: list[float], value: list[float], action: list[int] | None = None
) -> Answer:
    seen = torch.tensor(obs, dtype=torch.float32).unsqueeze(1)
    worth = torch.tensor(value, dtype=torch.float32)
    return Answer(seen, worth, None if action is None else torch.tensor(action))
