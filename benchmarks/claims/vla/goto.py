"""Does a policy do what it is told? Cloned, improved, and told what means nothing."""

from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some, spread, values
from yieldrl.benchmarks.style import INK, lines
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least, at_most

from .learning import AXES, GOTO, learned
from .obedience import EPISODES, TOLD, obedience
from .policies import POLICIES

CHANCE = 1 / 3  # of three objects one is rewarded


def train(side: str, seed: int) -> dict[str, Any]:
    run = learned(side, vla_ppo.Config(**GOTO, seed=seed), obedience)
    return {"side": side, "seed": seed, **run}


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in POLICIES:
        of = some(runs, side=side)
        for when, taken in (("cloned", "clone_seconds"), ("improved", "ppo_seconds")):
            found = [spread(values(of, when, told)) for told in TOLD]
            sizes = f"{of[0]['parameters']:,}", f"{mean(of, taken):.0f}"
            rows.append([side, when, *found, *sizes])
    return ["policy", "", *TOLD, "parameters", "seconds"], rows


def judge(runs: Runs) -> list[Demand]:
    """The instruction matters to the VLA, and PPO improves what was cloned."""
    vla = some(runs, side="vla")
    seen, misled = (mean(vla, "improved", told) for told in ("seen", "misled"))
    words = "VLA improved, told what means nothing (chance 1/3)"
    return [
        at_least(
            "VLA improved, success that the sentence is worth", seen - misled, 0.2
        ),
        at_least("VLA, success gained by PPO", seen - mean(vla, "cloned", "seen"), 0.0),
        at_most(words, misled, CHANCE + 0.05),
    ]


def draw(axes: Any, runs: Runs) -> None:
    lines(axes, {side.upper(): values(runs, "curve", side=side) for side in POLICIES})
    label = "who does not listen, at best"
    axes.axhline(CHANCE, color=INK, linewidth=0.9, linestyle="--", label=label)


CLAIMS = [
    Trial(
        name="vla-goto",
        statement=(
            "A policy that sees a picture and is told in words where to go: cloned from"
            " an expert, then improved by PPO, and how often it succeeds."
        ),
        settings={**GOTO, "episodes": EPISODES},
        run=train,
        cases=[{"side": side} for side in POLICIES],
        table=table,
        judge=judge,
        draw=draw,
        axes={"title": "GoTo seen as images, told in words", **AXES},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
