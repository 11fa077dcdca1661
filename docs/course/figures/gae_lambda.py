"""Chapter 9's figure: what lambda does to the spread and the error of an estimate.

A frozen lake, its best policy with every fifth action at random, and three critics. The
estimate is that of the return from the start, `A_0 + V(s_0)`. Its mean and its standard
deviation are exact: the lake's table is known, so both solve linear equations. The dots
are episodes, estimated by the library's own `gae`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .frozen_lake import Lake

LAMBDAS = [round(0.05 * k, 2) for k in range(21)]
CRITICS = {"untrained": 0, "young": 10, "exact": 10_000}
"""Critic -> sweeps of Bellman's equation that it has seen, from zeros."""
EPISODES = 80
CAPTION = """\
Dots: what 80 episodes say the return from the start is. Solid line: the truth. Dashed:
the mean over all episodes; bar: one standard deviation either way. Below: both for
every λ, and the error that they make together, the root of bias² + variance."""
LEFT, RIGHT = 40, 460  # of both axes, in pixels
HIGHEST = 0.4  # on the lower axis


def figure() -> dict[str, Any]:
    """All frames: a lambda and a critic each."""
    lake, rng = Lake(), np.random.default_rng(9)
    episodes = [lake.episode(rng) for _ in range(EPISODES)]
    values = {name: lake.critic(sweeps) for name, sweeps in CRITICS.items()}
    shown = [
        frame(lake, episodes, gae_lambda, name, value)
        for gae_lambda in LAMBDAS
        for name, value in values.items()
    ]
    start = (LAMBDAS.index(0.8), list(CRITICS).index("young"))
    first = shown[start[0] * len(CRITICS) + start[1]]
    return {
        "title": "Bias and variance of an advantage estimate, for every lambda",
        "caption": CAPTION,
        "size": (480, 400),
        "svg": drawing(lake, values, first),
        "controls": {"λ": [f"{lam:.2f}" for lam in LAMBDAS], "critic": list(CRITICS)},
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".dot", "cx"), (".mean", "d"), (".spread", "d"), (".now", "d")]
PARTS += [(".curves", "visibility"), (".says", "text")]


def frame(
    lake: Lake,
    episodes: list[list[int]],
    gae_lambda: float,
    name: str,
    value: np.ndarray,
) -> list[Any]:
    """The values of `PARTS` for one lambda and one critic."""
    mean, std = lake.moments(value, gae_lambda)
    bias = round(mean - lake.truth[0], 3) + 0.0  # no minus before a zero
    said = (
        f"λ = {gae_lambda:.2f}, {name} critic: bias {bias:+.3f}, standard deviation"
        f" {std:.3f}, error {np.hypot(bias, std):.3f}."
    )
    dots = lake.estimates(episodes, value, gae_lambda)
    return [
        [round(across(dot)) for dot in dots],
        f"M{across(mean)} 24V142",
        f"M{across(max(0, mean - std))} 150H{across(min(1, mean + std))}",
        f"M{across(gae_lambda)} 226V364",
        ["visible" if name == other else "hidden" for other in CRITICS],
        said.replace(" -", " \N{MINUS SIGN}"),
    ]


def drawing(lake: Lake, values: dict[str, np.ndarray], first: list[Any]) -> str:
    """Axes and all parts, as the first frame has them."""
    dots, mean, spread, now, visible, _ = first
    circles = "".join(
        f'<circle class="dot" cx="{x}" cy="{34 + 8 * (i * 5 % 14)}" r="3.2"/>'
        for i, x in enumerate(dots)
    )
    groups = "".join(
        f'<g class="curves" visibility="{seen}">{curves(lake, value)}</g>'
        for value, seen in zip(values.values(), visible, strict=True)
    )
    truth = across(lake.truth[0])
    return (
        f'<path class="ink line" d="M{truth} 18V158"/>'
        f'<text x="{truth + 6}" y="16">truth: {lake.truth[0]:.2f}</text>'
        f"{axis(162, 'estimate of the return from the start')}{axis(364, 'λ')}"
        f'{heights()}{legend()}{circles}<path class="mean red line dashed" d="{mean}"/>'
        f'<path class="spread red line" d="{spread}"/>'
        f'<path class="now axis dotted" d="{now}"/>{groups}'
    )


def curves(lake: Lake, value: np.ndarray) -> str:
    """Bias, standard deviation and error of a critic, over all lambdas."""
    means, spreads = np.array([lake.moments(value, lam) for lam in LAMBDAS]).T
    bias = np.abs(means - lake.truth[0])
    lines = zip(LOOKS, (bias, spreads, np.hypot(bias, spreads)), strict=True)
    return "".join(f'<path class="{look} line" d="{path(ys)}"/>' for look, ys in lines)


LOOKS = {"blue dashed": "bias", "red dotted": "standard deviation", "ink": "error"}


def legend() -> str:
    """What the three lines below are."""
    return "".join(
        f'<path class="{look} line" d="M{x} 214h26"/>'
        f'<text x="{x + 32}" y="218">{name}</text>'
        for x, (look, name) in zip((40, 126, 306), LOOKS.items(), strict=True)
    )


def axis(y: int, name: str) -> str:
    """A horizontal axis from 0 to 1, with its name."""
    marks = "".join(
        f'<path class="axis" d="M{across(mark)} {y}v4"/>'
        f'<text x="{across(mark)}" y="{y + 16}" text-anchor="middle">{mark:g}</text>'
        for mark in np.linspace(0, 1, 5)
    )
    middle = (LEFT + RIGHT) / 2
    return (
        f'<path class="axis" d="M{LEFT} {y}H{RIGHT}"/>{marks}'
        f'<text x="{middle}" y="{y + 32}" text-anchor="middle">{name}</text>'
    )


def heights() -> str:
    """The vertical axis of the lower half."""
    marks = "".join(
        f'<path class="axis" d="M{LEFT} {up(mark)}h-4"/>'
        f'<text x="{LEFT - 7}" y="{up(mark) + 4}" text-anchor="end">{mark:g}</text>'
        for mark in (0.0, HIGHEST / 2, HIGHEST)
    )
    return f'<path class="axis" d="M{LEFT} {up(0)}V{up(HIGHEST)}"/>{marks}'


def across(x: float) -> float:
    """Pixels of a number between 0 and 1."""
    return round(LEFT + (RIGHT - LEFT) * float(x), 1)


def up(y: float) -> float:
    """Pixels of a height on the lower axis."""
    return round(364 - 134 * float(y) / HIGHEST, 1)


def path(ys: np.ndarray) -> str:
    """A line over all lambdas."""
    return "M" + "L".join(
        f"{across(x)} {up(y)}" for x, y in zip(LAMBDAS, ys, strict=True)
    )
