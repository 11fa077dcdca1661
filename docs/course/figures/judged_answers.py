"""Chapter 19's figure: what a judge makes of six answers, as beta falls.

For a judge's score `r` the best policy is `reference exp(r / beta)`, normalised. With
every beta it has a divergence from the reference, a learned and a true reward.
"""

from typing import Any

import numpy as np

from . import drawing as svg
from .drawing import Frame, Scale

ANSWERS = ("42", "43", "32", "52", "4", "4222")
REFERENCE = np.array([0.30, 0.25, 0.20, 0.15, 0.09, 0.01])
TRUE = np.array([1.0, 0, 0, 0, 0, 0])
JUDGES = {
    "careful": TRUE,
    "last digit": np.array([1.0, 0, 1, 1, 0, 1]),
    "longer": np.array([2.0, 2, 2, 2, 1, 4]) / 4,
    "few pairs": np.array([1.0, 0.2, 0.1, 0.2, 0, 1.3]),
}
"""Judge -> its scores; the last one has hardly seen the last answer."""
BETAS = [10, 2, 1, 0.7, 0.5, 0.35, 0.25, 0.18, 0.13, 0.09, 0.06]
PLACE = Scale(0, 6, 48, 460)
SHARE, DIVERGENCE = Scale(0, 1, 142, 22), Scale(0, 4.8, 48, 460)
REWARD = Scale(0, 1.4, 316, 204)


def policy(score: np.ndarray, beta: float) -> np.ndarray:
    """The best policy for scores `[A]` less beta times the divergence, `[A]`."""
    weight = REFERENCE * np.exp((score - score.max()) / beta)
    return weight / weight.sum()


def outcome(score: np.ndarray, beta: float) -> tuple[float, float, float]:
    """Divergence from the reference, learned and true reward."""
    pi = policy(score, beta)
    some = pi > 0
    divergence = (pi[some] * np.log(pi[some] / REFERENCE[some])).sum()
    return float(divergence), float(pi @ score), float(pi @ TRUE)


def figure() -> dict[str, Any]:
    """All frames: a beta and a judge each."""
    return svg.figure(
        size=(480, 352),
        svg=drawing(),
        controls={"β": svg.labelled(BETAS, "g"), "judge": svg.labelled(JUDGES)},
        start=("0.35", "few pairs"),
        frame=lambda beta, judge: frame(beta, judge),
    )


def frame(beta: float, judge: str) -> Frame:
    """One choice."""
    score = JUDGES[judge]
    pi, (divergence, learned, true) = policy(score, beta), outcome(score, beta)
    along = [outcome(score, b) for b in BETAS]
    tops = [SHARE(p) for p in pi]
    said = (
        f"β = {beta:g}, judge: {judge}. {divergence:.2f} nats from the reference;"
        f" learned reward {learned:.2f}, true reward {true:.2f}."
    )
    return {
        "now y": tops,
        "now height": [round(SHARE.begin - top, 1) for top in tops],
        "learned d": svg.through([(d, r) for d, r, _ in along], DIVERGENCE, REWARD),
        "true d": svg.through([(d, t) for d, _, t in along], DIVERGENCE, REWARD),
        "at cx": DIVERGENCE(divergence),
        "at cy": REWARD(true),
        "says text": said,
    }


def drawing() -> str:
    """Bars, axes and curves."""
    bars, names = "", {}
    for k, share in enumerate(REFERENCE):
        x, top = PLACE(k + 0.2), SHARE(share)
        bars += svg.box("now dot", x, "", 24, "")
        bars += svg.box("axis", x + 28, top, 16, round(SHARE.begin - top, 1))
        names[k + 0.5] = ANSWERS[k]
    looks = {"blue dashed": "learned reward", "ink": "true reward"}
    return svg.parts(
        svg.x_axis(PLACE, 142, names),
        svg.y_axis(SHARE, 48, (0, 0.5, 1), "probability"),
        svg.x_axis(DIVERGENCE, 316, (0, 1, 2, 3, 4), "divergence in nats"),
        svg.y_axis(REWARD, 48, (0, 0.5, 1)),
        svg.legend(192, looks, (120, 300)),
        bars,
        svg.lines("learned blue line dashed", "true ink line"),
        svg.dot("at red line", r=6),
    )
