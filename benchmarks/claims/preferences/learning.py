"""Sums from comparisons: DPO with three judges; GRPO and PPO on a reward model."""

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from yieldrl.algorithms import dpo, grpo, ppo
from yieldrl.benchmarks.claims.preferences.judges import right
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import some, spread, values
from yieldrl.benchmarks.scores import curve
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least, at_most
from yieldrl.buffers import EpisodeGroups
from yieldrl.envs.wrappers import JudgedReward
from yieldrl.language import AnswerCritic, RewardModel, policy_for

MODEL = {"d_model": 64, "num_layers": 2}
WRITER = functools.partial(policy_for, **MODEL)
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
    cloning, pairs = cloned(seed)
    clone = weights(cloning.model)
    runs = [{"side": "clone", "accuracy": accuracy(cloning)}]
    for side, judge in JUDGES.items():
        fields = {**DPO, "demonstration_steps": 0, "total_steps": 8192, "judge": judge}
        trainer = dpo.Trainer(dpo.Config(**fields, seed=seed), model=WRITER)
        restart(trainer, clone)
        logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
        compared = int(logs[0]["dpo/pairs"])
        runs.append({"side": side, "accuracy": accuracy(trainer), "pairs": compared})
    reward_model, held = fitted(cloning.model, pairs, PAIRS, seed)
    for side in IMPROVED:
        run = improved(side, reward_model, clone, seed)
        runs.append({"side": side, "held_out": held, **run})
    return {"runs": [{"seed": seed, **run} for run in runs]}


def cloned(seed: int) -> tuple[Any, Any]:
    """A trainer of DPO when it has cloned, and the pairs `[P, 2, 1]` of answers of the
    clone that it would learn from."""
    cloning = dpo.Trainer(dpo.Config(**DPO, seed=seed), model=WRITER)
    for _ in cloning():
        if cloning.buffer.full:  # the clone's answers are there
            break
    rollout = cloning.buffer.rollout()
    known = rollout.select("obs", "action")
    return cloning, EpisodeGroups.of(rollout, 2, 1.0).pairs(known)


def weights(model: Any) -> dict[str, Any]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def fitted(clone: Any, pairs: Any, count: int, seed: int) -> tuple[RewardModel, float]:
    """A reward model of the first pairs, and its share of right ones of the others."""
    reward_model = RewardModel(clone)
    for _ in reward_model.fit(pairs[:count], seed=seed, **REWARD_MODEL):
        pass
    held = float(reward_model.loss(pairs[count:])[1]["accuracy"])
    return reward_model, round(held, 4)


def improved(
    side: str, reward_model: RewardModel, clone: dict[str, Any], seed: int
) -> dict[str, Any]:
    """From the clone on: what the judge gave, and what was right."""
    trainer, points = improver(side, reward_model, clone, seed), []
    for log in trainer():
        if "true_reward" in log["logs"]:
            names = "judged_reward", "true_reward"
            found = [round(float(log["logs"][name]), 4) for name in names]
            points.append([log["sample_step"], *found])
    return {"accuracy": accuracy(trainer), "curve": points}


def improver(
    side: str, reward_model: RewardModel, clone: dict[str, Any], seed: int
) -> Any:
    """A trainer of GRPO or PPO that goes on from the clone."""
    sums: Any = gymnasium.make_vec("yieldrl/Sums-v1", num_envs=256, **DPO["env_kwargs"])
    judge = right if side == TRUE else reward_model.judge
    envs = JudgedReward(sums, judge)
    policy = WRITER(sums.single_observation_space, sums.single_action_space)
    policy.load_state_dict(clone)
    if side == WITH_CRITIC:
        config: Any = ppo.Config(**PPO, seed=seed)
        return ppo.Trainer(config, envs=envs, model=AnswerCritic(policy))
    config = grpo.Config(**GRPO, kl_coef=PENALTIES.get(side, 0.0), seed=seed)
    return grpo.Trainer(config, envs=envs, model=policy)


def restart(trainer: Any, weights: dict[str, Any]) -> None:
    """Begin with these weights, which are the reference too."""
    trainer.model.load_state_dict(weights)
    trainer.algorithm.sync_target()


def accuracy(trainer: Any) -> float:
    """Share of right answers, of those that are the most likely ones."""
    found = trainer.evaluate(EPISODES)["logs"]["success_rate"]
    return round(float(found), 4)


def preferred(points: Sequence[Sequence[float]]) -> list[float]:
    """How probably the reward model prefers the answers of now to those at the start,
    by their mean scores."""
    return [1 / (1 + math.exp(points[0][-2] - judged)) for *_, judged, _ in points]


def draw(
    axes: Any, runs: Runs, sides: Sequence[str] = IMPROVED, entry: int = 0
) -> None:
    """What is right and what is preferred, against an entry of each point, its mean."""
    for color, side in zip(COLORS, sides, strict=False):
        curves = values(runs, "curve", side=side)
        steps = np.mean(curves, 0)[:, entry]
        lines = {f"{side}: right": ([[p[-1] for p in c] for c in curves], "-")}
        if side != TRUE:
            lines[f"{side}: preferred"] = ([*map(preferred, curves)], "--")
        for label, (found, style) in lines.items():
            line(axes, replace(curve(label, found), steps=steps), color, style)


def table(runs: Runs) -> Table:
    each = ((side, values(runs, "accuracy", side=side)) for side in SIDES)
    rows = [[side, spread(found)] for side, found in each]
    return ["learned from", "right answers"], rows


def became(runs: Runs) -> list[float]:
    """What became of the true reward: the mean of the last five batches less the
    first."""
    curves = [[true for *_, true in run["curve"]] for run in runs]
    return [sum(curve[-5:]) / len(curve[-5:]) - curve[0] for curve in curves]


def judge(runs: Runs) -> list[Demand]:
    pairs = (values(runs, "accuracy", side=side) for side in ("clone", "DPO"))
    gained = min(after - before for before, after in zip(*pairs, strict=True))
    after = {side: became(some(runs, side=side)) for side in IMPROVED}
    mean = {side: statistics.mean(found) for side, found in after.items()}
    free, held = (after[side] for side in PENALTIES)
    kept = statistics.mean(b - a for a, b in zip(free, held, strict=True))
    turned = next(iter(PENALTIES)), WITH_CRITIC
    words = "the true reward turns down"
    return [
        at_least("DPO: more right answers than its clone, on every seed", gained, 0.02),
        *(at_most(f"{side}: {words}", mean[side], -0.05) for side in turned),
        at_least("the true reward, by the same steps, rises", mean[TRUE], 0.05),
        at_least("KL 0.5: more of the true reward is left", kept, 0.05),
    ]


CLAIMS = [
    Trial(
        name="preferences-learning",
        statement=(
            "From comparisons of a weak clone's own answers DPO learns to add; who"
            " learns from a reward model of few comparisons, by GRPO or by PPO, earns"
            " more of its reward and less of the true one, which the same steps on the"
            " true one raise, unless a penalty holds it near the clone; and what a"
            " sloppy judge likes is what one gets."
        ),
        settings=SETTINGS,
        run=train,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "A reward model, and what it stands for",
            "xlabel": "answers",
            "ylabel": "share: preferred to the start, right",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
