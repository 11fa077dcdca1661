"""Chapter 11's figure: an actor that climbs a false peak of its critic.

One state, one action between -1 and 1, and a reward with noise. Two critics are fitted
to the same few transitions: networks with a hidden layer of random cosines, of which
only the last layer is learned, so that the fit is a linear equation. The actor follows
the deterministic policy gradient up the first of them. How much noise smooths the
target action is the library's own setting.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from yieldrl.algorithms import td3

from . import drawing as svg
from .drawing import Frame, Scale

DRAWS = 500
"""Draws of transitions and networks."""
SAMPLES, NOISE = 8, 0.3
"""Transitions of a draw, and the standard deviation of their rewards' noise."""
FEATURES, FREQUENCY, RIDGE = 60, 6.0, 0.02
BEST, RATE = 0.4, 0.02
"""The best action, where the actor begins, and its learning rate."""
STEPS = [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40]
"""Gradient steps after which the actor is looked at."""

_CONFIG = td3.Config()
_NORMAL = NormalDist(0, _CONFIG.policy_noise)
SMOOTHING = np.clip(
    [_NORMAL.inv_cdf((k + 0.5) / 21) for k in range(21)],
    -_CONFIG.noise_clip,
    _CONFIG.noise_clip,
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


SHOWN = 5
"""How many draws can be looked at."""
LOOKS = ("blue", "blue dashed", "red dotted", "ink")
"""Of the three targets and the truth, on average."""
ACTION, VALUE = Scale(-1, 1, 48, 460), Scale(-0.8, 1.6, 206, 10)
STEP, MEAN = Scale(0, STEPS[-1], 48, 460), Scale(0.75, 1.25, 400, 270)
"""The axes of `false_peak.svg`."""


def figure() -> dict[str, Any]:
    """All frames: gradient steps, a draw and a target each."""
    critics = Critics()
    path = climb(critics)[STEPS]
    said = {
        name: np.array([target(critics, action) for action in path])
        for name, target in TARGETS.items()
    }

    def frame(step: int, draw: int, name: str) -> Frame:
        at = STEPS.index(step)
        action, claim = path[at, draw], said[name][at, draw]
        true, mean = worth(action), (said[name][at] - worth(path[at])).mean()
        x, y = ACTION(action), VALUE(claim)
        left, right = map(ACTION, np.clip([action - 0.2, action + 0.2], -1, 1))
        text = (
            f"After {step} steps, {name}: the target says {claim:.2f}, the action is"
            f" worth {true:.2f}. On average over all draws it says {abs(mean):.2f} too"
            f" {'much' if mean > 0 else 'little'}."
        )
        chosen, two = [draw == i for i in range(SHOWN)], name != "one critic"
        smoothed = "smoothed" in name
        return {
            "draw visibility": svg.visible(chosen),
            "second visibility": svg.visible(is_so and two for is_so in chosen),
            "actor cx": x,
            "actor cy": VALUE(said["one critic"][at, draw]),
            "gap d": f"M{x} {y}V{VALUE(true)}",
            "around d": f"M{left} {y}H{right}" if smoothed else f"M{x - 5:g} {y}h10",
            "now d": f"M{STEP(step)} 270V400",
            "says text": svg.minus(text),
        }

    return svg.figure(
        size=(480, 440),
        svg=drawing(critics, path, said),
        controls={
            "steps": svg.labelled(STEPS),
            "draw": {str(draw + 1): draw for draw in range(SHOWN)},
            "target": svg.labelled(TARGETS),
        },
        start=("22", "2", "one critic"),
        frame=frame,
    )


def drawing(critics: Critics, path: np.ndarray, said: dict[str, np.ndarray]) -> str:
    """Critics, what they have seen, and below what is so on average."""
    actions = np.linspace(-1, 1, 101)

    def values(look: str, of: np.ndarray) -> str:
        d = svg.curve(actions, of, ACTION, VALUE)
        return svg.line(look, d, clip_path="url(#false-peak-values)")

    draws = ""
    for i, both in enumerate(critics.value(np.tile(actions, (DRAWS, 1)))[:SHOWN]):
        seen = zip(critics.action[i], critics.reward[i], strict=True)
        dots = "".join(svg.dot("dot", ACTION(a), VALUE(r), r=3.5) for a, r in seen)
        draws += svg.tag("g", values("blue line", both[0]) + dots, class_="draw")
        draws += values("second blue line dashed", both[1])
    means = [*(of.mean(1) for of in said.values()), worth(path).mean(1)]
    return svg.drawn(
        "false_peak",
        truth=values("ink line", worth(actions)),
        draws=draws,
        means=svg.curves(LOOKS, STEPS, means, STEP, MEAN),
    )
