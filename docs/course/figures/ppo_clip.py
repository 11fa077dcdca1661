"""Chapter 10's first figure: PPO's objective and its gradient, over the ratio.

For a transition whose advantage is +1, and for one whose advantage is -1. Objective and
gradient are those of the library's own `ppo.Algorithm.gain`.
"""

from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

from yieldrl.algorithms import ppo

from . import drawing as svg
from .drawing import Frame, Scale

RATIOS = tuple(round(0.05 * k, 2) for k in range(41))
EPSILONS = [0.1, 0.2, 0.3]
TOP, BOTTOM = 28, 294  # of a panel, in pixels


class Panel(NamedTuple):
    """One of the two halves: an advantage and its axes, which `ppo_clip.svg` draws."""

    advantage: int
    across: Scale  # of the ratio
    up: Scale  # of the objective
    low: Scale  # of the gradient


GOOD = Scale(0, 2, 46, 226), Scale(0, 1, 202, 118), Scale(0, 1, 290, 244)
BAD = Scale(0, 2, 288, 468), Scale(0, 1, 34, -50), Scale(0, 1, 244, 198)
PANELS = Panel(1, *GOOD), Panel(-1, *BAD)


def figure() -> dict[str, Any]:
    """All frames: a ratio and an epsilon each."""
    return svg.figure(
        size=(480, 326),
        svg=svg.drawn("ppo_clip"),
        controls={
            "ratio": svg.labelled(RATIOS, ".2f"),
            "ε": svg.labelled(EPSILONS, "g"),
        },
        start=("1.50", "0.2"),
        frame=frame,
    )


@cache
def surrogate(
    ratios: tuple[float, ...], epsilon: float, panel: Panel
) -> tuple[list[float], list[float]]:
    """Objective and gradient at some ratios, as the library has them."""
    ratio = torch.tensor(ratios, dtype=torch.float64, requires_grad=True)
    clip: Any = SimpleNamespace(config=ppo.Config(clip_coef=epsilon))
    advantage = torch.full_like(ratio, panel.advantage)
    objective = ppo.Algorithm.surrogate(clip, ratio, advantage)
    objective.sum().backward()
    assert ratio.grad is not None
    return objective.tolist(), ratio.grad.tolist()


def frame(ratio: float, epsilon: float) -> Frame:
    """Both panels for a ratio and an epsilon."""
    found = [(panel, *surrogate((ratio,), epsilon, panel)) for panel in PANELS]
    said = ". ".join(
        f"Â = {panel.advantage:+d}: objective {svg.signed(y, '.2f')}, gradient"
        f" {svg.signed(slope, '.0f')}"
        for panel, (y,), (slope,) in found
    )
    shown = svg.each(half(panel, ratio, epsilon) for panel in PANELS)
    return shown | {
        "says text": svg.minus(f"Ratio {ratio:.2f}, ε = {epsilon:g}. {said}.")
    }


def half(panel: Panel, ratio: float, epsilon: float) -> Frame:
    """One panel for a ratio and an epsilon; lines are straight between corners."""
    (y,), (slope,) = surrogate((ratio,), epsilon, panel)
    x, height = panel.across(ratio), panel.up(y)
    corners = (0, 1 - epsilon, 1 + epsilon, 2)
    xs, ys = list(map(panel.across, corners)), surrogate(corners, epsilon, panel)[0]
    between = tuple((a + b) / 2 for a, b in pairwise(corners))
    levels = [panel.low(of) for of in surrogate(between, epsilon, panel)[1]]
    steps = "".join(f"V{y}H{x}" for y, x in zip(levels, xs[1:], strict=True))
    return {
        "interval x": xs[1],
        "interval width": round(xs[2] - xs[1], 1),
        "curve d": svg.joined(zip(xs, map(panel.up, ys), strict=True)),
        "slope d": f"M{xs[0]} {levels[0]}{steps}",
        "now d": f"M{x} {TOP}V{BOTTOM}",
        "ring cx": x,
        "ring cy": height,
        "ring visibility": "hidden" if slope else "visible",
        "push d": arrow(x, height, slope),
    }


def arrow(x: float, y: float, slope: float) -> str:
    """An arrow to the side to which the gradient moves the ratio, or nothing."""
    if not slope:
        return ""
    way = 1 if slope > 0 else -1
    return f"M{x} {y}h{26 * way}m{-8 * way} -5l{8 * way} 5l{-8 * way} 5"
