"""CartPole: balance a pole on a cart by pushing it to the left or the right."""

import cmath
import math
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import Parameter, TorchVectorEnv

X_LIMIT = 2.4  # metres from the middle of the track
THETA_LIMIT = 12 * 2 * math.pi / 360  # 12 degrees from the upright, in radians
HIGH = np.array([2 * X_LIMIT, np.inf, 2 * THETA_LIMIT, np.inf], dtype=np.float32)


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

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012
    single_observation_space = spaces.Box(-HIGH, HIGH)
    single_action_space = spaces.Discrete(2)
    noise_size = 4
    reset_parameters = MappingProxyType({"low": "low", "high": "high"})
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
        self.take_attributes(kwargs)
        if not self.velocities:
            self.single_observation_space = spaces.Box(-HIGH[::2], HIGH[::2])
        super().__init__(num_envs, **kwargs)
        # Moment of inertia about the axle, in units of mass times half length squared.
        self.inertia = self.parameter("inertia", 4 / 3)
        limits = [[X_LIMIT], [math.inf], [THETA_LIMIT], [math.inf]]
        self.limits = torch.tensor(limits, dtype=self.dtype).to(self.device)  # [4, 1]

    def initial_state(self, noise: Tensor) -> Tensor:
        return torch.lerp(self.low, self.high, noise)

    def observe(self, state: Tensor) -> Tensor:
        return super().observe(state if self.velocities else state[::2])

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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

    def draw(self, state: np.ndarray, index: int) -> np.ndarray:
        """The frame uint8 `[400, 600, 3]`, as gymnasium's, but without pygame."""
        from PIL import Image, ImageDraw

        x, _, theta, _ = state.tolist()
        scale = 600 / (2 * X_LIMIT)  # pixels per metre
        length = self.get_attr("length")[index]
        # Points are complex numbers in pixels, y upwards: rotating is multiplying.
        cart = 300 + scale * x + 100j
        axle = cart + 7.5j
        tip = (2 * scale * length - 5) * 1j
        box = [cart + z for z in (-25 - 15j, -25 + 15j, 25 + 15j, 25 - 15j)]
        pole = [
            axle + z * cmath.exp(-1j * theta)
            for z in (-5 - 5j, -5 + tip, 5 + tip, 5 - 5j)
        ]

        image = Image.new("RGB", (600 * FINE, 400 * FINE), "white")
        pen = ImageDraw.Draw(image)
        pen.polygon(_pixels(box), "black")
        pen.polygon(_pixels(pole), (202, 152, 101))
        pen.ellipse(_pixels([axle - 5 + 5j, axle + 5 - 5j]), (129, 132, 203))
        pen.line(_pixels([100j, 600 + 100j]), "black", width=FINE)
        return np.array(image.reduce(FINE))


FINE = 2  # supersampling factor: Pillow does not smooth edges


def _pixels(points: list[complex]) -> list[tuple[float, float]]:
    """Convert pixels, y upwards, to pixels of the supersampled image, y downwards."""
    return [(FINE * z.real, FINE * (399 - z.imag)) for z in points]
