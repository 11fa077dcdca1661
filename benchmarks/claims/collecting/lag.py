"""What the age of the policy that collects does to learning: the collector steps in
turn with the learner, and acts with the weights of so many updates ago."""

import copy
import dataclasses
import statistics
from collections import deque
from typing import Any

import numpy as np

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.benchmarks.tasks import TASKS
from yieldrl.benchmarks.trial import Runs, Table, Trial
from yieldrl.collectors import SyncCollector
from yieldrl.experiments.plot import aggregate
from yieldrl.foundations import derive_seed

from .corrections import CORRECTIONS, STEPS, evaluations, learned, trainer_of

TASK = "ppo-cartpole"
LAGS = (0, 1, 2, 4, 8)  # in updates, each of them from one rollout


class Lagged(SyncCollector):
    """Acts with the weights of `lag` updates ago; before so many, with the first
    ones."""

    def __init__(
        self, envs: Any, agent: Any, buffer: Any, *, seed: int, lag: int
    ) -> None:
        super().__init__(envs, agent.actor(), buffer, seed=seed)
        self.learner = agent
        self.mailbox: deque[tuple[int, Any]] = deque(maxlen=lag + 1)

    def step(self) -> dict[str, Any]:
        now = self.learner.policy_version
        if not self.mailbox or self.mailbox[-1][0] != now:
            self.mailbox.append((now, copy.deepcopy(self.learner.model.state_dict())))
            version, weights = self.mailbox[0]
            self.agent.model.load_state_dict(weights)
            self.agent.policy_version = version
        logs = super().step()
        self.learner.count_steps(self.envs.num_envs)
        return {**logs, "policy_lag": len(self.mailbox) - 1}


def train(correction: str, lag: int, seed: int) -> dict[str, Any]:
    config = dataclasses.replace(
        TASKS[TASK].make_config(seed),
        total_steps=STEPS[TASK],
        eval_every=STEPS[TASK] // 10,
        device="cpu",
    )
    with trainer_of(ppo, config, correction) as trainer:
        parts = trainer.envs, trainer.agent, trainer.buffer
        seed_of_envs = derive_seed(seed, "envs")
        trainer.collector = Lagged(*parts, seed=seed_of_envs, lag=lag)
        return {"correction": correction, "lag": lag, "seed": seed, **learned(trainer)}


def of(runs: Runs, correction: str, lag: int, *, along: bool = False) -> list[float]:
    """Every seed's final return, or its mean along training."""
    return [
        statistics.mean(y for _, y in run["curve"]) if along else run["final"]
        for run in runs
        if (run["correction"], run["lag"]) == (correction, lag)
    ]


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for lag in LAGS:
        row = [str(lag)]
        for correction in CORRECTIONS:
            found = some(runs, lag=lag, correction=correction)
            row.append(f"{mean(found, 'final'):.4g} / {evaluations(found):.4g}")
        rows.append(row)
    return ["lag", *(f"{of}, final / during training" for of in CORRECTIONS)], rows


def draw(axes: Any, runs: Runs) -> None:
    lags = np.array(LAGS)
    for color, correction in zip(COLORS, CORRECTIONS, strict=False):
        for label, along, style in (
            (f"{correction}, at the end", False, ".-"),
            (f"{correction}, along training", True, ".--"),
        ):
            by_lag = [of(runs, correction, lag, along=along) for lag in LAGS]
            seeds = zip(*by_lag, strict=True)
            drawn = aggregate(label, [(lags, np.array(ys)) for ys in seeds])
            line(axes, drawn, color, style)
    axes.set_xticks(LAGS)


CLAIMS = [
    Trial(
        name="collecting-lag",
        statement=(
            "How much is learned from actions of a policy that is some updates old,"
            " with each correction."
        ),
        settings={"task": TASK, "total_steps": STEPS[TASK], "lags": LAGS},
        run=train,
        cases=[{"lag": lag, "correction": of} for lag in LAGS for of in CORRECTIONS],
        table=table,
        draw=draw,
        axes={
            "title": "ppo-cartpole, collected with a policy of some updates ago",
            "xlabel": "updates since the policy that collected",
            "ylabel": "return of deterministic episodes",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
