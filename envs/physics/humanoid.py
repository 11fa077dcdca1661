"""Humanoid: a robot with two legs and two arms, in space."""

from math import inf
from typing import Any

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.legged import LeggedVectorEnv, between

DEFAULTS = {
    "xml_file": "humanoid.xml",
    "frame_skip": 5,
    "forward_reward_weight": 1.25,
    "healthy_reward": 5.0,
    "healthy_z_range": (1.0, 2.0),
    "reset_noise_scale": 1e-2,
}


class HumanoidVectorEnv(LeggedVectorEnv):
    """N humanoids, as gymnasium's Humanoid-v5.

    Observations `[N, 348]`: positions without the first two, which are how far it has
    come, velocities, and for each body its inertia, its velocity and the forces of
    contact, with the torques of the joints between. Actions `[N, 17]` in [-0.4, 0.4]:
    torques.

    Args:
        num_envs: N, the number of humanoids.
        contact_cost_weight: Price of the contact forces' squares.
        contact_cost_range: That price is clipped to it.
        include_cinert_in_observation: Whether the bodies' inertias are observed.
        include_cvel_in_observation: Whether their velocities are.
        include_qfrc_actuator_in_observation: Whether the joints' torques are.
        include_cfrc_ext_in_observation: Whether contact forces are.
        kwargs: Arguments of `LeggedVectorEnv`, with gymnasium's defaults.
    """

    axes = "xy"
    info_fields = ("ten_length", "ten_velocity")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        contact_cost_weight: float = 5e-7,
        contact_cost_range: tuple[float, float] = (-inf, 10.0),
        include_cinert_in_observation: bool = True,
        include_cvel_in_observation: bool = True,
        include_qfrc_actuator_in_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        self.contact_cost_weight = contact_cost_weight
        self.contact_cost_range = contact_cost_range
        # Without the world, which is body 0, and the six degrees of the free root.
        included = {
            "cinert": (include_cinert_in_observation, 1),
            "cvel": (include_cvel_in_observation, 1),
            "qfrc_actuator": (include_qfrc_actuator_in_observation, 6),
            "cfrc_ext": (include_cfrc_ext_in_observation, 1),
        }
        self.observed = {name: first for name, (yes, first) in included.items() if yes}
        fields = sorted({"xipos", "cfrc_ext", *self.observed})
        super().__init__(num_envs, fields=fields, **{**DEFAULTS, **kwargs})
        like = {"dtype": self.dtype, "device": self.device}
        self.mass = torch.as_tensor(self.model.body_mass, **like)  # [bodies]

    def parts(self, state: State) -> list[Tensor]:
        extra = [state[name][first:] for name, first in self.observed.items()]
        return [*super().parts(state), *extra]

    def place(self, state: State, axis: int) -> Tensor:
        """Where the centre of mass is."""
        return (self.mass @ state["xipos"][:, axis]) / self.mass.sum()

    def locate(self, state: State) -> State:
        """Positions, and the lengths and velocities of the two tendons, `[N, 2]`."""
        tendons = {
            f"tendon_{name}": state[f"ten_{name}"].T for name in ("length", "velocity")
        }
        return {**super().locate(state), **tendons}

    def costs(self, action: Tensor, after: State) -> State:
        forces = after["cfrc_ext"].square().sum((0, 1))
        contact = (self.contact_cost_weight * forces).clamp(*self.contact_cost_range)
        return {**super().costs(action, after), "contact": contact}

    def is_healthy(self, state: State) -> Tensor:
        low, high = self.healthy_z_range
        return between(low, state["qpos"][2], high)
