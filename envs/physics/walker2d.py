"""Walker2d: Hopper with a second leg."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.hopper import HopperVectorEnv
from yieldrl.envs.physics.legged import LeggedVectorEnv


class Walker2dVectorEnv(HopperVectorEnv):
    """N flat walkers, as gymnasium's Walker2d-v5.

    Observations `[N, 17]`: positions without the first, which is how far it has come,
    and velocities, clipped to [-10, 10]. Actions `[N, 6]` in [-1, 1]: torques.

    Args:
        num_envs: N, the number of walkers.
        xml_file: The model, looked for among gymnasium's unless it is a path.
        healthy_z_range: Where the torso's height is in a healthy state (m).
        healthy_angle_range: Where its angle is in one (rad).
        kwargs: Arguments of `HopperVectorEnv`, which has the same defaults.
    """

    camera = LeggedVectorEnv.camera

    def __init__(
        self,
        num_envs: int = 1,
        *,
        xml_file: str = "walker2d_v5.xml",
        healthy_z_range: tuple[float, float] = (0.8, 2.0),
        healthy_angle_range: tuple[float, float] = (-1.0, 1.0),
        **kwargs: Any,
    ) -> None:
        super().__init__(
            num_envs,
            xml_file=xml_file,
            healthy_z_range=healthy_z_range,
            healthy_angle_range=healthy_angle_range,
            **kwargs,
        )

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is up; a walker's joints may be anywhere."""
        return self.is_upright(state)
