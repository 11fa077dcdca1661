"""Gymnasium's classic control on tensors: CartPole, Pendulum, Acrobot, MountainCar."""

import math
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import Parameter, TorchVectorEnv, Transition

X_LIMIT = 2.4  # metres from the middle of the track
THETA_LIMIT = 12 * 2 * math.pi / 360  # 12 degrees from the upright, in radians
CART_POLE_HIGH = np.array([2 * X_LIMIT, np.inf, 2 * THETA_LIMIT, np.inf], np.float32)


class CartPoleVectorEnv(TorchVectorEnv):
    """Gymnasium's CartPole-v1 as N environments on a device.

    State and observation are the cart's position (m) and velocity (m/s) and the pole's
    angle (rad) and angular velocity (rad/s). Action 1 pushes to the right, 0 to the
    left. An episode ends when the pole leans by more than 12 degrees or the cart is
    more than 2.4 m off the middle, and is cut after 500 steps.

    Source: Barto, Sutton and Anderson (1983), "Neuronlike adaptive elements that can
    solve difficult learning control problems", IEEE Trans. SMC-13(5); the equations are
    those of Florian (2007), "Correct equations for the dynamics of the cart-pole
    system", without friction, rounded in the order of gymnasium's code.
    """

    gymnasium_id = "CartPole-v1"
    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012
    single_observation_space = spaces.Box(-CART_POLE_HIGH, CART_POLE_HIGH)
    single_action_space = spaces.Discrete(2)
    noise_size = 4
    max_episode_steps = 500

    sutton_barto_reward: bool = False
    """Reward 0 per step and -1 for a fall, instead of 1 per step."""
    velocities: bool = True
    """False hides both velocities, so that balancing needs memory."""
    gravity: Parameter = 9.8
    """In m/s^2. This and all following: a number, or one per cart, `[N]`."""
    masscart: Parameter = 1.0
    """Mass of the cart (kg)."""
    masspole: Parameter = 0.1
    """Mass of the pole (kg)."""
    length: Parameter = 0.5
    """Half of the pole's length (m)."""
    force_mag: Parameter = 10.0
    """Force of a push (N)."""
    tau: Parameter = 0.02
    """Time from step to step (s)."""
    low: Parameter = -0.05
    """Lower bound of the initial state's four numbers, drawn uniformly."""
    high: Parameter = 0.05
    """Upper bound of the initial state's numbers."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        if not self.velocities:
            high = CART_POLE_HIGH[::2]
            self.single_observation_space = spaces.Box(-high, high)
        super().__init__(num_envs, **kwargs)
        # Moment of inertia about the axle, in units of mass times half length squared.
        self.inertia = self.parameter("inertia", 4 / 3)
        limits = [[X_LIMIT], [math.inf], [THETA_LIMIT], [math.inf]]
        self.limits = torch.tensor(limits, dtype=self.dtype).to(self.device)  # [4, 1]

    def initial_state(self, noise: Tensor) -> Tensor:
        return torch.lerp(self.low, self.high, noise)

    def observe(self, state: Tensor) -> Tensor:
        return super().observe(state if self.velocities else state[::2])

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        _, x_dot, theta, theta_dot = state.unbind()
        sin, cos = theta.sin(), theta.cos()
        force = torch.where(action.bool(), self.force_mag, -self.force_mag)
        total_mass = self.masspole + self.masscart
        polemass_length = self.masspole * self.length

        temp = (force + polemass_length * (theta_dot * theta_dot) * sin) / total_mass
        theta_acc = (self.gravity * sin - cos * temp) / (
            self.length * (self.inertia - self.masspole * (cos * cos) / total_mass)
        )
        x_acc = temp - polemass_length * theta_acc * cos / total_mass

        rate = torch.stack((x_dot, x_acc, theta_dot, theta_acc))
        state = state + self.tau * rate

        off, _, fallen, _ = (state.abs() > self.limits).unbind()
        terminated = off | fallen
        fall_alone = self.sutton_barto_reward
        reward = -terminated.float() if fall_alone else torch.ones_like(x_acc)
        return state, reward, terminated

    def expert(self) -> Tensor:
        """Actions `[N]` of a linear controller that balances the poles."""
        x, x_dot, theta, theta_dot = self.state.unbind()
        right = 0.1 * x + 0.2 * x_dot + 2 * theta + theta_dot > 0
        return (right ^ (self.force_mag < 0)).long()

    def draw(self, state: Any, index: int) -> np.ndarray:
        """The frame uint8 `[400, 600, 3]`, as gymnasium's, with this pole's length."""
        self.painter.length = self.get_attr("length")[index]
        return super().draw(state, index)


PENDULUM_SPEED = 8.0  # rad/s
TORQUE = 2.0  # N m
PENDULUM_HIGH = np.array([1.0, 1.0, PENDULUM_SPEED], dtype=np.float32)


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
    single_observation_space = spaces.Box(-PENDULUM_HIGH, PENDULUM_HIGH)
    single_action_space = spaces.Box(-TORQUE, TORQUE, (1,))
    noise_size = 2
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

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        theta, theta_dot = state.unbind()
        torque = action[:, 0].clamp(-TORQUE, TORQUE)
        angle = (theta + math.pi) % (2 * math.pi) - math.pi
        cost = angle.square() + 0.1 * theta_dot.square() + 0.001 * torque.square()

        pull = 3 * self.gravity / (2 * self.length) * theta.sin()
        push = 3.0 / (self.mass * self.length.square()) * torque
        theta_dot = theta_dot + (pull + push) * self.dt
        theta_dot = theta_dot.clamp(-PENDULUM_SPEED, PENDULUM_SPEED)
        theta = theta + theta_dot * self.dt
        terminated = torch.zeros_like(theta, dtype=torch.bool)
        return torch.stack((theta, theta_dot)), -cost, terminated

    def observe(self, state: Tensor) -> Tensor:
        theta, theta_dot = state.unbind()
        return torch.stack((theta.cos(), theta.sin(), theta_dot), dim=-1).float()


SPEED_1, SPEED_2 = 4 * math.pi, 9 * math.pi  # rad/s, the highest of each link
ACROBOT_HIGH = np.array([1, 1, 1, 1, SPEED_1, SPEED_2], dtype=np.float32)


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
    single_observation_space = spaces.Box(-ACROBOT_HIGH, ACROBOT_HIGH)
    single_action_space = spaces.Discrete(3)
    noise_size = 4
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

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        torque = (action - 1).to(self.dtype)
        k1 = self.rate(state, torque)  # the four Runge-Kutta slopes
        k2 = self.rate(state + self.dt / 2 * k1, torque)
        k3 = self.rate(state + self.dt / 2 * k2, torque)
        k4 = self.rate(state + self.dt * k3, torque)
        moved = state + self.dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        angles, speed_1, speed_2 = moved[:2], moved[2], moved[3]
        turns = ((angles.abs() - math.pi) / (2 * math.pi)).ceil().clamp(min=0)
        theta_1, theta_2 = angles - turns * angles.sign() * (2 * math.pi)
        speed_1 = speed_1.clamp(-SPEED_1, SPEED_1)
        speed_2 = speed_2.clamp(-SPEED_2, SPEED_2)

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
        return torch.stack((cos_1, sin_1, cos_2, sin_2, *state[2:]), dim=-1).float()


LEFT, RIGHT, CAR_SPEED = -1.2, 0.6, 0.07  # ends of the track, distance in a step
CAR_LOW = np.array([LEFT, -CAR_SPEED], dtype=np.float32)
CAR_HIGH = np.array([RIGHT, CAR_SPEED], dtype=np.float32)


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
    single_observation_space = spaces.Box(CAR_LOW, CAR_HIGH)
    single_action_space = spaces.Discrete(3)
    noise_size = 1
    max_episode_steps = 200
    goal_position = 0.5

    goal_velocity: Parameter = 0.0
    """Least velocity at the goal for success. This and all following: a number, or one
    per car, `[N]`."""
    force: Parameter = 0.001
    """Added to the velocity by a push."""
    gravity: Parameter = 0.0025
    """Added to the velocity by the steepest slope."""
    low: Parameter = -0.6
    """Lower bound of the first position, drawn uniformly."""
    high: Parameter = -0.4
    """Upper bound of the first position."""

    def initial_state(self, noise: Tensor) -> Tensor:
        position = torch.lerp(self.low, self.high, noise[0])
        return torch.stack((position, torch.zeros_like(position)))

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        state, terminated = self.drive(state, (action - 1) * self.force)
        return state, -torch.ones_like(state[0]), terminated

    def drive(self, state: Tensor, push: Tensor) -> tuple[Tensor, Tensor]:
        """Next state, and whether the goal is reached; `push` adds to the velocity."""
        position, velocity = state.unbind()
        velocity = velocity + (push + (3 * position).cos() * -self.gravity)
        velocity = velocity.clamp(-CAR_SPEED, CAR_SPEED)
        position = (position + velocity).clamp(LEFT, RIGHT)
        at_wall = (position <= LEFT) & (velocity < 0)
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
    """

    gymnasium_id = "MountainCarContinuous-v0"
    single_action_space = spaces.Box(-1.0, 1.0, (1,))
    max_episode_steps = 999
    goal_position = 0.45

    power: Parameter = 0.0015
    """Added to the velocity by a full push."""

    def dynamics(self, state: Tensor, action: Tensor) -> Transition:
        action = action[:, 0]
        state, terminated = self.drive(state, action.clamp(-1, 1) * self.power)
        reward = torch.where(terminated, 100.0, 0.0) - action.square() * 0.1
        return state, reward, terminated
