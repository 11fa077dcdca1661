"""Chapter 11's figure: an actor that climbs a false peak of its critic.

One state, one action between -1 and 1, and a reward with noise. Two critics are fitted
to the same few transitions: networks with a hidden layer of random cosines, of which
only the last layer is learned, so that the fit is a linear equation. The actor follows
the deterministic policy gradient up the first critic. How much noise smooths the target
action is the library's own setting.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from yieldrl.algorithms import td3

DRAWS, SHOWN = 500, 5
"""Draws of transitions and networks; how many of them can be looked at."""
SAMPLES, NOISE = 8, 0.3
"""Transitions of a draw, and the standard deviation of their rewards' noise."""
FEATURES, FREQUENCY, RIDGE = 60, 6.0, 0.02
BEST, RATE = 0.4, 0.02
"""The best action, where the actor begins, and its learning rate."""
STEPS = [0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40]
"""Gradient steps after which the actor is looked at."""
CAPTION = """\
Above: what an action is worth (black), eight rewards with noise (dots), two critics
fitted to them (blue), and the actor on the first of them. Red: from what the target
says of its action to what that is worth. Below: both on average over 500 draws of
rewards and networks, of which the first five can be chosen."""
LEFT, RIGHT = 48, 460  # of both axes, in pixels
LOWEST, HIGHEST = -0.8, 1.6  # of the upper picture
LEAST, MOST = 0.75, 1.25  # of the lower one

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
    """What DDPG's target says of actions `[DRAWS]`: `Q_1(a)`."""
    return critics.value(action[:, None])[:, 0, 0]


def lower(critics: Critics, action: np.ndarray) -> np.ndarray:
    """The lower of two critics, `min_i Q_i(a)`."""
    return critics.value(action[:, None]).min(1)[:, 0]


def smoothed(critics: Critics, action: np.ndarray) -> np.ndarray:
    """The same around the action: TD3's target, on average over its noise."""
    around = np.clip(action[:, None] + SMOOTHING, -1, 1)
    return critics.value(around).min(1).mean(1)


TARGETS = {"one critic": one, "lower of two": lower, "lower, smoothed": smoothed}
LOOKS = {"one critic": "blue", "lower of two": "blue dashed"}
LOOKS |= {"lower, smoothed": "red dotted", "truth": "ink"}


def figure() -> dict[str, Any]:
    """All frames: gradient steps, a draw and a target each."""
    critics = Critics()
    path = climb(critics)[STEPS]
    said = {
        name: np.array([target(critics, action) for action in path])
        for name, target in TARGETS.items()
    }
    frames = [
        frame(step, draw, name, path, said)
        for step in range(len(STEPS))
        for draw in range(SHOWN)
        for name in TARGETS
    ]
    start = (STEPS.index(22), FIRST, 0)
    at = (start[0] * SHOWN + start[1]) * len(TARGETS) + start[2]
    return {
        "title": "An actor climbs its critic, and finds where it is wrong",
        "caption": CAPTION,
        "size": (480, 440),
        "svg": drawing(critics, path, said, frames[at]),
        "controls": {
            "steps": [str(step) for step in STEPS],
            "draw": [str(draw + 1) for draw in range(SHOWN)],
            "target": list(TARGETS),
        },
        "start": start,
        "parts": PARTS,
        "frames": frames,
    }


FIRST = 1
"""The draw that is shown first."""
PARTS = [(".draw", "visibility"), (".second", "visibility"), (".actor", "cx")]
PARTS += [(".actor", "cy"), (".gap", "d"), (".around", "d"), (".now", "d")]
PARTS += [(".says", "text")]


def frame(
    step: int, draw: int, name: str, path: np.ndarray, said: dict[str, np.ndarray]
) -> list[Any]:
    """The values of `PARTS` for one number of steps, one draw and one target."""
    action, claim = path[step, draw], said[name][step, draw]
    true, two = worth(action), name != "one critic"
    mean = (said[name][step] - worth(path[step])).mean()
    x, y = across(action), up(said["one critic"][step, draw])
    ends = np.clip([action - 0.2, action + 0.2], -1, 1)
    spread = f"M{across(ends[0])} {up(claim)}H{across(ends[1])}"
    text = (
        f"After {STEPS[step]} steps, {name}: the target says {claim:.2f}, the action is"
        f" worth {true:.2f}. On average over all draws it says {abs(mean):.2f} too"
        f" {'much' if mean > 0 else 'little'}."
    )
    return [
        ["visible" if draw == other else "hidden" for other in range(SHOWN)],
        ["visible" if i == draw and two else "hidden" for i in range(SHOWN)],
        x,
        y,
        f"M{x} {up(claim)}V{up(true)}",
        spread if name == "lower, smoothed" else f"M{x - 5:g} {up(claim)}h10",
        f"M{along(STEPS[step])} 270V400",
        text.replace("-", "\N{MINUS SIGN}"),
    ]


def drawing(
    critics: Critics, path: np.ndarray, said: dict[str, np.ndarray], first: list[Any]
) -> str:
    """Axes and all parts, as the first frame has them."""
    shown, second, x, y, gap, around, now, _ = first
    actions = np.linspace(-1, 1, 101)
    values = critics.value(np.tile(actions, (DRAWS, 1)))
    groups = "".join(
        f'<g class="draw" visibility="{shown[i]}">'
        f'<path class="blue line" d="{curve(actions, values[i, 0])}"/>'
        f"{dots(critics.action[i], critics.reward[i])}</g>"
        f'<path class="second blue line dashed" visibility="{second[i]}"'
        f' d="{curve(actions, values[i, 1])}"/>'
        for i in range(SHOWN)
    )
    return (
        f'{axes()}<path class="ink line" d="{curve(actions, worth(actions))}"/>'
        f'{groups}<path class="gap red line" d="{gap}"/>'
        f'<path class="around red line" d="{around}"/>'
        f'<circle class="actor ink line" cx="{x}" cy="{y}" r="5"/>'
        f'{means(path, said)}<path class="now axis dotted" d="{now}"/>'
    )


def means(path: np.ndarray, said: dict[str, np.ndarray]) -> str:
    """The lower picture: what targets say, and what is true, on average."""
    lines = {name: of.mean(1) for name, of in said.items()}
    lines["truth"] = worth(path).mean(1)
    parts = []
    for (name, line), x in zip(lines.items(), (48, 148, 264, 402), strict=True):
        points = zip(STEPS, line, strict=True)
        parts.append(
            f'<path class="{LOOKS[name]} line" d="M'
            + "L".join(f"{along(step)} {high(value)}" for step, value in points)
            + f'"/><path class="{LOOKS[name]} line" d="M{x} 252h24"/>'
            f'<text x="{x + 30}" y="256">{name}</text>'
        )
    return "".join(parts)


def axes() -> str:
    """Both pictures' axes."""
    parts = [f'<path class="axis" d="M{LEFT} {up(LOWEST)}H{RIGHT}V{up(LOWEST)}"/>']
    for mark in np.linspace(-1, 1, 5):
        parts.append(tick(across(mark), up(LOWEST), f"{mark:g}"))
    for mark in (0.0, 1.0):
        parts.append(side(up(mark), f"{mark:g}"))
    parts.append(
        f'<text x="{(LEFT + RIGHT) / 2}" y="{up(LOWEST) + 34}" text-anchor="middle">'
        f"action</text>"
    )
    parts.append(f'<path class="axis" d="M{LEFT} 270V400H{RIGHT}"/>')
    for mark in range(0, 41, 10):
        parts.append(tick(along(mark), 400, str(mark)))
    for mark in (0.8, 1.0, 1.2):
        parts.append(side(high(mark), f"{mark:g}"))
    parts.append(
        f'<text x="{(LEFT + RIGHT) / 2}" y="434" text-anchor="middle">'
        f"gradient steps of the actor</text>"
    )
    return "".join(parts).replace(">-", ">\N{MINUS SIGN}")


def tick(x: float, y: float, text: str) -> str:
    """A mark below a horizontal axis."""
    return (
        f'<path class="axis" d="M{x} {y}v4"/>'
        f'<text x="{x}" y="{y + 17:g}" text-anchor="middle">{text}</text>'
    )


def side(y: float, text: str) -> str:
    """A mark beside a vertical axis."""
    return (
        f'<path class="axis" d="M{LEFT} {y}h-4"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end">{text}</text>'
    )


def dots(actions: np.ndarray, rewards: np.ndarray) -> str:
    """What was seen."""
    return "".join(
        f'<circle class="dot" cx="{across(a)}" cy="{up(r)}" r="3.5"/>'
        for a, r in zip(actions, rewards, strict=True)
    )


def curve(actions: np.ndarray, values: np.ndarray) -> str:
    """A line over all actions, where it is inside of the picture."""
    shown = (values > LOWEST) & (values < HIGHEST)
    parts, pen = [], "M"
    for action, value, inside in zip(actions, values, shown, strict=True):
        if inside:
            parts.append(f"{pen}{across(action)} {up(value)}")
        pen = "L" if inside else "M"
    return "".join(parts)


def across(action: float) -> float:
    """Pixels of an action."""
    return round(LEFT + (RIGHT - LEFT) * (float(action) + 1) / 2, 1)


def up(value: float) -> float:
    """Pixels of a value in the upper picture."""
    return round(206 - 196 * (float(value) - LOWEST) / (HIGHEST - LOWEST), 1)


def along(step: float) -> float:
    """Pixels of a number of steps."""
    return round(LEFT + (RIGHT - LEFT) * step / STEPS[-1], 1)


def high(value: float) -> float:
    """Pixels of a value in the lower picture."""
    return round(400 - 130 * (float(value) - LEAST) / (MOST - LEAST), 1)
