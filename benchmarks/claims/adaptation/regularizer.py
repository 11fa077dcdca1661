"""What the regulariser does to what is inferred, for both networks that infer."""

from typing import Any

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some
from yieldrl.benchmarks.scores import curve, text
from yieldrl.benchmarks.style import COLORS, INK, line
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

from . import learning
from .compared import FALLS, STUDENT, errors, left
from .inference import LATE, SOON
from .learning import returns_of
from .worlds import RANGES, WORLDS

# without the regulariser the teacher may encode what cannot be inferred
FREE = {"regularizer_coef": 0.0}
GRU = {"adaptation": "gru", "gru_size": 64}
SIDES: dict[str, dict[str, Any]] = {
    "mlp": {"adaptation": "mlp"},
    "mlp, free": {"adaptation": "mlp", **FREE},
    "gru": GRU,
    "gru, free": {**GRU, **FREE},
}
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

WORLD = WORLDS["pendulum"]


def train(side: str, seed: int) -> dict[str, Any]:
    run = learning.train("roa", seed, WORLD, **SIDES[side])
    return {"side": side, "seed": seed, **run}


def judge(runs: Runs) -> list[Demand]:
    return [
        at_most(f"{WORDS[side]}: {FALLS}", left(some(runs, side=side)), 0.9)
        for side in SIDES
    ]


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side, words in WORDS.items():
        of = some(runs, side=side)
        row = [words, *(text(errors(of, *which), 2) for which in COLUMNS.values())]
        row.append(text(returns_of(of, "teacher", "training")))
        row += [text(returns_of(of, STUDENT, name)) for name in RANGES]
        rows.append([*row, f"{mean(of, 'seconds'):.0f}"])
    header = ["adaptation", *COLUMNS, "teacher", "student", "student, held out"]
    return [*header, "seconds"], rows


def draw(axes: Any, runs: Runs) -> None:
    for color, (side, words) in zip(COLORS, WORDS.items(), strict=False):
        of = some(runs, side=side)
        found = [run["errors"]["training"]["parameters"] for run in of]
        line(axes, curve(words, found), color, "--" if "free" in side else "-")
    label = "the same guess in every episode"
    axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=":", label=label)
    axes.set_ylim(bottom=0)


CLAIMS = [
    Trial(
        name="adaptation-regularizer",
        statement=(
            "What a student infers of a pendulum's mass and length, by an MLP over a"
            " window or a GRU, with the regulariser and without it."
        ),
        settings={"env_id": WORLD.env_id, **WORLD.settings}
        | {"episodes": learning.EPISODES, "sides": SIDES},
        run=train,
        cases=[{"side": side} for side in SIDES],
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "What is inferred of HiddenPendulum-v1",
            "xlabel": "steps of the episode that the student has seen",
            "ylabel": "error of the parameters, in variances",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
