"""Acrobot: swing the free end of a two-link pendulum above a height."""

import math
from types import MappingProxyType

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import Parameter, TorchVectorEnv

MAX_SPEED_1 = 4 * math.pi  # rad/s
MAX_SPEED_2 = 9 * math.pi
HIGH = np.array([1, 1, 1, 1, MAX_SPEED_1, MAX_SPEED_2], dtype=np.float32)


class AcrobotVectorEnv(TorchVectorEnv):
    """Gymnasium's Acrobot-v1 as N environments on a device.

    State: the angle of the first link (0 hangs down), that of the second link relative
    to the first (rad), and the two angular velocities (rad/s). Observation: cosine and
    sine of the first angle, of the second, and the velocities. Actions 0, 1 and 2 put a
    torque of -1, 0 and 1 N m on the joint between the links. The reward is -1 per step,
    and 0 for the step that ends the episode by swinging the free end one link's length
    above the bar. Episodes are cut after 500 steps.

    Source: Sutton (1996), "Generalization in reinforcement learning: successful
    examples using sparse coarse coding", NIPS 8; the equations are those of Sutton and
    Barto (2018), section 11.3 of the first edition, integrated by one Runge-Kutta step
    of the fourth order, rounded in the order of gymnasium's code.
    """

    gymnasium_id = "Acrobot-v1"
    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012
    single_observation_space = spaces.Box(-HIGH, HIGH)
    single_action_space = spaces.Discrete(3)
    noise_size = 4
    reset_parameters = MappingProxyType({"low": "low", "high": "high"})
    max_episode_steps = 500

    gravity: Parameter = 9.8
    """In m/s^2. This and all following: a number, or one each, `[N]`."""
    link_mass_1: Parameter = 1.0
    """Mass of the first link (kg)."""
    link_mass_2: Parameter = 1.0
    """Mass of the second link (kg)."""
    link_length_1: Parameter = 1.0
    """Length of the first link (m); that of the second has no effect."""
    link_com_pos_1: Parameter = 0.5
    """From the bar to the first link's centre of mass (m)."""
    link_com_pos_2: Parameter = 0.5
    """From the joint to the second link's centre of mass (m)."""
    link_moi: Parameter = 1.0
    """Moment of inertia of either link (kg m^2)."""
    dt: Parameter = 0.2
    """Time from step to step (s)."""
    low: Parameter = -0.1
    """Lower bound of the initial state's four numbers, drawn uniformly."""
    high: Parameter = 0.1
    """Upper bound of the initial state's numbers."""

    def initial_state(self, noise: Tensor) -> Tensor:
        return torch.lerp(self.low, self.high, noise)

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        torque = (action - 1).to(self.dtype)
        k1 = self.rate(state, torque)  # the four Runge-Kutta slopes
        k2 = self.rate(state + self.dt / 2 * k1, torque)
        k3 = self.rate(state + self.dt / 2 * k2, torque)
        k4 = self.rate(state + self.dt * k3, torque)
        moved = state + self.dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        angles, speed_1, speed_2 = moved[:2], moved[2], moved[3]
        turns = ((angles.abs() - math.pi) / (2 * math.pi)).ceil().clamp(min=0)
        theta_1, theta_2 = angles - turns * angles.sign() * (2 * math.pi)
        speed_1 = speed_1.clamp(-MAX_SPEED_1, MAX_SPEED_1)
        speed_2 = speed_2.clamp(-MAX_SPEED_2, MAX_SPEED_2)

        height = -theta_1.cos() - (theta_2 + theta_1).cos()
        terminated = height > 1.0
        reward = terminated.float() - 1
        return torch.stack((theta_1, theta_2, speed_1, speed_2)), reward, terminated

    def rate(self, state: Tensor, torque: Tensor) -> Tensor:
        """Time derivative of the state, `[4, N]`, by the equations of motion."""
        theta_1, theta_2, speed_1, speed_2 = state.unbind()
        m1, m2, l1 = self.link_mass_1, self.link_mass_2, self.link_length_1
        lc1, lc2 = self.link_com_pos_1, self.link_com_pos_2
        moi, g = self.link_moi, self.gravity
        sin, cos = theta_2.sin(), theta_2.cos()
        d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * cos) + moi + moi
        d2 = m2 * (lc2**2 + l1 * lc2 * cos) + moi
        phi2 = m2 * lc2 * g * (theta_1 + theta_2 - math.pi / 2).cos()
        phi1 = (
            -m2 * l1 * lc2 * speed_2**2 * sin
            - 2 * m2 * l1 * lc2 * speed_2 * speed_1 * sin
            + (m1 * lc1 + m2 * l1) * g * (theta_1 - math.pi / 2).cos()
            + phi2
        )
        force = torque + d2 / d1 * phi1 - m2 * l1 * lc2 * speed_1**2 * sin
        acc_2 = (force - phi2) / (m2 * lc2**2 + moi - d2**2 / d1)
        acc_1 = -(d2 * acc_2 + phi1) / d1
        return torch.stack((speed_1, speed_2, acc_1, acc_2))

    def observe(self, state: Tensor) -> Tensor:
        (cos_1, cos_2), (sin_1, sin_2) = state[:2].cos(), state[:2].sin()
        obs = torch.stack((cos_1, sin_1, cos_2, sin_2, *state[2:]), dim=-1)
        return obs.to(torch.float32)
