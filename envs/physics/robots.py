"""Gymnasium's robots, v5: those that run, and a pole on a cart."""

from functools import cached_property
from math import inf
from typing import Any, ClassVar

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.base import PhysicsVectorEnv
from yieldrl.envs.physics.model import unvaried_field


class RunningVectorEnv(PhysicsVectorEnv):
    """Robots that are rewarded for moving forward, with a cost of torques, and those
    that can fall also for standing; these define `is_healthy`."""

    forward_reward_weight: float = 1.0
    """Reward per metre per second."""
    ctrl_cost_weight: float = 0.1
    """Weight of the cost of squared actions."""
    exclude_current_positions_from_observation: bool = True
    """Whether the positions along `axes` are not observed."""
    healthy_z_range: tuple[float, float]
    """Range of the torso's height in healthy states (m)."""
    healthy_reward: float = 1.0
    """Reward for a step that ends in a healthy state."""
    terminate_when_unhealthy: bool = True
    """Whether unhealthy states end the episode."""

    axes: ClassVar[str] = "x"
    """Axes that robots move along: the first positions of their state."""
    falls: ClassVar[bool] = True
    """Whether robots can fall."""
    highest_velocity: ClassVar[float] = inf
    """Bound of observed velocities."""

    def parts(self, state: State) -> list[Tensor]:
        """Positions, without those that are left out, and velocities."""
        skipped = len(self.axes) * self.exclude_current_positions_from_observation
        bound = self.highest_velocity
        return [state["qpos"][skipped:], state["qvel"].clamp(-bound, bound)]

    def place(self, state: State, axis: int) -> Tensor:
        """Positions of the robots along an axis, `[N]`, used for velocities."""
        return state["qpos"][axis]

    def measure(self, before: State, after: State) -> State:
        """Mean velocities during the step, `x_velocity` and in 3-D `y_velocity`."""
        return {
            f"{axis}_velocity": (self.place(after, i) - self.place(before, i)) / self.dt
            for i, axis in enumerate(self.axes)
        }

    def rewards(self, measures: State, action: Tensor, after: State) -> State:
        terms = {"forward": self.forward_reward_weight * measures["x_velocity"]}
        if self.falls:
            healthy = self.is_healthy(after).to(self.dtype)
            terms["survive"] = self.healthy_reward * healthy
        return {**terms, "ctrl": -self.ctrl_cost_weight * action.square().sum(-1)}

    def is_healthy(self, state: State) -> Tensor:
        """Whether robots have not fallen, bool `[N]`."""
        raise NotImplementedError(f"{type(self)} lacks is_healthy(state)")

    def terminated(self, state: State) -> Tensor:
        if self.falls and self.terminate_when_unhealthy:
            return ~self.is_healthy(state)
        return super().terminated(state)


class HalfCheetahVectorEnv(RunningVectorEnv):
    """N half cheetahs, as gymnasium's HalfCheetah-v5.

    Observations `[N, 17]`: positions without the first (x), and
    velocities. Actions `[N, 6]` in [-1, 1]: torques. Episodes never terminate.
    """

    falls = False
    xml_file = "half_cheetah.xml"
    frame_skip = 5
    reset_noise_scale = 0.1
    normal_velocities = True


class HopperVectorEnv(RunningVectorEnv):
    """N hoppers with one leg in the plane, as gymnasium's Hopper-v5.

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
    highest_velocity = 10.0
    reset_noise_scale = 5e-3
    camera: ClassVar[dict[str, Any]] = {**RunningVectorEnv.camera, "distance": 3.0}

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is upright, and all values are in bounds, bool `[N]`."""
        rest = torch.cat((state["qpos"][2:], state["qvel"]))
        upright = _is_upright(state, self.healthy_z_range, self.healthy_angle_range)
        return upright & _between(rest, self.healthy_state_range).all(0)


class Walker2dVectorEnv(RunningVectorEnv):
    """N walkers with two legs in the plane, as gymnasium's Walker2d-v5.

    Observations `[N, 17]`: positions without the first (x), and
    velocities, clipped to [-10, 10]. Actions `[N, 6]` in [-1, 1]: torques.
    """

    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)
    """Range of the torso's angle in healthy states (rad)."""

    xml_file = "walker2d_v5.xml"
    frame_skip = 4
    ctrl_cost_weight = 1e-3
    healthy_z_range = (0.8, 2.0)
    highest_velocity = 10.0
    reset_noise_scale = 5e-3

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is upright, bool `[N]`; joints have no limits."""
        return _is_upright(state, self.healthy_z_range, self.healthy_angle_range)


class AntVectorEnv(RunningVectorEnv):
    """N ants with four legs in 3-D, as gymnasium's Ant-v5.

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

    def rewards(self, measures: State, action: Tensor, after: State) -> State:
        squares = self.contact_forces(after).square().sum((0, 1))
        terms = super().rewards(measures, action, after)
        return {**terms, "contact": -self.contact_cost_weight * squares}

    def is_healthy(self, state: State) -> Tensor:
        low, high = self.healthy_z_range
        z = state["qpos"][2]
        finite = state["qpos"].isfinite().all(0) & state["qvel"].isfinite().all(0)
        return finite & (low <= z) & (z <= high)


class HumanoidVectorEnv(RunningVectorEnv):
    """N humanoids with two legs and two arms in 3-D, as gymnasium's Humanoid-v5.

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
        mass = unvaried_field(self, "body_mass")  # [bodies]
        return (mass @ state["xipos"][:, axis]) / mass.sum()

    def rewards(self, measures: State, action: Tensor, after: State) -> State:
        forces = after["cfrc_ext"].square().sum((0, 1))
        contact = (self.contact_cost_weight * forces).clamp(*self.contact_cost_range)
        return {**super().rewards(measures, action, after), "contact": -contact}

    def is_healthy(self, state: State) -> Tensor:
        return _between(state["qpos"][2], self.healthy_z_range)


class InvertedPendulumVectorEnv(PhysicsVectorEnv):
    """N poles on carts, as gymnasium's InvertedPendulum-v5: CartPole with a continuous
    force.

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

    def rewards(self, measures: State, action: Tensor, after: State) -> State:
        return {"survive": (~self.terminated(after)).to(self.dtype)}

    def terminated(self, state: State) -> Tensor:
        finite = torch.cat(self.parts(state)).isfinite().all(0)
        return ~finite | (state["qpos"][1].abs() > 0.2)


def _between(x: Tensor, bounds: tuple[float, float]) -> Tensor:
    """Whether values are within bounds, elementwise."""
    return (bounds[0] < x) & (x < bounds[1])


def _is_upright(
    state: State, heights: tuple[float, float], angles: tuple[float, float]
) -> Tensor:
    """Whether height and angle of the torso are in their ranges, bool `[N]`."""
    return _between(state["qpos"][1], heights) & _between(state["qpos"][2], angles)
