"""What the age of the policy that collects does to learning: the collector steps in
turn with the learner, and acts with the weights of so many updates ago."""

import copy
import statistics
from collections import deque
from typing import Any

import numpy as np

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.collectors import SyncCollector
from yieldrl.core import derive_seed
from yieldrl.experiments.plot import aggregate

from .corrections import CORRECTIONS, learned, trainer_of

SAYS = {
    "collecting-lag": (
        "How much PPO learns on CartPole from actions of a policy that is some updates"
        " old, with each correction."
    ),
}
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
            self.agent.counters.policy_version = version
        logs = super().step()
        self.learner.count_steps(self.envs.num_envs)
        return {**logs, "policy_lag": len(self.mailbox) - 1}


def measure(
    seed: int, correction: str, lag: int, steps: int = 60_000
) -> dict[str, Any]:
    with trainer_of("ppo-cartpole", correction, seed, steps) as trainer:
        parts = trainer.envs, trainer.agent, trainer.buffer
        trainer.collector = Lagged(*parts, seed=derive_seed(seed, "envs"), lag=lag)
        return {"correction": correction, "lag": lag, "seed": seed, **learned(trainer)}


def of(
    runs: figure.Runs, correction: str, lag: int, *, along: bool = False
) -> list[float]:
    """Every seed's final return, or its mean along training."""
    return [
        statistics.mean(y for _, y in run["curve"]) if along else run["final"]
        for run in figure.some(runs, correction=correction, lag=lag)
    ]


def table(runs: figure.Runs) -> figure.Table:
    rows: list[list[str]] = []
    for lag in LAGS:
        row = [str(lag)]
        for correction in CORRECTIONS:
            both = (of(runs, correction, lag, along=along) for along in (False, True))
            row.append(" / ".join(f"{statistics.mean(found):.4g}" for found in both))
        rows.append(row)
    return ["lag", *(f"{of}, final / during training" for of in CORRECTIONS)], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    for color, name in zip(COLORS, CORRECTIONS, strict=False):
        for label, along, mark in (("at the end", False, "-"), ("along", True, "--")):
            by_lag = [of(runs, name, lag, along=along) for lag in LAGS]
            seeds = [(np.array(LAGS), np.array(y)) for y in zip(*by_lag, strict=True)]
            line(axes, aggregate(f"{name}, {label}", seeds), color, f".{mark}")
    axes.set_xticks(LAGS)
    axes.set(xlabel="updates since the policy that collected")
    axes.set(ylabel="return of deterministic episodes")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw, lag=LAGS, correction=CORRECTIONS)
