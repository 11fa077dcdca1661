"""What the regulariser does to what is inferred, for both networks that infer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from yieldrl.benchmarks.scores import curve, text
from yieldrl.benchmarks.style import COLORS, INK, line
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, at_most, each

from . import learning
from .compared import FALLS, STUDENT, errors, left
from .inference import LATE, SOON
from .learning import returns_of
from .worlds import RANGES, WORLDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORLD = "pendulum"

SIDES: dict[str, dict[str, Any]] = {
    "mlp": {"adaptation": "mlp"},
    "mlp, free": {"adaptation": "mlp", "regularizer_coef": 0.0},
    "gru": {"adaptation": "gru", "gru_size": 64},
    "gru, free": {"adaptation": "gru", "gru_size": 64, "regularizer_coef": 0.0},
}
"""Without the regulariser the teacher is free to encode what nobody can infer."""

WORDS = {
    "mlp": "MLP over a window",
    "mlp, free": "MLP, without the regulariser",
    "gru": "GRU",
    "gru, free": "GRU, without the regulariser",
}

COLUMNS = {
    "error of the latent, steps 17 to 50": ("latent", SOON),
    "of the parameters": ("parameters", SOON),
    "of the parameters, 51 to 100": ("parameters", LATE),
}


def train(side: str, seed: int) -> dict[str, Any]:
    """One way of adapting, in this process."""
    run = learning.train("roa", seed, WORLDS[WORLD], **SIDES[side])
    return {"side": side, "seed": seed, **run}


def measure(options: Options) -> list[dict[str, Any]]:
    """Every way and seed."""
    seeds = range(1, options.seeds + 1)
    cases = [{"side": side, "seed": seed} for seed in seeds for side in SIDES]
    return each(train, cases, options.jobs)


def of_side(runs: Sequence[Run], side: str) -> list[Run]:
    """The runs of one side, of every seed."""
    return [run for run in runs if run["side"] == side]


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """The longer one looks, the better. What the regulariser does is shown."""
    return [
        at_most(f"{WORDS[side]}: {FALLS}", left(of_side(runs, side)), 0.9)
        for side in SIDES
    ]


def table(runs: Sequence[Run]) -> Table:
    """Errors in episodes of the training range, and returns of teacher and student."""
    rows: list[list[str]] = []
    for side, words in WORDS.items():
        of = of_side(runs, side)
        row = [words, *(text(errors(of, *which), 2) for which in COLUMNS.values())]
        row.append(text(returns_of(of, "teacher", "training")))
        row += [text(returns_of(of, STUDENT, name)) for name in RANGES]
        rows.append([*row, f"{np.mean([run['seconds'] for run in of]):.0f}"])
    header = ["adaptation", *COLUMNS, "teacher", "student", "student, held out"]
    return [*header, "seconds"], rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """The parameters' error against time."""
    for color, (side, words) in zip(COLORS, WORDS.items(), strict=False):
        of = of_side(runs, side)
        found = [run["errors"]["training"]["parameters"] for run in of]
        line(axes, curve(words, found), color, "--" if "free" in side else "-")
    label = "the same guess in every episode"
    axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=":", label=label)
    axes.set_ylim(bottom=0)
    axes.set_title(f"What is inferred of {WORLDS[WORLD].env_id.partition('/')[2]}")
    axes.set_xlabel("steps of the episode that the student has seen")
    axes.set_ylabel("error of the parameters, in variances")


TRIAL = Trial(
    statement="What a student infers of a pendulum's mass and length, by an MLP over a"
    " window or a GRU, with the regulariser and without it.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={
        "env_id": WORLDS[WORLD].env_id,
        **WORLDS[WORLD].settings,
        "episodes": learning.EPISODES,
        "sides": SIDES,
    },
)
