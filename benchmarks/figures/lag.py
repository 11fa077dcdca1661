"""How much PPO learns on CartPole from actions of a policy that is some updates old,
with each correction.

The collector steps in turn with the learner, and acts with the weights of so many
updates ago.
"""

from typing import Any

import numpy as np

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.lagging import CORRECTIONS, Lagged, trainer_of
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.core import derive_seed
from yieldrl.experiments.plot import aggregate

SAYS = figure.said("collecting-lag", __doc__)
LAGS = (0, 1, 2, 4, 8)  # in updates, each of them from one rollout
WAYS = ("at the end", "along"), ("-", "--")


def measure(
    seed: int, correction: str, lag: int, steps: int = 60_000
) -> dict[str, Any]:
    run = {"correction": correction, "lag": lag, "seed": seed}
    with trainer_of("ppo-cartpole", correction, seed, steps) as trainer:
        parts = trainer.envs, trainer.agent, trainer.buffer
        trainer.collector = Lagged(*parts, seed=derive_seed(seed, "envs"), lag=lag)
        run["curve"] = figure.trained(trainer, 4)
        return run | {"final": figure.score(trainer, 20, 4)}


def returns(runs: figure.Runs, correction: str) -> np.ndarray:
    """Every seed's return at the end, and its mean along training, `[2, seeds, lags]`:
    the two of a row."""
    by_lag = (figure.some(runs, correction=correction, lag=lag) for lag in LAGS)
    both = [[(x["final"], np.mean(x["curve"], 0)[1]) for x in of] for of in by_lag]
    return np.array(both).T


def table(runs: figure.Runs) -> figure.Table:
    columns = [returns(runs, name).mean(1).T for name in CORRECTIONS]  # [lags, 2] each
    rows = [
        [str(lag), *(" / ".join(f"{y:.4g}" for y in both) for both in row)]
        for lag, *row in zip(LAGS, *columns, strict=True)
    ]
    return ["lag", *(f"{of}, final / during training" for of in CORRECTIONS)], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    for color, name in zip(COLORS, CORRECTIONS, strict=False):
        for label, mark, of in zip(*WAYS, returns(runs, name), strict=True):
            seeds = [(np.array(LAGS), y) for y in of]
            line(axes, aggregate(f"{name}, {label}", seeds), color, f".{mark}")
    axes.set_xticks(LAGS)
    axes.set(xlabel="updates since the policy that collected")
    axes.set(ylabel="return of deterministic episodes")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw, lag=LAGS, correction=CORRECTIONS)
