"""What the robots that can fall have in common."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.base import PhysicsVectorEnv


class LeggedVectorEnv(PhysicsVectorEnv):
    """Robots that are paid for moving forward and for not falling.

    A subclass says where a robot is, in `x`, and which states are healthy.

    Args:
        num_envs: N, the number of robots.
        forward_reward_weight: Reward for a metre per second.
        ctrl_cost_weight: Price of the actions' squares.
        healthy_reward: Reward for a step that ends in a healthy state.
        terminate_when_unhealthy: Whether others end the episode.
        healthy_z_range: Between which heights of the torso a state is healthy.
        skipped: How many positions are not observed.
        kwargs: Arguments of `PhysicsVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        forward_reward_weight: float,
        ctrl_cost_weight: float,
        healthy_reward: float,
        terminate_when_unhealthy: bool,
        healthy_z_range: tuple[float, float],
        skipped: int,
        **kwargs: Any,
    ) -> None:
        self.forward_reward_weight = forward_reward_weight
        self.ctrl_cost_weight = ctrl_cost_weight
        self.healthy_reward = healthy_reward
        self.terminate_when_unhealthy = terminate_when_unhealthy
        self.healthy_z_range = healthy_z_range
        self.skipped = skipped
        super().__init__(num_envs, **kwargs)

    def x(self, state: State) -> Tensor:
        """How far the robots have come, `[N]`."""
        return state["qpos"][0]

    def is_healthy(self, state: State) -> Tensor:
        """Whether they stand, bool `[N]`."""
        raise NotImplementedError(f"{type(self)} lacks is_healthy(state)")

    def costs(self, action: Tensor, after: State) -> Tensor:
        """What a step costs, `[N]`: here, the squares of the torques."""
        return self.ctrl_cost_weight * action.square().sum(-1)

    def reward(self, before: State, action: Tensor, after: State) -> Tensor:
        """The mean velocity during the step, and more if healthy, less the costs."""
        x_velocity = (self.x(after) - self.x(before)) / self.dt
        forward_reward = self.forward_reward_weight * x_velocity
        healthy_reward = self.healthy_reward * self.is_healthy(after)
        return forward_reward + healthy_reward - self.costs(action, after)

    def terminated(self, state: State) -> Tensor:
        """Whether a robot is unhealthy, if that ends episodes."""
        if self.terminate_when_unhealthy:
            return ~self.is_healthy(state)
        return super().terminated(state)


def between(low: float, x: Tensor, high: float) -> Tensor:
    """Whether low < x < high, elementwise."""
    return torch.logical_and(low < x, x < high)
