"""Walker2d: a planar two-legged robot, like Hopper with a second leg."""

from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.hopper import HopperVectorEnv
from yieldrl.envs.physics.legged import LeggedVectorEnv


class Walker2dVectorEnv(HopperVectorEnv):
    """N flat walkers, as gymnasium's Walker2d-v5.

    Observations `[N, 17]`: positions without the first (x), and
    velocities, clipped to [-10, 10]. Actions `[N, 6]` in [-1, 1]: torques.
    """

    xml_file = "walker2d_v5.xml"
    healthy_z_range = (0.8, 2.0)
    healthy_angle_range = (-1.0, 1.0)
    camera = LeggedVectorEnv.camera

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is upright, bool `[N]`; joints have no limits."""
        return self.is_upright(state)
