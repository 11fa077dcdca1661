"""What the robots have in common that run, and those of them that can fall."""

from typing import ClassVar

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.base import PhysicsVectorEnv


class RunningVectorEnv(PhysicsVectorEnv):
    """Robots that are paid for moving forward, and pay for their torques."""

    forward_reward_weight: float = 1.0
    """Reward for a metre per second."""
    ctrl_cost_weight: float = 0.1
    """Price of the actions' squares."""
    exclude_current_positions_from_observation: bool = True
    """Whether the positions along the axes of movement are left out."""

    axes: ClassVar[str] = "x"
    """Along which robots move: the first positions of their state."""

    def parts(self, state: State) -> list[Tensor]:
        """Positions, without those that are left out, and velocities."""
        skipped = len(self.axes) * self.exclude_current_positions_from_observation
        return [state["qpos"][skipped:], state["qvel"]]

    def place(self, state: State, axis: int) -> Tensor:
        """How far the robots have come along an axis, `[N]`, to take velocities of."""
        return state["qpos"][axis]

    def locate(self, state: State) -> State:
        """Positions along the axes, and in space the distance from the origin."""
        places = {f"{x}_position": state["qpos"][i] for i, x in enumerate(self.axes)}
        if len(self.axes) > 1:
            places["distance_from_origin"] = state["qpos"][: len(self.axes)].norm(dim=0)
        return places

    def measure(self, before: State, after: State) -> State:
        """Where the robots are after the step, and the mean velocities during it."""
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
    """Robots that are also paid for not falling; a subclass writes `is_healthy`."""

    healthy_z_range: tuple[float, float]
    """The torso's height in a healthy state (m)."""
    healthy_reward: float = 1.0
    """Reward for a step that ends in a healthy state."""
    terminate_when_unhealthy: bool = True
    """Whether unhealthy states end the episode."""

    def is_healthy(self, state: State) -> Tensor:
        """Whether they stand, bool `[N]`."""
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
