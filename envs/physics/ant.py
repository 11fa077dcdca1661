"""Ant: a four-legged robot in 3-D that observes contact forces."""

from typing import Any

from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.legged import LeggedVectorEnv


class AntVectorEnv(LeggedVectorEnv):
    """N ants, as gymnasium's Ant-v5.

    Observations `[N, 105]`: positions without the first two (x and y of the
    torso), velocities, and the clipped contact forces and torques on each body.
    Actions `[N, 8]` in [-1, 1]: torques.
    """

    contact_cost_weight: float = 5e-4
    """Weight of the cost of squared contact forces."""
    main_body: int | str = 1
    """Index or name of the body whose velocity is rewarded."""
    contact_force_range: tuple[float, float] = (-1.0, 1.0)
    """Range that contact forces are clipped to."""
    include_cfrc_ext_in_observation: bool = True
    """Whether contact forces are observed."""

    xml_file = "ant.xml"
    frame_skip = 5
    fields = ("xpos", "cfrc_ext")
    ctrl_cost_weight = 0.5
    healthy_z_range = (0.2, 1.0)
    reset_noise_scale = 0.1
    normal_velocities = True
    axes = "xy"

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        self._followed: int = self.model.body(self.main_body).id

    def contact_forces(self, state: State) -> Tensor:
        """Torque and force on each body, clipped, `[bodies, 6, N]`."""
        return state["cfrc_ext"].clamp(*self.contact_force_range)

    def parts(self, state: State) -> list[Tensor]:
        parts = super().parts(state)
        if self.include_cfrc_ext_in_observation:
            parts.append(self.contact_forces(state)[1:])  # body 0 is the world
        return parts

    def place(self, state: State, axis: int) -> Tensor:
        return state["xpos"][self._followed, axis]

    def costs(self, action: Tensor, after: State) -> State:
        squares = self.contact_forces(after).square().sum((0, 1))
        contact = self.contact_cost_weight * squares
        return {**super().costs(action, after), "contact": contact}

    def is_healthy(self, state: State) -> Tensor:
        low, high = self.healthy_z_range
        z = state["qpos"][2]
        finite = state["qpos"].isfinite().all(0) & state["qvel"].isfinite().all(0)
        return finite & (low <= z) & (z <= high)
