"""DQN with its target and its loss, written out."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import dqn

Network = Callable[[Tensor], Tensor]
"""From observations `[B, ...]` to the values of all actions, `[B, A]`."""


def td_target(
    online: Network,
    target: Network,
    reward: Tensor,
    next_obs: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
) -> Tensor:
    """What `Q(s, a)` is moved towards, `[B]`, for transitions `[B]`."""
    with torch.no_grad():
        best = target(next_obs).amax(1)
    return reward + gamma * best * ~terminated


def element_loss(
    online: Network, obs: Tensor, action: Tensor, goal: Tensor, clip: float = math.inf
) -> Tensor:
    """The loss of every transition, `[B]`: Huber's."""
    q_value = online(obs).gather(1, action.unsqueeze(1)).squeeze(1)
    error = (goal - q_value).abs()
    squared = error.clamp(max=clip)
    return squared * (error - squared / 2)


class Algorithm(dqn.Algorithm):
    """DQN that takes the steps above."""

    def td_target(self, data: TensorDict) -> Tensor:
        """Targets `[B]` of a batch `[B]`."""
        return td_target(
            self.model.value,
            self.target_model.value,
            data["reward"],
            data["next_obs"],
            data["terminated"],
            data["truncated"],
            self.config.gamma,
        )

    def element_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The loss of every transition, `[B]`; nothing to log."""
        clip = self.config.error_clip
        loss = element_loss(
            self.model.value,
            data["obs"],
            data["action"],
            self.td_target(data),
            math.inf if clip is None else clip,
        )
        return loss, {}


class Trainer(dqn.Trainer):
    """The schedule of DQN, as it is."""

    algorithm_class = Algorithm


if __name__ == "__main__":
    torch.set_num_threads(1)
    for log in Trainer(dqn.Config(total_steps=30_000, eval_every=5_000))():
        if log["log_type"] == "evaluate":
            print(log["sample_step"], float(log["logs"]["episode_return"]))
