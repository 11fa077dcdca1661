"""Chapter 11's figure: an actor that climbs a false peak of its critic.

One state, one action between -1 and 1, and a reward with noise. The actor follows the
deterministic policy gradient up the first of two critics (`fitted_critics.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import drawing as svg
from .drawing import Frame, Scale
from .fitted_critics import DRAWS, STEPS, TARGETS, Critics, climb, worth

SHOWN, FIRST = 5, 1
"""How many draws can be looked at, and which is shown first."""
LOOKS = {"blue": "one critic", "blue dashed": "lower of two"}
LOOKS |= {"red dotted": "lower, smoothed", "ink": "truth"}
ACTION, VALUE = Scale(-1, 1, 48, 460), Scale(-0.8, 1.6, 206, 10)
STEP, MEAN = Scale(0, STEPS[-1], 48, 460), Scale(0.75, 1.25, 400, 270)


def figure() -> dict[str, Any]:
    """All frames: gradient steps, a draw and a target each."""
    critics = Critics()
    path = climb(critics)[STEPS]
    said = {
        name: np.array([target(critics, action) for action in path])
        for name, target in TARGETS.items()
    }
    return svg.figure(
        size=(480, 440),
        svg=drawing(critics, path, said),
        controls={
            "steps": {str(step): i for i, step in enumerate(STEPS)},
            "draw": {str(draw + 1): draw for draw in range(SHOWN)},
            "target": svg.labelled(TARGETS),
        },
        start=("22", str(FIRST + 1), "one critic"),
        frame=lambda step, draw, name: frame(step, draw, name, path, said),
    )


def frame(
    step: int, draw: int, name: str, path: np.ndarray, said: dict[str, np.ndarray]
) -> Frame:
    """One number of steps, one draw and one target."""
    action, claim = path[step, draw], said[name][step, draw]
    true, mean = worth(action), (said[name][step] - worth(path[step])).mean()
    x, y = ACTION(action), VALUE(claim)
    left, right = map(ACTION, np.clip([action - 0.2, action + 0.2], -1, 1))
    text = (
        f"After {STEPS[step]} steps, {name}: the target says {claim:.2f}, the action is"
        f" worth {true:.2f}. On average over all draws it says {abs(mean):.2f} too"
        f" {'much' if mean > 0 else 'little'}."
    )
    chosen, two = [draw == i for i in range(SHOWN)], name != "one critic"
    around = f"M{left} {y}H{right}" if "smoothed" in name else f"M{x - 5:g} {y}h10"
    return {
        "draw visibility": svg.visible(chosen),
        "second visibility": svg.visible(is_chosen and two for is_chosen in chosen),
        "actor cx": x,
        "actor cy": VALUE(said["one critic"][step, draw]),
        "gap d": f"M{x} {y}V{VALUE(true)}",
        "around d": around,
        "now d": f"M{STEP(STEPS[step])} 270V400",
        "says text": svg.minus(text),
    }


def drawing(critics: Critics, path: np.ndarray, said: dict[str, np.ndarray]) -> str:
    """Axes, critics, the actor, and below what is so on average."""
    actions = np.linspace(-1, 1, 101)
    values = critics.value(np.tile(actions, (DRAWS, 1)))
    draws = ""
    for i, (first, second) in enumerate(values[:SHOWN]):
        seen = zip(critics.action[i], critics.reward[i], strict=True)
        dots = "".join(svg.dot("dot", ACTION(a), VALUE(r), r=3.5) for a, r in seen)
        own = svg.line("blue line", inside(actions, first)) + dots
        draws += svg.tag("g", own, class_="draw")
        draws += svg.line("second blue line dashed", inside(actions, second))
    means = [*(of.mean(1) for of in said.values()), worth(path).mean(1)]
    lines = "".join(
        svg.line(f"{look} line", svg.curve(STEPS, of, STEP, MEAN))
        for look, of in zip(LOOKS, means, strict=True)
    )
    return svg.parts(
        svg.x_axis(ACTION, 206, np.linspace(-1, 1, 5), "action"),
        svg.y_axis(VALUE, 48, (0, 1)),
        svg.y_axis(MEAN, 48, (0.8, 1, 1.2)),
        svg.x_axis(STEP, 400, range(0, 41, 10), "gradient steps of the actor"),
        svg.line("ink line", inside(actions, worth(actions))),
        draws,
        svg.lines("gap red line", "around red line"),
        svg.dot("actor ink line", r=5),
        lines,
        svg.legend(256, LOOKS, (48, 148, 264, 402)),
        svg.line("now axis dotted"),
    )


def inside(actions: np.ndarray, values: np.ndarray) -> str:
    """A line over all actions, where it is inside of the picture."""
    parts, pen = [], "M"
    for action, value in zip(actions, values, strict=True):
        is_inside = VALUE.low < value < VALUE.high
        if is_inside:
            parts.append(f"{pen}{ACTION(action)} {VALUE(value)}")
        pen = "L" if is_inside else "M"
    return "".join(parts)
