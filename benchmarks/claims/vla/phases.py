"""Where the time goes: the world, a look, a gradient step, of three policies."""

import statistics
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median
from yieldrl.benchmarks.style import bars
from yieldrl.benchmarks.timing import time_method
from yieldrl.benchmarks.trial import Runs, Table, Trial

from .learning import GOTO
from .policies import POLICIES, make_trainer

# of a round of PPO: a rollout, and learning from it
PHASES = {
    "world": "the world",
    "look": "looks of the policy",
    "learn": "gradient steps",
}

ROUNDS = 4


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


def medians(runs: Runs) -> dict[str, dict[str, float]]:
    """Policy -> the milliseconds of each phase."""
    return {
        of: {words: median(runs, name, policy=of) for name, words in PHASES.items()}
        for of in POLICIES
    }


def table(runs: Runs) -> Table:
    rows = [
        [
            policy,
            f"{median(runs, 'parameters', policy=policy):,.0f}",
            *(f"{value:.3f}" for value in found.values()),
        ]
        for policy, found in medians(runs).items()
    ]
    return ["policy", "parameters", *(f"{of}, ms" for of in PHASES.values())], rows


CLAIMS = [
    Trial(
        name="vla-policies",
        statement=(
            "Where the time of a transition goes: the world, a look of the policy and"
            " learning from it, for three policies behind one algorithm."
        ),
        settings={**GOTO, "rounds": ROUNDS},
        run=profile,
        cases=[{"policy": policy} for policy in POLICIES],
        timed=True,
        table=table,
        draw=lambda axes, runs: bars(axes, medians(runs)),
        axes={
            "title": "Time of a transition on GoTo seen as images",
            "xlabel": "milliseconds",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
