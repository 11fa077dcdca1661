"""Hopper: one leg that is paid for hopping forward."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.legged import LeggedVectorEnv, between


class HopperVectorEnv(LeggedVectorEnv):
    """N hoppers, as gymnasium's Hopper-v5.

    Observations `[N, 11]`: positions without the first, which is how far it has come,
    and velocities, clipped to [-10, 10]. Actions `[N, 3]` in [-1, 1]: torques.

    Args:
        num_envs: N, the number of hoppers.
        xml_file: The model, looked for among gymnasium's unless it is a path.
        frame_skip: Steps of the physics in a step of the environment.
        forward_reward_weight: Reward for a metre per second.
        ctrl_cost_weight: Price of the actions' squares.
        healthy_reward: Reward for a step that ends in a healthy state.
        terminate_when_unhealthy: Whether others end the episode.
        healthy_state_range: Where all positions but the first two, and all velocities,
            are in a healthy state.
        healthy_z_range: Where the torso's height is in one (m).
        healthy_angle_range: Where its angle is in one (rad).
        reset_noise_scale: First states are uniform this far around the model's own.
        exclude_current_positions_from_observation: Whether x is left out.
        kwargs: Arguments of `PhysicsVectorEnv`.
    """

    camera: ClassVar[dict[str, Any]] = {**LeggedVectorEnv.camera, "distance": 3.0}

    def __init__(
        self,
        num_envs: int = 1,
        *,
        xml_file: str = "hopper.xml",
        frame_skip: int = 4,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-3,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_state_range: tuple[float, float] = (-100.0, 100.0),
        healthy_z_range: tuple[float, float] = (0.7, inf),
        healthy_angle_range: tuple[float, float] = (-0.2, 0.2),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        self.healthy_state_range = healthy_state_range
        self.healthy_angle_range = healthy_angle_range
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            reset_noise_scale=reset_noise_scale,
            skipped=int(exclude_current_positions_from_observation),
            **kwargs,
        )

    def parts(self, state: State) -> list[Tensor]:
        """Positions, and velocities that do not go beyond 10."""
        return [state["qpos"][self.skipped :], state["qvel"].clamp(-10, 10)]

    def locate(self, state: State) -> State:
        """How far it has come, and how far the torso is from its first height."""
        height = state["qpos"][1] - self.init_qpos[1]
        return {**super().locate(state), "z_distance_from_origin": height}

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is up, and nothing out of bounds."""
        rest = torch.cat((state["qpos"][2:], state["qvel"]))
        low, high = self.healthy_state_range
        return self.is_upright(state) & between(low, rest, high).all(0)

    def is_upright(self, state: State) -> Tensor:
        """Whether height and angle of the torso are as they should be."""
        (low, high), (left, right) = self.healthy_z_range, self.healthy_angle_range
        _, z, angle = state["qpos"][:3]
        return between(low, z, high) & between(left, angle, right)
