"""Worlds whose parameters are hidden: a teacher who is told them and a student who
infers them (`ppo_roa`), beside PPO that is told, is blind, or remembers. All have one
budget; the teacher has that of its phase alone."""

from typing import Any

import gymnasium
import numpy as np

from yieldrl.algorithms import ppo, ppo_lstm, ppo_roa
from yieldrl.benchmarks import figure
from yieldrl.benchmarks.scores import iqm, text
from yieldrl.benchmarks.style import COLORS
from yieldrl.collectors import evaluate

RANGES = {"training": "training range", "held_out": "held-out range"}
EPISODES, SEED = 128, 20_000  # of an evaluation, with the same parameters for all
SHARED = {"eval_every": 0, "device": "cpu", "threads": 1, "num_steps": 32}
WORLDS: dict[str, dict[str, Any]] = {
    "adaptation-cartpole": {
        "env_id": "yieldrl/HiddenCartPole-v1",
        "total_steps": 1_500_000,
        "num_envs": 64,
        "num_epochs": 4,
        "num_minibatches": 4,
    },
    "adaptation-halfcheetah": {
        "env_id": "yieldrl/HiddenHalfCheetah-v1",
        "total_steps": 2_000_000,
        "num_envs": 256,
        "num_epochs": 5,
        "num_minibatches": 16,
        "learning_rate": 0.0005,
        "entropy_coef": 0.0,
        "normalize_observation": True,
    },
}
SAYS = {
    name: (
        f"{fields['env_id']}: a teacher who is told the parameters and a student who"
        " infers them, beside PPO that is told, is blind, or remembers."
    )
    for name, fields in WORLDS.items()
}
BLIND: dict[str, Any] = {"actor_obs": ("obs",), "critic_obs": ("obs",)}
SIDES: dict[str, tuple[Any, dict[str, Any]]] = {
    "roa": (ppo_roa, {}),
    "blind": (ppo, BLIND),
    "lstm": (ppo_lstm, BLIND),
    "oracle": (ppo, {}),
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
    module, own = SIDES[side]
    config = module.Config(**{**SHARED, **WORLDS[name], **own, **fields}, seed=seed)
    found: dict[str, dict[str, float]] = {}
    with module.Trainer(config) as trainer:
        agent, phase = trainer.agent, "train"
        for _ in trainer():
            if side == "roa" and trainer.algorithm.phase != phase:
                found |= in_phase(agent, phase, config.env_id)
                phase = trainer.algorithm.phase
        if side == "roa":
            found |= in_phase(agent, phase, config.env_id)
        else:
            found[side] = returned(agent, config.env_id)
    return {"side": side, "seed": seed, "returns": found}


def in_phase(agent: Any, phase: str, env_id: str) -> dict[str, dict[str, float]]:
    """The student after a phase; after train the teacher too, who changes no more."""
    found = {f"student, {phase}": returned(agent.as_student(), env_id)}
    if phase == "train":
        found["teacher"] = returned(agent.as_teacher(), env_id)
    return found


def returned(agent: Any, env_id: str) -> dict[str, float]:
    """Mean return of deterministic episodes with parameters of each range."""
    found: dict[str, float] = {}
    for side in RANGES:
        envs = gymnasium.make_vec(env_id, num_envs=EPISODES, side=side)
        logs = evaluate(agent, envs, EPISODES, SEED).logs()
        found[side] = round(logs["episode_return"], 3)
    return found


def returns_of(runs: figure.Runs, policy: str, side: str) -> np.ndarray:
    """Returns `[runs]` of a policy with parameters of a range."""
    found = [run["returns"][policy][side] for run in runs if policy in run["returns"]]
    return np.array(found)


def table(runs: figure.Runs) -> figure.Table:
    rows = [
        [words, *(text(returns_of(runs, policy, side)) for side in RANGES)]
        for policy, words in POLICIES.items()
    ]
    return ["who", *RANGES.values()], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    for color, side, shift in zip(COLORS, RANGES, (-0.12, 0.12), strict=False):
        for place, policy in enumerate(POLICIES):
            of, x = returns_of(runs, policy, side), place + shift
            label = RANGES[side] if place == 0 else None
            axes.plot([x] * len(of), of, ".", color=color, alpha=0.35)
            axes.plot(x, iqm(of), "o", color=color, label=label)
    names = [words.replace(" ", "\n") for words in POLICIES.values()]
    axes.set_xticks(range(len(names)), names, fontsize=7)
    axes.set(ylabel="return of deterministic episodes")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw, side=SIDES)
