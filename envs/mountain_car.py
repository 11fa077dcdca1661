"""Mountain cars: a weak car must first go back to gain speed for a hill."""

from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import Parameter, TorchVectorEnv

MIN_POSITION, MAX_POSITION = -1.2, 0.6
MAX_SPEED = 0.07  # per step
LOW = np.array([MIN_POSITION, -MAX_SPEED], dtype=np.float32)
HIGH = np.array([MAX_POSITION, MAX_SPEED], dtype=np.float32)


class MountainCarVectorEnv(TorchVectorEnv):
    """Gymnasium's MountainCar-v0 as N environments on a device.

    State and observation are the car's position and velocity. Actions 0, 1 and 2 push
    to the left, not at all, and to the right. The reward is -1 per step. An episode
    ends on top of the right hill, and is cut after 200 steps.

    Source: Moore (1990), "Efficient memory-based learning for robot control", PhD
    thesis, University of Cambridge.
    """

    gymnasium_id = "MountainCar-v0"
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012
    single_observation_space = spaces.Box(LOW, HIGH)
    single_action_space = spaces.Discrete(3)
    noise_size = 1
    reset_parameters = MappingProxyType({"low": "low", "high": "high"})
    max_episode_steps = 200
    goal_position = 0.5

    goal_velocity: Parameter = 0.0
    """Least velocity at the goal for success. This and all following: a number, or one
    per car, `[N]`."""
    force: Parameter = 0.001
    """What a push adds to the velocity."""
    gravity: Parameter = 0.0025
    """What the steepest slope adds to the velocity."""
    low: Parameter = -0.6
    """Lower bound of the first position, drawn uniformly."""
    high: Parameter = -0.4
    """Upper bound of the first position."""

    def initial_state(self, noise: Tensor) -> Tensor:
        position = torch.lerp(self.low, self.high, noise[0])
        return torch.stack((position, torch.zeros_like(position)))

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        state, terminated = self.drive(state, (action - 1) * self.force)
        return state, -torch.ones_like(state[0]), terminated

    def drive(self, state: Tensor, push: Tensor) -> tuple[Tensor, Tensor]:
        """Next state, and whether the goal is reached; `push` adds to the velocity."""
        position, velocity = state.unbind()
        velocity = velocity + (push + (3 * position).cos() * -self.gravity)
        velocity = velocity.clamp(-MAX_SPEED, MAX_SPEED)
        position = (position + velocity).clamp(MIN_POSITION, MAX_POSITION)
        at_wall = (position <= MIN_POSITION) & (velocity < 0)
        velocity = velocity.masked_fill(at_wall, 0)
        arrived = position >= self.goal_position
        terminated = arrived & (velocity >= self.goal_velocity)
        return torch.stack((position, velocity)), terminated


class MountainCarContinuousVectorEnv(MountainCarVectorEnv):
    """Gymnasium's MountainCarContinuous-v0 as N environments on a device.

    The car, hills and first states are those of `MountainCarVectorEnv`; the action is a
    push `[N, 1]`, clipped to [-1, 1]. The reward is 100 for arriving, minus a tenth of
    the action's square (of the action as it is given, not clipped). Episodes are cut
    after 999 steps. Gradients flow through the step where nothing is at a limit.

    Differs from gymnasium, which rounds the state to float32 after every step; here the
    state has the precision of `dtype`.

    Args:
        power: What a full push adds to the velocity: a number, or one per car, `[N]`.
        kwargs: Arguments of `MountainCarVectorEnv` and `TorchVectorEnv`.
    """

    gymnasium_id = "MountainCarContinuous-v0"
    single_action_space = spaces.Box(-1.0, 1.0, (1,))
    max_episode_steps = 999
    goal_position = 0.45

    def __init__(
        self, num_envs: int = 1, *, power: float | Tensor = 0.0015, **kwargs: Any
    ) -> None:
        super().__init__(num_envs, force=power, **kwargs)

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        action = action[:, 0]
        state, terminated = self.drive(state, action.clamp(-1, 1) * self.force)
        reward = torch.where(terminated, 100.0, 0.0) - action.square() * 0.1
        return state, reward, terminated
