"""Worlds whose parameters are hidden: a teacher who is told them and a student who
infers them (`ppo_roa`), beside PPO that is told, is blind, or remembers. All have one
budget; the teacher has that of its phase alone."""

from typing import Any

import gymnasium

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.scores import text
from yieldrl.benchmarks.style import dots
from yieldrl.benchmarks.tasks import make_trainer
from yieldrl.collectors import evaluate

RANGES = {"training": "training range", "held_out": "held-out range"}
EPISODES, SEED = 128, 20_000  # of an evaluation, with the same parameters for all
CART: dict[str, Any] = {"env_id": "yieldrl/HiddenCartPole-v1", "num_envs": 64}
CART |= {"total_steps": 1_500_000, "num_epochs": 4, "num_minibatches": 4}
CHEETAH: dict[str, Any] = {"env_id": "yieldrl/HiddenHalfCheetah-v1", "num_envs": 256}
CHEETAH |= {"total_steps": 2_000_000, "num_epochs": 5, "num_minibatches": 16}
CHEETAH |= {"learning_rate": 0.0005, "entropy_coef": 0.0, "normalize_observation": True}
WORLDS = {"adaptation-cartpole": CART, "adaptation-halfcheetah": CHEETAH}
SHARED = {"eval_every": 0, "threads": 1, "num_steps": 32}
BLIND: dict[str, Any] = {"actor_obs": ("obs",), "critic_obs": ("obs",)}
SIDES: dict[str, Any] = {"roa": ("ppo_roa", {}), "blind": ("ppo", BLIND)}
SIDES |= {"lstm": ("ppo_lstm", BLIND), "oracle": ("ppo", {})}
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
    algorithm, own = SIDES[side]
    fields = {**SHARED, **WORLDS[name], **own, **fields, "seed": seed}
    with make_trainer(algorithm, fields) as trainer:
        agent, phase, env_id = trainer.agent, "train", trainer.config.env_id

        def look() -> None:
            """After a phase at the student, after train at the finished teacher too."""
            found[f"student, {phase}"] = returned(agent.as_student(), env_id)
            if phase == "train":
                found["teacher"] = returned(agent.as_teacher(), env_id)

        for _ in trainer():
            if side == "roa" and trainer.model.phase != phase:
                look()
                phase = trainer.model.phase
        if side == "roa":
            look()
        else:
            found[side] = returned(agent, env_id)
    return {"side": side, "seed": seed, "returns": found}


def returned(agent: Any, env_id: str) -> dict[str, float]:
    """Mean return of deterministic episodes with parameters of each range."""
    found: dict[str, float] = {}
    for side in RANGES:
        envs = gymnasium.make_vec(env_id, num_envs=EPISODES, side=side)
        logs = evaluate(agent, envs, EPISODES, SEED).logs()
        found[side] = round(logs["episode_return"], 3)
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
