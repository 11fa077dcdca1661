"""The critics and the actor of chapter 11's figure, and three targets.

Two critics are fitted to the same few transitions of one state: networks with a hidden
layer of random cosines, of which only the last layer is learned, so that the fit is a
linear equation. How much noise smooths the target action is the library's own setting.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from yieldrl.algorithms import td3

DRAWS = 500
"""Draws of transitions and networks."""
SAMPLES, NOISE = 8, 0.3
"""Transitions of a draw, and the standard deviation of their rewards' noise."""
FEATURES, FREQUENCY, RIDGE = 60, 6.0, 0.02
BEST, RATE = 0.4, 0.02
"""The best action, where the actor begins, and its learning rate."""
STEPS = [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40]
"""Gradient steps after which the actor is looked at."""

_QUANTILES = (np.arange(21) + 0.5) / 21
_SETTINGS = td3.Config()
SMOOTHING = np.array([NormalDist().inv_cdf(share) for share in _QUANTILES])
SMOOTHING = np.clip(
    _SETTINGS.policy_noise * SMOOTHING, -_SETTINGS.noise_clip, _SETTINGS.noise_clip
)
"""What is added to the target action, all equally likely."""


class Critics:
    """Two critics for each draw, fitted to the same transitions.

    Attributes:
        action: Of the transitions, `[DRAWS, SAMPLES]`.
        reward: With its noise, `[DRAWS, SAMPLES]`.
    """

    def __init__(self, seed: int = 11) -> None:
        rng = np.random.default_rng(seed)
        self.action = rng.uniform(-1, 1, (DRAWS, SAMPLES))
        noise = rng.normal(size=(DRAWS, SAMPLES))
        self.reward = worth(self.action) + NOISE * noise
        self._wave = FREQUENCY * rng.normal(size=(DRAWS, 2, FEATURES))
        self._phase = rng.uniform(0, 2 * np.pi, (DRAWS, 2, FEATURES))
        self._mean = self.reward.mean(1)[:, None, None]
        inputs = self._hidden(np.cos, self.action)
        turned = inputs.swapaxes(2, 3)
        matrix = inputs @ turned + RIDGE * np.eye(SAMPLES)
        wanted = np.broadcast_to(self.reward[:, None], (DRAWS, 2, SAMPLES))
        solved = np.linalg.solve(matrix, (wanted - self._mean)[..., None])
        self._weight = (turned @ solved)[..., 0]

    def value(self, action: np.ndarray) -> np.ndarray:
        """`Q_i(a)`, `[DRAWS, 2, P]`, of actions `[DRAWS, P]`."""
        hidden = self._hidden(np.cos, action)
        return (hidden @ self._weight[..., None])[..., 0] + self._mean

    def slope(self, action: np.ndarray) -> np.ndarray:
        """Its derivative, `[DRAWS, 2, P]`."""
        hidden = self._hidden(np.sin, action)
        return -(hidden @ (self._weight * self._wave)[..., None])[..., 0]

    def _hidden(
        self, wave: Callable[[np.ndarray], np.ndarray], action: np.ndarray
    ) -> np.ndarray:
        """The hidden layer, `[DRAWS, 2, P, FEATURES]`."""
        inside = action[:, None, :, None] * self._wave[:, :, None]
        return wave(inside + self._phase[:, :, None]) * (2 / FEATURES) ** 0.5


def worth(action: np.ndarray) -> np.ndarray:
    """The mean reward of actions, of any shape."""
    return 1 - (action - BEST) ** 2


def climb(critics: Critics) -> np.ndarray:
    """The actor's action after 0, 1, 2 ... steps, `[max(STEPS) + 1, DRAWS]`.

    Its only parameter is theta, and `a = tanh(theta)`: a step is the slope of the first
    critic there, times the derivative of the action.
    """
    theta, path = np.full(DRAWS, np.arctanh(BEST)), []
    for _ in range(STEPS[-1] + 1):
        action = np.tanh(theta)
        path.append(action)
        slope = critics.slope(action[:, None])[:, 0, 0]
        theta = theta + RATE * slope * (1 - action**2)
    return np.array(path)


def one(critics: Critics, action: np.ndarray) -> np.ndarray:
    """DDPG's target of actions `[DRAWS]`: `Q_1(a)`."""
    return critics.value(action[:, None])[:, 0, 0]


def lower(critics: Critics, action: np.ndarray) -> np.ndarray:
    """The lower of two critics, `min_i Q_i(a)`."""
    return critics.value(action[:, None]).min(1)[:, 0]


def smoothed(critics: Critics, action: np.ndarray) -> np.ndarray:
    """The same around the action: TD3's target, on average over its noise."""
    around = np.clip(action[:, None] + SMOOTHING, -1, 1)
    return critics.value(around).min(1).mean(1)


TARGETS = {"one critic": one, "lower of two": lower, "lower, smoothed": smoothed}
