"""Hopper: a planar one-legged robot that is rewarded for hopping forward."""

from math import inf
from typing import Any, ClassVar

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.legged import LeggedVectorEnv, between


class HopperVectorEnv(LeggedVectorEnv):
    """N hoppers, as gymnasium's Hopper-v5.

    Observations `[N, 11]`: positions without the first (x), and
    velocities, clipped to [-10, 10]. Actions `[N, 3]` in [-1, 1]: torques.
    """

    healthy_state_range: tuple[float, float] = (-100.0, 100.0)
    """Bounds of positions, without the first two, and velocities, of healthy states."""
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)
    """Range of the torso's angle in healthy states (rad)."""

    xml_file = "hopper.xml"
    frame_skip = 4
    ctrl_cost_weight = 1e-3
    healthy_z_range = (0.7, inf)
    reset_noise_scale = 5e-3
    camera: ClassVar[dict[str, Any]] = {**LeggedVectorEnv.camera, "distance": 3.0}

    def parts(self, state: State) -> list[Tensor]:
        position, velocity = super().parts(state)
        return [position, velocity.clamp(-10, 10)]

    def locate(self, state: State) -> State:
        height = state["qpos"][1] - self.init_qpos[1]
        return {**super().locate(state), "z_distance_from_origin": height}

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is upright, and all values are in bounds, bool `[N]`."""
        rest = torch.cat((state["qpos"][2:], state["qvel"]))
        low, high = self.healthy_state_range
        return self.is_upright(state) & between(low, rest, high).all(0)

    def is_upright(self, state: State) -> Tensor:
        """Whether height and angle of the torso are in their ranges, bool `[N]`."""
        (low, high), (left, right) = self.healthy_z_range, self.healthy_angle_range
        _, z, angle = state["qpos"][:3]
        return between(low, z, high) & between(left, angle, right)
