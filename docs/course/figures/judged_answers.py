"""Chapter 19's figure: what a judge makes of six answers, as beta falls.

For a judge's score `r` the best policy is `reference exp(r / beta)`, normalised. With
every beta it has a divergence from the reference, a learned and a true reward.
"""

from typing import Any

import numpy as np

from . import drawing as svg
from .drawing import Frame, Scale

REFERENCE = np.array([0.30, 0.25, 0.20, 0.15, 0.09, 0.01])
"""Probabilities of the answers 42, 43, 32, 52, 4 and 4222."""
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


def best(score: np.ndarray, beta: float) -> tuple[np.ndarray, float, float, float]:
    """The best policy for scores `[A]` less beta times the divergence.

    Returns:
        The policy, `[A]`; its divergence from the reference, learned and true reward.
    """
    pi = REFERENCE * np.exp((score - score.max()) / beta)
    pi = pi / pi.sum()
    some = pi > 0
    divergence = (pi[some] * np.log(pi[some] / REFERENCE[some])).sum()
    return pi, float(divergence), float(pi @ score), float(pi @ TRUE)


def figure() -> dict[str, Any]:
    """All frames: a beta and a judge each."""
    return svg.figure(
        size=(480, 352),
        svg=drawing(),
        controls={"β": svg.labelled(BETAS, "g"), "judge": svg.labelled(JUDGES)},
        start=("0.35", "few pairs"),
        frame=frame,
    )


def frame(beta: float, judge: str) -> Frame:
    """One choice."""
    score = JUDGES[judge]
    pi, divergence, learned, true = best(score, beta)
    _, ds, *rewards = zip(*(best(score, b) for b in BETAS), strict=True)
    tops = [SHARE(p) for p in pi]
    said = (
        f"β = {beta:g}, judge: {judge}. {divergence:.2f} nats from the reference;"
        f" learned reward {learned:.2f}, true reward {true:.2f}."
    )
    return {
        "now y": tops,
        "now height": [round(SHARE.begin - top, 1) for top in tops],
        "learned d": svg.curve(ds, rewards[0], DIVERGENCE, REWARD),
        "true d": svg.curve(ds, rewards[1], DIVERGENCE, REWARD),
        "at cx": DIVERGENCE(divergence),
        "at cy": REWARD(true),
        "says text": said,
    }


def drawing() -> str:
    """The reference, and the bars beside it that frames raise."""
    bars = ""
    for k, share in enumerate(REFERENCE):
        x, top = PLACE(k + 0.2), SHARE(share)
        bars += svg.box("now dot", x, "", 24, "")
        bars += svg.box("axis", x + 28, top, 16, round(SHARE.begin - top, 1))
    return svg.drawn("judged_answers", bars=bars)
