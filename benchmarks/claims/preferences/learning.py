"""Sums from comparisons: DPO with three judges; GRPO and PPO on a reward model."""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from yieldrl.algorithms import dpo, grpo, ppo
from yieldrl.benchmarks.claim import Options, Run
from yieldrl.benchmarks.claims.preferences.judges import right
from yieldrl.benchmarks.scores import curve
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.benchmarks.subprocesses import each
from yieldrl.buffers import EpisodeGroups
from yieldrl.envs.wrappers import JudgedReward
from yieldrl.language import AnswerCritic, RewardModel, policy_for

MODEL = {"d_model": 64, "num_layers": 2}
DPO: dict[str, Any] = {
    "env_kwargs": {"max_operand": 9},
    "clone_steps": 150,
    "clone_learning_rate": 2e-3,
    "eval_every": 0,
    "device": "cpu",
    "threads": 1,
}
REWARD_MODEL: dict[str, Any] = {"num_epochs": 120, "learning_rate": 3e-4}
PAIRS = 400
"""Of which the reward model learns; the others say how well."""

COMMON: dict[str, Any] = {
    "num_envs": 256,
    "num_steps": 1,
    "total_steps": 256 * 40,
    "num_epochs": 4,
    "learning_rate": 1e-4,
    "anneal_learning_rate": False,
    "eval_every": 0,
    "device": "cpu",
    "threads": 1,
}
GRPO = {**COMMON, "demonstration_steps": 0}
PPO = {**COMMON, "gamma": 1.0, "entropy_coef": 0.0, "normalize_reward": False}
EPISODES = 500

HERE = "yieldrl.benchmarks.claims.preferences.judges"
JUDGES = {
    "DPO": "reward",
    "DPO, last digit": f"{HERE}:last_digit",
    "DPO, longest": f"{HERE}:longest",
}
PENALTIES = {f"reward model, KL {coef:g}": coef for coef in (0.0, 0.5)}
TRUE, WITH_CRITIC = "true reward", "reward model, PPO"
IMPROVED = (TRUE, *PENALTIES, WITH_CRITIC)
SIDES = ("clone", *JUDGES, *IMPROVED)

SETTINGS = {
    "model": MODEL,
    "dpo": DPO,
    "reward_model": {**REWARD_MODEL, "pairs": PAIRS},
    "grpo": GRPO,
    "ppo": PPO,
    "episodes": EPISODES,
}


def train(seed: int) -> dict[str, Any]:
    """All sides, from one clone."""
    model = functools.partial(policy_for, **MODEL)
    cloning = dpo.Trainer(dpo.Config(**DPO, seed=seed), model=model)
    for _ in cloning():
        if cloning.buffer.full:  # the clone's answers are there
            break
    clone = {k: v.clone() for k, v in cloning.model.state_dict().items()}
    runs = [{"side": "clone", "accuracy": accuracy(cloning)}]
    for side, judge in JUDGES.items():
        fields = {**DPO, "demonstration_steps": 0, "total_steps": 8192, "judge": judge}
        trainer = dpo.Trainer(dpo.Config(**fields, seed=seed), model=model)
        restart(trainer, clone)
        logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
        pairs = int(logs[0]["dpo/pairs"])
        runs.append({"side": side, "accuracy": accuracy(trainer), "pairs": pairs})
    rollout = cloning.buffer.rollout()
    known = rollout.select("obs", "action")
    pairs = EpisodeGroups.of(rollout, 2, 1.0).pairs(known)
    reward_model = RewardModel(cloning.model)
    for _ in reward_model.fit(pairs[:PAIRS], seed=seed, **REWARD_MODEL):
        pass
    held = float(reward_model.loss(pairs[PAIRS:])[1]["accuracy"])
    for side in IMPROVED:
        run = improved(side, reward_model, clone, seed)
        runs.append({"side": side, "held_out": round(held, 4), **run})
    return {"runs": [{"seed": seed, **run} for run in runs]}


def improved(
    side: str, reward_model: RewardModel, clone: dict[str, Any], seed: int
) -> dict[str, Any]:
    """GRPO or PPO from the clone on: what the judge gave, and what was right."""
    sums: Any = gymnasium.make_vec("yieldrl/Sums-v1", num_envs=256, **DPO["env_kwargs"])
    judge = right if side == TRUE else reward_model.judge
    envs = JudgedReward(sums, judge)
    policy = policy_for(
        sums.single_observation_space, sums.single_action_space, **MODEL
    )
    policy.load_state_dict(clone)
    trainer: Any
    if side == WITH_CRITIC:
        config: Any = ppo.Config(**PPO, seed=seed)
        trainer = ppo.Trainer(config, envs=envs, model=AnswerCritic(policy))
    else:
        config = grpo.Config(**GRPO, kl_coef=PENALTIES.get(side, 0.0), seed=seed)
        trainer = grpo.Trainer(config, envs=envs, model=policy)
    points = []
    for log in trainer():
        if "true_reward" in log["logs"]:
            names = "judged_reward", "true_reward"
            found = [round(float(log["logs"][name]), 4) for name in names]
            points.append([log["sample_step"], *found])
    return {"accuracy": accuracy(trainer), "curve": points}


def restart(trainer: Any, weights: dict[str, Any]) -> None:
    """Begin with these weights, which are the reference too."""
    trainer.model.load_state_dict(weights)
    trainer.algorithm.sync_target()


def accuracy(trainer: Any) -> float:
    """Share of right answers, of those that are the most likely ones."""
    found = trainer.evaluate(EPISODES)["logs"]["success_rate"]
    return round(float(found), 4)


def measure(options: Options) -> list[dict[str, Any]]:
    cases = [{"seed": seed} for seed in options.numbers]
    return [run for case in each(train, cases, options.jobs) for run in case["runs"]]


def preferred(points: Sequence[Sequence[float]]) -> list[float]:
    """How probably the reward model prefers the answers of now to those at the start,
    by their mean scores."""
    return [1 / (1 + math.exp(points[0][1] - judged)) for _, judged, _ in points]


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, side in zip(COLORS, IMPROVED, strict=False):
        curves = [run["curve"] for run in runs if run["side"] == side]
        steps = np.array([step for step, *_ in curves[0]])
        lines = {f"{side}: right": ([[p[2] for p in c] for c in curves], "-")}
        if side != TRUE:
            lines[f"{side}: preferred"] = ([*map(preferred, curves)], "--")
        for label, (values, style) in lines.items():
            line(axes, replace(curve(label, values), steps=steps), color, style)


def turned(runs: Sequence[Run]) -> list[float]:
    """What became of the true reward while the learned one rose, without a penalty: the
    mean of the last five batches less the first."""
    return became(runs, next(iter(PENALTIES)))


def with_critic(runs: Sequence[Run]) -> list[float]:
    """What became of it by PPO on the same reward model."""
    return became(runs, WITH_CRITIC)


def rose(runs: Sequence[Run]) -> list[float]:
    """What became of it where it was learned from itself."""
    return became(runs, TRUE)


def became(runs: Sequence[Run], side: str) -> list[float]:
    return [lost(run["curve"]) for run in runs if run["side"] == side]


def kept(runs: Sequence[Run]) -> list[float]:
    """By how much more of the true reward is left with a penalty than without."""
    free, held = ([r for r in runs if r["side"] == side] for side in PENALTIES)
    return [
        lost(b["curve"]) - lost(a["curve"]) for a, b in zip(free, held, strict=True)
    ]


def lost(points: Sequence[Sequence[float]]) -> float:
    last = [true for *_, true in points[-5:]]
    return sum(last) / len(last) - points[0][2]


def gained(runs: Sequence[Run]) -> list[float]:
    """How much more is right after DPO than before, seed by seed."""
    before, after = (
        [r for r in runs if r["side"] == side] for side in ("clone", "DPO")
    )
    return [b["accuracy"] - a["accuracy"] for a, b in zip(before, after, strict=True)]
