"""Ant: four legs in space, which feel the ground."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.legged import LeggedVectorEnv


class AntVectorEnv(LeggedVectorEnv):
    """N ants, as gymnasium's Ant-v5.

    Observations `[N, 105]`: positions without the first two, which are how far it has
    come, velocities, and the clipped forces and torques of contact on each body.
    Actions `[N, 8]` in [-1, 1]: torques.

    Args:
        num_envs: N, the number of ants.
        xml_file: The model, looked for among gymnasium's unless it is a path.
        frame_skip: Steps of the physics in a step of the environment.
        forward_reward_weight: Reward for a metre per second.
        ctrl_cost_weight: Price of the actions' squares.
        contact_cost_weight: Price of the contact forces' squares.
        healthy_reward: Reward for a step that ends in a healthy state.
        main_body: Number or name of the body whose velocity counts.
        terminate_when_unhealthy: Whether unhealthy states end the episode.
        healthy_z_range: Where the torso's height is in a healthy state (m).
        contact_force_range: Contact forces are clipped to it.
        reset_noise_scale: First positions are uniform this far around the model's own,
            first velocities normal with this standard deviation.
        exclude_current_positions_from_observation: Whether x and y are left out.
        include_cfrc_ext_in_observation: Whether contact forces are observed.
        kwargs: Arguments of `PhysicsVectorEnv`.
    """

    axes = "xy"

    def __init__(
        self,
        num_envs: int = 1,
        *,
        xml_file: str = "ant.xml",
        frame_skip: int = 5,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 0.5,
        contact_cost_weight: float = 5e-4,
        healthy_reward: float = 1.0,
        main_body: int | str = 1,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.2, 1.0),
        contact_force_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        self.contact_cost_weight = contact_cost_weight
        self.contact_force_range = contact_force_range
        self.includes_contacts = include_cfrc_ext_in_observation
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            fields=("xpos", "cfrc_ext"),
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            reset_noise_scale=reset_noise_scale,
            normal_velocities=True,
            skipped=2 * exclude_current_positions_from_observation,
            **kwargs,
        )
        self.main_body = self.model.body(main_body).id

    def contact_forces(self, state: State) -> Tensor:
        """Torque and force on each body, clipped, `[bodies, 6, N]`."""
        return state["cfrc_ext"].clamp(*self.contact_force_range)

    def parts(self, state: State) -> list[Tensor]:
        """Positions, velocities, and the contact forces but for those on the world."""
        seen = [state["qpos"][self.skipped :], state["qvel"]]
        return (
            [*seen, self.contact_forces(state)[1:]] if self.includes_contacts else seen
        )

    def place(self, state: State, axis: int) -> Tensor:
        """Where the main body is."""
        return state["xpos"][self.main_body, axis]

    def costs(self, action: Tensor, after: State) -> State:
        """Of torques and contacts."""
        squares = self.contact_forces(after).square().sum((0, 1))
        costs = super().costs(action, after)
        return {**costs, "contact": self.contact_cost_weight * squares}

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is neither too low nor too high."""
        low, high = self.healthy_z_range
        z = state["qpos"][2]
        finite = state["qpos"].isfinite().all(0) & state["qvel"].isfinite().all(0)
        return finite & (low <= z) & (z <= high)
