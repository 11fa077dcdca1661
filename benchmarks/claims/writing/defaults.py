"""`yieldrl train grpo` as it is: what it makes of its own clone."""

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from yieldrl.algorithms import grpo
from yieldrl.benchmarks.claim import Run
from yieldrl.benchmarks.claims.vla.learning import rates
from yieldrl.benchmarks.style import COLORS
from yieldrl.collectors.outcomes import Evaluation
from yieldrl.experiments.plot import interval

EPISODES = 1_000
PLACES = "eval_every", "eval_episodes", "device", "threads", "run_root", "run_name"
SETTINGS = {k: v for k, v in grpo.Config().to_dict().items() if k not in PLACES}


def train(seed: int) -> dict[str, Any]:
    """Shares of right answers to 1 000 sums, each the most likely one: of the clone,
    before the first gradient step of GRPO, and at the end."""
    config = grpo.Config(seed=seed, eval_every=0, device="cpu", threads=1)
    found: dict[str, float] = {}
    with grpo.Trainer(config) as trainer:
        for _ in trainer():
            if trainer.cloning is None and not found:
                found |= rates(trainer, EPISODES, clone="success_rate")
        found |= rates(trainer, EPISODES, last="success_rate")
    return {"seed": seed, **found}


def gains(runs: Sequence[Run]) -> list[float]:
    """How many more answers are right than of the clone, as shares, seed by seed."""
    return [run["last"] - run["clone"] for run in runs]


def ends(runs: Sequence[Run]) -> list[float]:
    """The ends of the mean gain's 95 % interval, by a bootstrap over seeds."""
    return [float(end[0]) for end in interval(np.array(gains(runs))[:, None])]


def table(runs: Sequence[Run]) -> tuple[list[str], list[list[str]]]:
    """Every seed, its shares with Wilson's intervals of 95 %, and their means."""
    header = ["seed", "clone", "after GRPO", "gain"]
    rows = [
        [str(run["seed"]), _share(run["clone"]), _share(run["last"]), f"{gain:+.3f}"]
        for run, gain in zip(runs, gains(runs), strict=True)
    ]
    clone, after = (statistics.mean(run[k] for run in runs) for k in ("clone", "last"))
    low, high = ends(runs)
    gain = f"{after - clone:+.3f} ({low:+.3f} to {high:+.3f})"
    return header, [*rows, ["mean", f"{clone:.3f}", f"{after:.3f}", gain]]


def _share(share: float) -> str:
    right = np.arange(EPISODES) < round(share * EPISODES)
    low, high = Evaluation(right, right, right).success_interval()
    return f"{share:.3f} ({low:.3f} to {high:.3f})"


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for run in runs:
        axes.plot([0, 1], [run["clone"], run["last"]], color=COLORS[0], marker="o")
    axes.set_xticks([0, 1], ["the clone", "after GRPO"])
