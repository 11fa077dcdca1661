"""Where the time goes: the world, a look, a gradient step, of three policies."""

import statistics
from collections.abc import Sequence
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.claim import Run, median
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.timing import time_method

from .learning import GOTO
from .policies import POLICIES, make_trainer

# of a round of PPO: a rollout, and learning from it
PHASES = {
    "world": "the world",
    "look": "looks of the policy",
    "learn": "gradient steps",
}

ROUNDS = 4
SETTINGS = {**GOTO, "rounds": ROUNDS}
CASES = [{"policy": policy} for policy in POLICIES]


def profile(policy: str, seed: int) -> dict[str, Any]:
    """Milliseconds of each phase per transition, medians over rounds of PPO but the
    first."""
    config = vla_ppo.Config(
        **{**GOTO, "eval_every": 0}, seed=seed, demonstration_steps=0, collection="sync"
    )
    spent = dict.fromkeys(PHASES, 0.0)
    rounds: list[dict[str, float]] = []
    with make_trainer(policy, config) as trainer:
        time_method(trainer.collector.stepper, "step", spent, "world")
        time_method(trainer.agent, "sample", spent, "look")
        time_method(trainer.algorithm, "update", spent, "learn")
        for _ in range(ROUNDS + 1):
            rollout = trainer.collector.collect(config.num_steps)
            trainer.algorithm.update(rollout)
            rounds.append(dict(spent))
            spent.update(dict.fromkeys(PHASES, 0.0))
        count = sum(p.numel() for p in trainer.model.parameters())
    share = 1_000 / (config.num_envs * config.num_steps)
    found = {
        phase: round(share * statistics.median(one[phase] for one in rounds[1:]), 5)
        for phase in PHASES
    }
    return {"policy": policy, "seed": seed, "parameters": count, **found}


def draw(axes: Any, runs: Sequence[Run]) -> None:
    left = [0.0] * len(POLICIES)
    for color, (phase, words) in zip(COLORS, PHASES.items(), strict=False):
        widths = [median(runs, phase, policy=policy) for policy in POLICIES]
        axes.barh(POLICIES, widths, left=left, color=color, label=words)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(visible=False, axis="y")
