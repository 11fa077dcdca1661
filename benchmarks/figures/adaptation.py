"""Worlds whose parameters are hidden: a teacher who is told them and a student who
infers them (`ppo_roa`), beside PPO that is told, is blind, or remembers. All have one
budget; the teacher has that of its phase alone."""

from typing import Any

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.hidden import RANGES, SIDES, WORLDS, returned, trainer_of
from yieldrl.benchmarks.scores import text
from yieldrl.benchmarks.style import dots

SAYS = {
    name: (
        f"{fields['env_id']}: a teacher who is told the parameters and a student who"
        " infers them, beside PPO that is told, is blind, or remembers."
    )
    for name, fields in WORLDS.items()
}
POLICIES = {  # whose return is measured
    "oracle": "PPO that is told",
    "teacher": "teacher",
    "student, train": "student after train",
    "student, adapt": "student after adapt",
    "student, finetune": "student after finetune",
    "lstm": "recurrent PPO, blind",
    "blind": "PPO, blind",
}


def measure(seed: int, name: str, side: str, **fields: Any) -> dict[str, Any]:
    """Returns of a side's policies, with parameters of each range."""
    found: dict[str, dict[str, float]] = {}
    with trainer_of(name, side, seed, **fields) as trainer:
        agent, phase, env_id = trainer.agent, "train", trainer.config.env_id
        for _ in trainer():
            if side == "roa" and trainer.model.phase != phase:
                found |= in_phase(agent, phase, env_id)
                phase = trainer.model.phase
        if side == "roa":
            found |= in_phase(agent, phase, env_id)
        else:
            found[side] = returned(agent, env_id)
    return {"side": side, "seed": seed, "returns": found}


def in_phase(agent: Any, phase: str, env_id: str) -> dict[str, dict[str, float]]:
    """The student after a phase; after train the teacher too, who changes no more."""
    found = {f"student, {phase}": returned(agent.as_student(), env_id)}
    if phase == "train":
        found["teacher"] = returned(agent.as_teacher(), env_id)
    return found


def returns_of(runs: figure.Runs, policy: str, side: str) -> list[float]:
    """Returns `[runs]` of a policy with parameters of a range."""
    there = [run for run in runs if policy in run["returns"]]
    return figure.values(there, "returns", policy, side)


def table(runs: figure.Runs) -> figure.Table:
    rows = [
        [words, *(text(returns_of(runs, policy, side)) for side in RANGES)]
        for policy, words in POLICIES.items()
    ]
    return ["who", *RANGES.values()], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    groups = {
        label: {words: returns_of(runs, of, side) for of, words in POLICIES.items()}
        for side, label in RANGES.items()
    }
    dots(axes, groups)
    axes.set(ylabel="return of deterministic episodes")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw, side=SIDES)
