"""Chapter 10's first figure: PPO's objective and its gradient, over the ratio.

For a transition whose advantage is +1, and for one whose advantage is -1. Objective and
gradient are those of the library's own `ppo.Algorithm.surrogate`.
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


class Panel(NamedTuple):
    """One of the two halves: an advantage and its axes, which `ppo_clip.svg` draws."""

    advantage: int
    across: Scale  # of the ratio
    up: Scale  # of the objective
    low: Scale  # of the gradient


PANELS = (
    Panel(1, Scale(0, 2, 46, 226), Scale(0, 1, 202, 118), Scale(0, 1, 290, 244)),
    Panel(-1, Scale(0, 2, 288, 468), Scale(0, 1, 34, -50), Scale(0, 1, 244, 198)),
)


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
    """Both panels for a ratio and an epsilon; lines are straight between corners."""
    corners = (0, 1 - epsilon, 1 + epsilon, 2)
    between = tuple((a + b) / 2 for a, b in pairwise(corners))
    halves, said = [], f"Ratio {ratio:.2f}, ε = {epsilon:g}"
    for panel in PANELS:
        (objective,), (slope,) = surrogate((ratio,), epsilon, panel)
        ys, _ = surrogate(corners, epsilon, panel)
        _, slopes = surrogate(between, epsilon, panel)
        left, begin, end, right = map(panel.across, corners)
        one, two, three = map(panel.low, slopes)
        x, y, way = panel.across(ratio), panel.up(objective), 1 if slope > 0 else -1
        push = f"M{x} {y}h{26 * way}m{-8 * way} -5l{8 * way} 5l{-8 * way} 5"
        halves.append(
            {
                "interval x": begin,
                "interval width": round(end - begin, 1),
                "curve d": svg.curve(corners, ys, panel.across, panel.up),
                "slope d": f"M{left} {one}V{one}H{begin}V{two}H{end}V{three}H{right}",
                "now d": f"M{x} 28V294",
                "ring cx": x,
                "ring cy": y,
                "ring visibility": "hidden" if slope else "visible",
                "push d": push if slope else "",
            }
        )
        said += (
            f". Â = {panel.advantage:+d}: objective {svg.signed(objective, '.2f')},"
            f" gradient {svg.signed(slope, '.0f')}"
        )
    return svg.each(halves) | {"says text": svg.minus(f"{said}.")}
