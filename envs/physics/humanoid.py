"""Humanoid: a robot with two legs and two arms, in 3-D."""

from functools import cached_property
from math import inf
from typing import Any

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.legged import LeggedVectorEnv, between


class HumanoidVectorEnv(LeggedVectorEnv):
    """N humanoids, as gymnasium's Humanoid-v5.

    Observations `[N, 348]`: positions without the first two (x and y), velocities,
    and for each body its inertia, its velocity and its contact forces; also the
    torques of the joints. Actions `[N, 17]` in [-0.4, 0.4]:
    torques.
    """

    contact_cost_weight: float = 5e-7
    """Weight of the cost of squared contact forces."""
    contact_cost_range: tuple[float, float] = (-inf, 10.0)
    """Range that the contact cost is clipped to."""
    include_cinert_in_observation: bool = True
    """Whether the bodies' inertias are observed."""
    include_cvel_in_observation: bool = True
    """Whether the bodies' velocities are observed."""
    include_qfrc_actuator_in_observation: bool = True
    """Whether the joints' torques are observed."""
    include_cfrc_ext_in_observation: bool = True
    """Whether contact forces are observed."""

    xml_file = "humanoid.xml"
    frame_skip = 5
    forward_reward_weight = 1.25
    healthy_reward = 5.0
    healthy_z_range = (1.0, 2.0)
    reset_noise_scale = 1e-2
    axes = "xy"
    info_fields = ("ten_length", "ten_velocity")

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        like = {"dtype": self.dtype, "device": self.device}
        self.mass = torch.as_tensor(self.model.body_mass, **like)  # [bodies]

    @cached_property
    def observed(self) -> dict[str, int]:
        """Observed fields, and the first observed row of each, without the world, which
        is body 0, and the six degrees of freedom of the root."""
        first = {"cinert": 1, "cvel": 1, "qfrc_actuator": 6, "cfrc_ext": 1}
        included = [x for x in first if getattr(self, f"include_{x}_in_observation")]
        return {name: first[name] for name in included}

    @cached_property
    def fields(self) -> list[str]:
        return sorted({"xipos", "cfrc_ext", *self.observed})

    def parts(self, state: State) -> list[Tensor]:
        extra = [state[name][first:] for name, first in self.observed.items()]
        return [*super().parts(state), *extra]

    def place(self, state: State, axis: int) -> Tensor:
        """The position of the centre of mass along an axis, `[N]`."""
        return (self.mass @ state["xipos"][:, axis]) / self.mass.sum()

    def locate(self, state: State) -> State:
        """Positions, and the lengths and velocities of the two tendons, `[N, 2]`."""
        return {
            **super().locate(state),
            "tendon_length": state["ten_length"].T,
            "tendon_velocity": state["ten_velocity"].T,
        }

    def costs(self, action: Tensor, after: State) -> State:
        forces = after["cfrc_ext"].square().sum((0, 1))
        contact = (self.contact_cost_weight * forces).clamp(*self.contact_cost_range)
        return {**super().costs(action, after), "contact": contact}

    def is_healthy(self, state: State) -> Tensor:
        low, high = self.healthy_z_range
        return between(low, state["qpos"][2], high)
