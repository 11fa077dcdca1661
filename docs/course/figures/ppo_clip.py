"""Chapter 10's first figure: PPO's objective and its gradient, over the ratio.

Of one transition whose advantage is +1, and of one whose advantage is -1. Objective and
gradient are those of the library's own `Clip.surrogate`.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import torch

from yieldrl.algorithms import ppo
from yieldrl.algorithms.ppo.correction import Clip

RATIOS = tuple(round(0.05 * k, 2) for k in range(41))
EPSILONS = [0.1, 0.2, 0.3]
WIDTH, TOP, BOTTOM = 180, 28, 302  # of a panel, in pixels
CAPTION = """\
Left: an action that was better than expected. Right: one that was worse. Above: solid,
the clipped objective; dashed, the ratio times the advantage; grey, the interval from
1 &minus; ε to 1 + ε. The arrow says where the gradient moves the ratio, a ring that it
moves it nowhere. Below: that gradient, for every ratio."""


class Panel(NamedTuple):
    """One of the two halves: an advantage, and where its axes are, in pixels."""

    name: str
    advantage: int
    left: int
    zero: int  # of the objective
    flat: int  # zero of the gradient

    def across(self, ratio: float) -> float:
        """Pixels of a ratio between 0 and 2."""
        return round(self.left + WIDTH * ratio / 2, 1)

    def up(self, objective: float) -> float:
        """Pixels of an objective."""
        return round(self.zero - 84 * objective, 1)

    def low(self, gradient: float) -> float:
        """Pixels of a gradient."""
        return round(self.flat - 46 * gradient, 1)


PANELS = (
    Panel("better than expected: Â = +1", 1, left=46, zero=202, flat=290),
    Panel("worse than expected: Â = \N{MINUS SIGN}1", -1, left=288, zero=34, flat=244),
)


def figure() -> dict[str, Any]:
    """All frames: a ratio and an epsilon each."""
    shown = [frame(ratio, epsilon) for ratio in RATIOS for epsilon in EPSILONS]
    start = (RATIOS.index(1.5), EPSILONS.index(0.2))
    return {
        "title": "PPO's clipped objective and its gradient, of a good and a bad action",
        "caption": CAPTION,
        "size": (480, 326),
        "svg": drawing(shown[start[0] * len(EPSILONS) + start[1]]),
        "controls": {
            "ratio": [f"{ratio:.2f}" for ratio in RATIOS],
            "ε": [f"{epsilon:g}" for epsilon in EPSILONS],
        },
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".interval", "x"), (".interval", "width"), (".curve", "d"), (".slope", "d")]
PARTS += [(".now", "d"), (".ring", "cx"), (".ring", "cy"), (".ring", "visibility")]
PARTS += [(".push", "d"), (".says", "text")]


@cache
def surrogate(
    ratios: tuple[float, ...], epsilon: float, panel: Panel
) -> tuple[list[float], list[float]]:
    """Objective and gradient at some ratios, as the library has them."""
    ratio = torch.tensor(ratios, dtype=torch.float64, requires_grad=True)
    clip = Clip(ppo.Config(clip_coef=epsilon))
    objective = clip.surrogate(ratio, torch.full_like(ratio, panel.advantage))
    objective.sum().backward()
    assert ratio.grad is not None
    return objective.tolist(), ratio.grad.tolist()


def frame(ratio: float, epsilon: float) -> list[Any]:
    """The values of `PARTS` for a ratio and an epsilon."""
    at, asked = RATIOS.index(ratio), [surrogate(RATIOS, epsilon, p) for p in PANELS]
    objectives, slopes = (
        [column[at] for column in of] for of in zip(*asked, strict=True)
    )
    xs = [panel.across(ratio) for panel in PANELS]
    ys = [panel.up(y) for panel, y in zip(PANELS, objectives, strict=True)]
    said = ". ".join(
        f"Â = {panel.advantage:+d}: objective {signed(y, '.2f')}, gradient"
        f" {signed(slope, '.0f')}"
        for panel, y, slope in zip(PANELS, objectives, slopes, strict=True)
    )
    lines = [curves(epsilon, panel) for panel in PANELS]
    return [
        [panel.across(1 - epsilon) for panel in PANELS],
        round(epsilon * WIDTH, 1),
        [objective for objective, _ in lines],
        [gradient for _, gradient in lines],
        [f"M{x} {TOP}V{BOTTOM - 8}" for x in xs],
        xs,
        ys,
        ["hidden" if slope else "visible" for slope in slopes],
        [arrow(*of) for of in zip(xs, ys, slopes, strict=True)],
        f"Ratio {ratio:.2f}, ε = {epsilon:g}. {said}.".replace("-", "\N{MINUS SIGN}"),
    ]


def curves(epsilon: float, panel: Panel) -> tuple[str, str]:
    """Lines of the objective, straight between its corners, and of its gradient."""
    corners = (0, 1 - epsilon, 1 + epsilon, 2)
    xs, ys = list(map(panel.across, corners)), surrogate(corners, epsilon, panel)[0]
    points = zip(xs, map(panel.up, ys), strict=True)
    objective = "M" + "L".join(f"{x} {y}" for x, y in points)
    between = tuple((a + b) / 2 for a, b in pairwise(corners))
    levels = [panel.low(slope) for slope in surrogate(between, epsilon, panel)[1]]
    steps = "".join(f"V{y}H{x}" for y, x in zip(levels, xs[1:], strict=True))
    return objective, f"M{xs[0]} {levels[0]}{steps}"


def drawing(first: list[Any]) -> str:
    """Axes and all parts, as the first frame has them."""
    starts, width, *parts, _ = first
    drawn = ""
    for panel, start, *own in zip(PANELS, starts, *parts, strict=True):
        curve, slope, now, x, y, seen, push = own
        middle, end = panel.left + WIDTH / 2, panel.up(2 * panel.advantage)
        drawn += (
            f'<rect class="interval band" x="{start}" y="{TOP}" width="{width}"'
            f' height="{BOTTOM - 8 - TOP}"/>'
            f'<text x="{middle}" y="16" text-anchor="middle">{panel.name}</text>'
            f'{axes(panel)}<path class="now axis dotted" d="{now}"/>'
            f'<path class="blue line dashed" d="M{panel.left} {panel.zero}'
            f'L{panel.across(2)} {end}"/><path class="curve ink line" d="{curve}"/>'
            f'<path class="slope ink line" d="{slope}"/>'
            f'<circle class="ring red line" cx="{x}" cy="{y}" r="6"'
            f' visibility="{seen}"/><path class="push red line" d="{push}"/>'
        )
    return drawn


def axes(panel: Panel) -> str:
    """The axes of a panel, of the objective above and of its gradient below."""
    sign, left = panel.advantage, panel.left
    heights = [(panel.up(sign * y), sign * y) for y in (0, 1, 2)]
    heights += [(panel.low(0), 0), (panel.low(sign), sign)]
    marks = "".join(
        f'<path class="axis" d="M{left} {y}h-4"/><text x="{left - 7}" y="{y + 4}"'
        f' text-anchor="end">{signed(value, "d")}</text>'
        for y, value in heights
    )
    marks += "".join(
        f'<text x="{panel.across(x)}" y="{BOTTOM + 8}" text-anchor="middle">'
        f"{x:g}</text>"
        for x in (0, 0.5, 1, 1.5, 2)
    )
    over, under = panel.up(2 * sign), panel.low(sign)
    names = ((over + 12, "objective"), (panel.flat - 6, "gradient"))
    if sign < 0:  # its lines begin at the top, and go down
        names = (
            (max(over, panel.zero) - 6, "objective"),
            (panel.flat + 16, "gradient"),
        )
    texts = "".join(f'<text x="{left + 6}" y="{y}">{name}</text>' for y, name in names)
    return (
        f'<path class="axis" d="M{left} {panel.zero}V{over}M{left} {panel.zero}h{WIDTH}'
        f'M{left} {panel.flat}V{under}M{left} {panel.flat}h{WIDTH}"/>{marks}{texts}'
        f'<text x="{left + WIDTH / 2}" y="{BOTTOM + 22}" text-anchor="middle">'
        "ratio</text>"
    )


def arrow(x: float, y: float, slope: float) -> str:
    """An arrow to the side to which the gradient moves the ratio, or nothing."""
    if not slope:
        return ""
    way = 1 if slope > 0 else -1
    return f"M{x} {y}h{26 * way}m{-8 * way} -5l{8 * way} 5l{-8 * way} 5"


def signed(number: float, spec: str) -> str:
    """A number with its sign, none before a zero."""
    text = f"{number:+{spec}}"
    return (text if float(text) else text[1:]).replace("-", "\N{MINUS SIGN}")
