"""Probe environments: so small that the correct values and actions are known.

Each needs one more ability than those before it, so the first that an algorithm fails
locates the bug: values, observations, discounts, truncation, actions, or all together.

Jones 2021, "Debugging RL, Without the Agonizing Pain", has five of them; here they have
two actions each, without effect in the first four, and there is one with truncation.
"""

from typing import ClassVar, NamedTuple

import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv, Transition


class Answer(NamedTuple):
    """The correct solution of a probe environment: all observations, `obs` float32
    `[K, 1]`, the values of the optimal policy, `value` float32 `[K]`, and its
    actions, int64 `[K]`; None if actions have no effect."""

    obs: Tensor
    value: Tensor
    action: Tensor | None


class ProbeVectorEnv(TorchVectorEnv):
    """Base of the probe environments: an observation in [-1, 1], two actions. The
    state, `[1, N]`, is the observation; it begins at 0. By default an episode is one
    step, which pays `reward`."""

    single_observation_space = spaces.Box(-1, 1, (1,))
    single_action_space = spaces.Discrete(2)
    noise_size = 1
    sided: ClassVar[bool] = False
    """Whether episodes begin at -1 or 1 with equal probability instead of at 0."""

    def initial_state(self, noise: Tensor) -> Tensor:
        sides = torch.where(noise < 0.5, -1.0, 1.0).to(noise.dtype)
        return sides if self.sided else torch.zeros_like(noise)

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        ends = torch.ones_like(state[0], dtype=torch.bool)
        return state, self.reward(state[0], action), ends

    def reward(self, obs: Tensor, action: Tensor) -> Tensor:
        """Rewards `[N]` of actions on observations, both `[N]`."""
        return torch.ones_like(obs)

    def answer(self, gamma: float) -> Answer:
        """The correct solution for a discount in [0, 1)."""
        raise NotImplementedError(f"{type(self)} lacks answer(gamma)")


class ProbeRewardVectorEnv(ProbeVectorEnv):
    """One step with reward 1: tests whether the value is 1, without a bootstrap."""

    def answer(self, gamma: float) -> Answer:
        return _answer([0], [1])


class ProbeObservationVectorEnv(ProbeVectorEnv):
    """One step, rewarded with the observation: tests that values depend on it."""

    sided = True

    def reward(self, obs: Tensor, action: Tensor) -> Tensor:
        return obs.clone()

    def answer(self, gamma: float) -> Answer:
        return _answer([-1, 1], [-1, 1])


class ProbeDelayVectorEnv(ProbeVectorEnv):
    """Two steps, observations 0 and 1, final reward 1: tests discounted values."""

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        last = state[0] == 1
        return torch.ones_like(state), last.to(state.dtype), last

    def answer(self, gamma: float) -> Answer:
        return _answer([0, 1], [gamma, 1])


class ProbeCutVectorEnv(ProbeVectorEnv):
    """Reward 1 in every step, truncated: tests bootstrapping at truncations."""

    max_episode_steps = 5

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        state, reward, ends = super().dynamics(state, action)
        return state, reward, ~ends

    def answer(self, gamma: float) -> Answer:
        """The value is `1 / (1 - gamma)`, wherever the episode is truncated."""
        return _answer([0], [1 / (1 - gamma)])


class ProbeActionVectorEnv(ProbeVectorEnv):
    """One step, reward 1 for action 1, -1 for action 0: tests the policy."""

    def reward(self, obs: Tensor, action: Tensor) -> Tensor:
        return torch.where(action == 1, 1.0, -1.0)

    def answer(self, gamma: float) -> Answer:
        return _answer([0], [1], [1])


class ProbeChoiceVectorEnv(ProbeVectorEnv):
    """One step: reward 1 for action 1 at 1 and for action 0 at -1, otherwise -1.

    Tests whether actions depend on the observation.
    """

    sided = True

    def reward(self, obs: Tensor, action: Tensor) -> Tensor:
        return torch.where((action == 1) == (obs > 0), 1.0, -1.0)

    def answer(self, gamma: float) -> Answer:
        return _answer([-1, 1], [1, 1], [0, 1])


def _answer(
    obs: list[float], value: list[float], action: list[int] | None = None
) -> Answer:
    seen = torch.tensor(obs, dtype=torch.float32).unsqueeze(1)
    worth = torch.tensor(value, dtype=torch.float32)
    return Answer(seen, worth, None if action is None else torch.tensor(action))
