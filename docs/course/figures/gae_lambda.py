"""Chapter 9's figure: what lambda does to the spread and the error of an estimate.

A frozen lake, its best policy with every fifth action at random, and three critics. The
estimate is that of the return from the start, `A_0 + V(s_0)`. Its mean and its standard
deviation are exact: the lake's table is known, so both solve linear equations. The dots
are episodes, estimated by the library's own `gae`.
"""

from typing import Any

import numpy as np

from . import drawing as svg
from .drawing import Frame, Scale
from .frozen_lake import Lake

LAMBDAS = [round(0.05 * k, 2) for k in range(21)]
CRITICS = {"untrained": 0, "young": 10, "exact": 10_000}
"""Critic -> sweeps of Bellman's equation that it has seen, from zeros."""
EPISODES = 80
LOOKS = ("blue dashed", "red dotted", "ink")  # bias, standard deviation, error
ACROSS, UP = Scale(0, 1, 40, 460), Scale(0, 0.4, 364, 230)


def figure() -> dict[str, Any]:
    """All frames: a lambda and a critic each."""
    lake, rng = Lake(), np.random.default_rng(9)
    episodes = [lake.episode(rng) for _ in range(EPISODES)]

    def frame(gae_lambda: float, name: str) -> Frame:
        value = lake.critic(CRITICS[name])
        mean, std = lake.moments(value, gae_lambda)
        bias = round(mean - lake.truth[0], 3)
        said = (
            f"λ = {gae_lambda:.2f}, {name} critic: bias {bias:+z.3f}, standard"
            f" deviation {std:.3f}, error {np.hypot(bias, std):.3f}."
        )
        dots = lake.estimates(episodes, value, gae_lambda)
        low, high = ACROSS(max(0, mean - std)), ACROSS(min(1, mean + std))
        return {
            "dot cx": [round(ACROSS(of)) for of in dots],
            "mean d": f"M{ACROSS(mean)} 24V142",
            "spread d": f"M{low} 150H{high}",
            "now d": f"M{ACROSS(gae_lambda)} 226V364",
            "curves visibility": svg.visible(name == other for other in CRITICS),
            "says text": said.replace(" -", " \N{MINUS SIGN}"),
        }

    return svg.figure(
        size=(480, 400),
        svg=drawing(lake),
        controls={
            "λ": svg.labelled(LAMBDAS, ".2f"),
            "critic": svg.labelled(CRITICS),
        },
        start=("0.80", "young"),
        frame=frame,
    )


def drawing(lake: Lake) -> str:
    """The truth, dots for the episodes, and all curves of each critic."""
    truth, groups = lake.truth[0], ""
    for sweeps in CRITICS.values():
        value = lake.critic(sweeps)
        means, spreads = np.array([lake.moments(value, lam) for lam in LAMBDAS]).T
        rows = np.abs(means - truth), spreads, np.hypot(means - truth, spreads)
        curves = svg.curves(LOOKS, LAMBDAS, rows, ACROSS, UP)
        groups += svg.tag("g", curves, class_="curves")
    dots = "".join(svg.dot("dot", y=34 + 8 * (i * 5 % 14)) for i in range(EPISODES))
    return svg.drawn(
        "gae_lambda", x=ACROSS(truth), truth=truth, dots=dots, curves=groups
    )
