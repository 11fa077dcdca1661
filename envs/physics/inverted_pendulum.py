"""InvertedPendulum: CartPole with a continuous force."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.base import PhysicsVectorEnv

MAX_ANGLE = 0.2  # rad


class InvertedPendulumVectorEnv(PhysicsVectorEnv):
    """N poles on carts, as gymnasium's InvertedPendulum-v5.

    Observations `[N, 4]`: position of the cart, angle of the pole, their velocities.
    Actions `[N, 1]` in [-3, 3]: the force on the cart. The reward is 1, unless the
    pole leans by more than 0.2 rad after it, which terminates.
    """

    xml_file = "inverted_pendulum.xml"
    frame_skip = 2
    reset_noise_scale = 0.01
    camera: ClassVar[dict[str, Any]] = {
        "type": 0,  # the camera does not move
        "lookat": [0.0, 0.0, 0.2],
        "distance": 2.04,
        "elevation": -20.0,
    }

    def gains(self, measures: State, after: State) -> State:
        return {"survive": (~self.terminated(after)).to(self.dtype)}

    def terminated(self, state: State) -> Tensor:
        finite = torch.cat(self.parts(state)).isfinite().all(0)
        return ~finite | (state["qpos"][1].abs() > MAX_ANGLE)
