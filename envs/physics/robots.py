"""Gymnasium's robots, v5: those that run, and a pole on a cart."""

from math import inf
from typing import Any, ClassVar

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.base import PhysicsVectorEnv
from yieldrl.envs.physics.model import unvaried_field


class RunningVectorEnv(PhysicsVectorEnv):
    """Robots that are rewarded for moving forward, with a cost of torques, and those
    that can fall also for standing; these define `is_healthy`, and end if they are not.
    Their numbers are the defaults of Gymnasium's arguments."""

    forward_weight: ClassVar[float] = 1.0
    """Reward per metre per second."""
    ctrl_cost: ClassVar[float] = 0.1
    """Weight of the cost of squared actions."""
    healthy_reward: ClassVar[float] = 1.0
    """Reward for a step that ends in a healthy state."""
    axes: ClassVar[str] = "x"
    """Axes that robots move along: the first positions of their state, which are not
    observed."""
    falls: ClassVar[bool] = True
    """Whether robots can fall."""
    highest_velocity: ClassVar[float] = inf
    """Bound of observed velocities."""

    def parts(self, state: State) -> list[Tensor]:
        """Positions, without those along `axes`, and velocities."""
        bound = self.highest_velocity
        return [state["qpos"][len(self.axes) :], state["qvel"].clamp(-bound, bound)]

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
        terms = {"forward": self.forward_weight * measures["x_velocity"]}
        if self.falls:
            healthy = self.is_healthy(after).to(self.dtype)
            terms["survive"] = self.healthy_reward * healthy
        return {**terms, "ctrl": -self.ctrl_cost * action.square().sum(-1)}

    def is_healthy(self, state: State) -> Tensor:
        """Whether robots have not fallen, bool `[N]`."""
        raise NotImplementedError(f"{type(self)} lacks is_healthy(state)")

    def terminated(self, state: State) -> Tensor:
        return ~self.is_healthy(state) if self.falls else super().terminated(state)


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

    xml_file = "hopper.xml"
    frame_skip = 4
    ctrl_cost = 1e-3
    highest_velocity = 10.0
    reset_noise_scale = 5e-3
    camera: ClassVar[dict[str, Any]] = {**RunningVectorEnv.camera, "distance": 3.0}

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is upright and above 0.7 m, and no other position or
        velocity is beyond 100, bool `[N]`."""
        rest = torch.cat((state["qpos"][2:], state["qvel"]))
        return _is_upright(state, 0.7, inf, 0.2) & (rest.abs() < 100).all(0)


class Walker2dVectorEnv(RunningVectorEnv):
    """N walkers with two legs in the plane, as gymnasium's Walker2d-v5.

    Observations `[N, 17]`: positions without the first (x), and
    velocities, clipped to [-10, 10]. Actions `[N, 6]` in [-1, 1]: torques.
    """

    xml_file = "walker2d_v5.xml"
    frame_skip = 4
    ctrl_cost = 1e-3
    highest_velocity = 10.0
    reset_noise_scale = 5e-3

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is upright, at 0.8 to 2 m, bool `[N]`."""
        return _is_upright(state, 0.8, 2.0, 1.0)


class AntVectorEnv(RunningVectorEnv):
    """N ants with four legs in 3-D, as gymnasium's Ant-v5.

    Observations `[N, 105]`: positions without the first two (x and y of the
    torso), velocities, and the contact forces and torques on each body, clipped to
    [-1, 1]. Actions `[N, 8]` in [-1, 1]: torques.
    """

    xml_file = "ant.xml"
    frame_skip = 5
    fields = ("xpos", "cfrc_ext")
    ctrl_cost = 0.5
    reset_noise_scale = 0.1
    normal_velocities = True
    axes = "xy"

    def parts(self, state: State) -> list[Tensor]:
        forces = state["cfrc_ext"][1:].clamp(-1, 1)  # body 0 is the world
        return [*super().parts(state), forces]

    def place(self, state: State, axis: int) -> Tensor:
        return state["xpos"][1, axis]  # of the torso

    def rewards(self, measures: State, action: Tensor, after: State) -> State:
        squares = after["cfrc_ext"].clamp(-1, 1).square().sum((0, 1))
        return {**super().rewards(measures, action, after), "contact": -5e-4 * squares}

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is at 0.2 to 1 m, and all is finite, bool `[N]`."""
        z = state["qpos"][2]
        finite = state["qpos"].isfinite().all(0) & state["qvel"].isfinite().all(0)
        return finite & (z >= 0.2) & (z <= 1.0)


class HumanoidVectorEnv(RunningVectorEnv):
    """N humanoids with two legs and two arms in 3-D, as gymnasium's Humanoid-v5.

    Observations `[N, 348]`: positions without the first two (x and y), velocities,
    and for each body its inertia, its velocity and its contact forces; also the
    torques of the joints. Actions `[N, 17]` in [-0.4, 0.4]:
    torques.
    """

    xml_file = "humanoid.xml"
    frame_skip = 5
    fields = ("cfrc_ext", "cinert", "cvel", "qfrc_actuator", "xipos")
    forward_weight = 1.25
    healthy_reward = 5.0
    reset_noise_scale = 1e-2
    axes = "xy"

    def parts(self, state: State) -> list[Tensor]:
        """Those of all that run, and more: without the world, which is body 0, and the
        six degrees of freedom of the root."""
        first = {"cinert": 1, "cvel": 1, "qfrc_actuator": 6, "cfrc_ext": 1}
        return [*super().parts(state), *(state[name][i:] for name, i in first.items())]

    def place(self, state: State, axis: int) -> Tensor:
        """The position of the centre of mass along an axis, `[N]`."""
        mass = unvaried_field(self, "body_mass")  # [bodies]
        return (mass @ state["xipos"][:, axis]) / mass.sum()

    def rewards(self, measures: State, action: Tensor, after: State) -> State:
        contact = (5e-7 * after["cfrc_ext"].square().sum((0, 1))).clamp(max=10)
        return {**super().rewards(measures, action, after), "contact": -contact}

    def is_healthy(self, state: State) -> Tensor:
        """Whether the torso is at 1 to 2 m, bool `[N]`."""
        z = state["qpos"][2]
        return (z > 1.0) & (z < 2.0)


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


def _is_upright(state: State, low: float, high: float, lean: float) -> Tensor:
    """Whether the torso's height is between two, and its angle smaller than `lean`."""
    height, angle = state["qpos"][1], state["qpos"][2]
    return (height > low) & (height < high) & (angle.abs() < lean)
