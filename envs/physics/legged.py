"""Base classes of running robots, and of those that can fall."""

from typing import ClassVar

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.base import PhysicsVectorEnv


class RunningVectorEnv(PhysicsVectorEnv):
    """Robots that are rewarded for moving forward, with a cost of torques."""

    forward_reward_weight: float = 1.0
    """Reward per metre per second."""
    ctrl_cost_weight: float = 0.1
    """Weight of the cost of squared actions."""
    exclude_current_positions_from_observation: bool = True
    """Whether the positions along `axes` are not observed."""

    axes: ClassVar[str] = "x"
    """Axes that robots move along: the first positions of their state."""

    def parts(self, state: State) -> list[Tensor]:
        """Positions, without those that are left out, and velocities."""
        skipped = len(self.axes) * self.exclude_current_positions_from_observation
        return [state["qpos"][skipped:], state["qvel"]]

    def place(self, state: State, axis: int) -> Tensor:
        """Positions of the robots along an axis, `[N]`, used for velocities."""
        return state["qpos"][axis]

    def locate(self, state: State) -> State:
        """Positions along the axes, and in 3-D the distance from the origin."""
        places = {f"{x}_position": state["qpos"][i] for i, x in enumerate(self.axes)}
        if len(self.axes) > 1:
            places["distance_from_origin"] = state["qpos"][: len(self.axes)].norm(dim=0)
        return places

    def measure(self, before: State, after: State) -> State:
        """Positions of the robots after the step, and mean velocities during it."""
        velocities = {
            f"{axis}_velocity": (self.place(after, i) - self.place(before, i)) / self.dt
            for i, axis in enumerate(self.axes)
        }
        return {**self.locate(after), **velocities}

    def gains(self, measures: State, after: State) -> State:
        return {"forward": self.forward_reward_weight * measures["x_velocity"]}

    def costs(self, action: Tensor, after: State) -> State:
        return {"ctrl": self.ctrl_cost_weight * action.square().sum(-1)}


class LeggedVectorEnv(RunningVectorEnv):
    """Robots also rewarded for not falling; a subclass defines `is_healthy`."""

    healthy_z_range: tuple[float, float]
    """Range of the torso's height in healthy states (m)."""
    healthy_reward: float = 1.0
    """Reward for a step that ends in a healthy state."""
    terminate_when_unhealthy: bool = True
    """Whether unhealthy states end the episode."""

    def is_healthy(self, state: State) -> Tensor:
        """Whether robots have not fallen, bool `[N]`."""
        raise NotImplementedError(f"{type(self)} lacks is_healthy(state)")

    def gains(self, measures: State, after: State) -> State:
        survive = self.healthy_reward * self.is_healthy(after).to(self.dtype)
        return {**super().gains(measures, after), "survive": survive}

    def terminated(self, state: State) -> Tensor:
        if self.terminate_when_unhealthy:
            return ~self.is_healthy(state)
        return super().terminated(state)


def between(low: float, x: Tensor, high: float) -> Tensor:
    """Whether low < x < high, elementwise."""
    return torch.logical_and(low < x, x < high)
