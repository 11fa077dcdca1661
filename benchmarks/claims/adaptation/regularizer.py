"""What the regulariser does to what is inferred, for both networks that infer."""

from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.claim import Run, Table, Verdict, at_most, constants, mean
from yieldrl.benchmarks.scores import curve, text
from yieldrl.benchmarks.style import COLORS, INK, line

from . import learning
from .compared import FALLS, STUDENT, errors, left
from .inference import LATE, SOON
from .learning import returns_of
from .worlds import RANGES, WORLDS

SIDES, WORDS = constants("adaptation/regularizer", "SIDES", "WORDS")

CASES = [{"side": side} for side in SIDES]

COLUMNS = {
    "error of the latent, steps 17 to 50": ("latent", SOON),
    "of the parameters": ("parameters", SOON),
    "of the parameters, 51 to 100": ("parameters", LATE),
}

WORLD = WORLDS["pendulum"]
SETTINGS = {"env_id": WORLD.env_id, **WORLD.settings}
SETTINGS |= {"episodes": learning.EPISODES, "sides": SIDES}


def train(side: str, seed: int) -> dict[str, Any]:
    run = learning.train("roa", seed, WORLDS["pendulum"], **SIDES[side])
    return {"side": side, "seed": seed, **run}


def of_side(runs: Sequence[Run], side: str) -> list[Run]:
    """The runs of one side, of every seed."""
    return [run for run in runs if run["side"] == side]


def judge(runs: Sequence[Run]) -> list[Verdict]:
    return [
        at_most(f"{WORDS[side]}: {FALLS}", left(of_side(runs, side)), 0.9)
        for side in SIDES
    ]


def table(runs: Sequence[Run]) -> Table:
    rows: list[list[str]] = []
    for side, words in WORDS.items():
        of = of_side(runs, side)
        row = [words, *(text(errors(of, *which), 2) for which in COLUMNS.values())]
        row.append(text(returns_of(of, "teacher", "training")))
        row += [text(returns_of(of, STUDENT, name)) for name in RANGES]
        rows.append([*row, f"{mean(of, 'seconds'):.0f}"])
    header = ["adaptation", *COLUMNS, "teacher", "student", "student, held out"]
    return [*header, "seconds"], rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, (side, words) in zip(COLORS, WORDS.items(), strict=False):
        of = of_side(runs, side)
        found = [run["errors"]["training"]["parameters"] for run in of]
        line(axes, curve(words, found), color, "--" if "free" in side else "-")
    label = "the same guess in every episode"
    axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=":", label=label)
    axes.set_ylim(bottom=0)
