"""Pendulum: swing it up with a weak motor, and hold it there."""

import math
from types import MappingProxyType

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import Parameter, TorchVectorEnv

MAX_SPEED = 8.0  # rad/s
MAX_TORQUE = 2.0  # N m
HIGH = np.array([1.0, 1.0, MAX_SPEED], dtype=np.float32)


class PendulumVectorEnv(TorchVectorEnv):
    """Gymnasium's Pendulum-v1 as N environments on a device.

    State: angle from the upright (rad, not wrapped) and angular velocity (rad/s).
    Observation: the angle's cosine and sine, and the velocity. The action is a torque
    `[N, 1]`, clipped to 2 N m. The reward is minus a cost of the angle, the velocity
    and the torque. No episode ends by itself; all are cut after 200 steps. Gradients
    flow through the step, except where the torque or the velocity is at its limit.
    """

    gymnasium_id = "Pendulum-v1"
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012
    single_observation_space = spaces.Box(-HIGH, HIGH)
    single_action_space = spaces.Box(-MAX_TORQUE, MAX_TORQUE, (1,))
    noise_size = 2
    reset_parameters = MappingProxyType(
        {"x_init": "high_angle", "y_init": "high_speed"}
    )
    max_episode_steps = 200

    gravity: Parameter = 10.0
    """In m/s^2. This and all following: a number, or one each, `[N]`."""
    mass: Parameter = 1.0
    """Mass of the rod (kg)."""
    length: Parameter = 1.0
    """Length of the rod (m)."""
    dt: Parameter = 0.05
    """Time from step to step (s)."""
    high_angle: Parameter = math.pi
    """First angles are uniform between minus this and this (rad)."""
    high_speed: Parameter = 1.0
    """First velocities are uniform between minus this and this (rad/s)."""

    def initial_state(self, noise: Tensor) -> Tensor:
        theta, theta_dot = 2 * noise - 1
        return torch.stack((self.high_angle * theta, self.high_speed * theta_dot))

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        theta, theta_dot = state.unbind()
        torque = action[:, 0].clamp(-MAX_TORQUE, MAX_TORQUE)
        angle = (theta + math.pi) % (2 * math.pi) - math.pi
        cost = angle.square() + 0.1 * theta_dot.square() + 0.001 * torque.square()

        pull = 3 * self.gravity / (2 * self.length) * theta.sin()
        push = 3.0 / (self.mass * self.length.square()) * torque
        theta_dot = theta_dot + (pull + push) * self.dt
        theta_dot = theta_dot.clamp(-MAX_SPEED, MAX_SPEED)
        theta = theta + theta_dot * self.dt
        terminated = torch.zeros_like(theta, dtype=torch.bool)
        return torch.stack((theta, theta_dot)), -cost, terminated

    def observe(self, state: Tensor) -> Tensor:
        theta, theta_dot = state.unbind()
        obs = torch.stack((theta.cos(), theta.sin(), theta_dot), dim=-1)
        return obs.to(torch.float32)
