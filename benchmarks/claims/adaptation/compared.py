"""Teacher, student, blind, recurrent and told: the same budget, and two ranges."""

from functools import partial
from typing import Any

import numpy as np

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.scores import interval, iqm, text
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.subprocesses import each
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least, at_most

from . import inference, learning
from .learning import EPISODES, SIDES, by_chance, returns_of
from .worlds import RANGES, WORLDS

STUDENT = "student, finetune"

# policy whose return is measured -> the same in words
WORDS = {
    "oracle": "PPO that is told",
    "teacher": "teacher",
    "student, train": "student after train",
    "student, adapt": "student after adapt",
    STUDENT: "student after finetune",
    "lstm": "recurrent PPO, blind",
    "blind": "PPO, blind",
    "chance": "random actions",
}

FALLS = "error of the parameters in steps 17 to 50, in times of that in the first"

NAMES = {"training": "training range", "held_out": "held-out range"}


def train(name: str, side: str, seed: int) -> dict[str, Any]:
    run = learning.train(side, seed, WORLDS[name])
    return {"side": side, "seed": seed, **run}


def with_chance(seeds: int, jobs: int, name: str) -> list[dict[str, Any]]:
    cases = [
        {"name": name, "side": side, "seed": seed}
        for seed in range(1, seeds + 1)
        for side in SIDES
    ]
    chance = {"side": "chance", "returns": {"chance": by_chance(WORLDS[name])}}
    return [*each(train, cases, jobs), chance]


def middle(runs: Runs, policy: str, side: str) -> float:
    return float(iqm(returns_of(runs, policy, side)))


def above_blind(runs: Runs, policy: str, side: str) -> Demand:
    """Whether a policy has a higher interquartile mean than PPO that sees nothing."""
    value, bound = middle(runs, policy, side), middle(runs, "blind", side)
    demand = f"{WORDS[policy]}, {NAMES[side]}: above blind PPO"
    return {**at_least(demand, value, bound), "holds": value > bound}


def share(runs: Runs, side: str) -> float:
    """How far the student is on the way from random actions to the teacher."""
    low, high = middle(runs, "chance", side), middle(runs, "teacher", side)
    return (middle(runs, STUDENT, side) - low) / (high - low)


def errors(runs: Runs, what: str, when: slice, side: str = "training") -> np.ndarray:
    """Errors `[runs]` of what students inferred, means over some steps of episodes."""
    found = [run["errors"][side][what][when] for run in runs if "errors" in run]
    return np.array(found).mean(1)


def left(runs: Runs) -> float:
    """The parameters' error in steps 17 to 50, in times of that in the first, but of at
    most 1, that of a guess: a map that suits later steps may tell less of the first."""
    first, soon = (errors(runs, "parameters", of) for of in (slice(1), inference.SOON))
    return float(iqm(soon) / min(1.0, iqm(first)))


def judge(runs: Runs) -> list[Demand]:
    student = WORDS[STUDENT]
    demand = f"{student}, training range: share of the way from chance to teacher"
    return [
        above_blind(runs, "teacher", "training"),
        above_blind(runs, "oracle", "training"),
        at_least(demand, share(runs, "training"), 0.95),
        above_blind(runs, STUDENT, "held_out"),
        at_most(FALLS, left(runs), 0.9),
    ]


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for policy, words in WORDS.items():
        row = [words, *(text(returns_of(runs, policy, side)) for side in RANGES)]
        side = "roa" if policy == STUDENT else policy
        taken = [run["seconds"] for run in runs if run["side"] == side in SIDES]
        row.append(known(runs) if policy == STUDENT else " ")
        rows.append([*row, f"{np.mean(taken):.0f}" if taken else " "])
    return ["who", *NAMES.values(), "error of the parameters, both", "seconds"], rows


def known(runs: Runs) -> str:
    found = (errors(runs, "parameters", inference.SOON, side) for side in RANGES)
    return " and ".join(f"{iqm(error):.2f}" for error in found)


def draw(axes: Any, runs: Runs) -> None:
    shown = [policy for policy in WORDS if policy != "chance"]
    for color, side, shift in zip(COLORS, RANGES, (-0.12, 0.12), strict=False):
        for place, policy in enumerate(shown):
            of, x = returns_of(runs, policy, side), place + shift
            axes.plot([x] * len(of), of, ".", color=color, alpha=0.35, markersize=4)
            centre, ends = iqm(of), np.array(interval(of))[:, None]
            label = f"{NAMES[side]}, {len(of)} runs" if place == 0 else None
            bars = np.abs(ends - centre)
            axes.errorbar(x, centre, bars, fmt="o", color=color, capsize=3, label=label)
    names = [WORDS[policy].replace(" after ", "\nafter ") for policy in shown]
    names = [name.replace("PPO", "\nPPO").strip() for name in names]
    axes.set_xticks(range(len(shown)), names, fontsize=7)


CLAIMS = [
    Trial(
        name=f"adaptation-{name}",
        statement=(
            f"{world.env_id}: a teacher who is told the parameters and a student who"
            " infers them, beside PPO that is told, that is blind, and that remembers."
        ),
        settings={"env_id": world.env_id, **world.settings, "episodes": EPISODES},
        together=partial(with_chance, name=name),
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Who acts well where the parameters are hidden",
            "ylabel": "return of deterministic episodes",
        },
    )
    for name, world in WORLDS.items()
    if name != "pendulum"
]


if __name__ == "__main__":
    main(CLAIMS)
