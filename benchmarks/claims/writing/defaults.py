"""`yieldrl train grpo` as it is: what it makes of its own clone."""

import statistics
from typing import Any

import numpy as np

from yieldrl.algorithms import grpo
from yieldrl.benchmarks.claims.vla.learning import rates
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least
from yieldrl.collectors.outcomes import Evaluation
from yieldrl.experiments.plot import interval

EPISODES = 1_000
PLACES = "eval_every", "eval_episodes", "device", "threads", "run_root", "run_name"


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


def gains(runs: Runs) -> list[float]:
    """How many more answers are right than of the clone, as shares, seed by seed."""
    return [run["last"] - run["clone"] for run in runs]


def ends(runs: Runs) -> list[float]:
    """The ends of the mean gain's 95 % interval, by a bootstrap over seeds."""
    return [float(end[0]) for end in interval(np.array(gains(runs))[:, None])]


def table(runs: Runs) -> Table:
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


def draw(axes: Any, runs: Runs) -> None:
    for run in runs:
        axes.plot([0, 1], [run["clone"], run["last"]], color=COLORS[0], marker="o")
    axes.set_xticks([0, 1], ["the clone", "after GRPO"])


def judge(runs: Runs) -> list[Demand]:
    low, words = min(ends(runs)), "mean gain, lower end of its 95 % interval over seeds"
    least = "smallest gain of a seed, share of right answers"
    return [at_least(least, min(gains(runs)), 0.001), at_least(words, low, 0.01)]


CONFIG = grpo.Config().to_dict()
CLAIMS = [
    Trial(
        name="writing-defaults",
        statement=(
            "With its defaults, GRPO makes its clone better on every seed: of 1 000"
            " sums more are right, each answered by the most likely tokens."
        ),
        settings={k: v for k, v in CONFIG.items() if k not in PLACES},
        run=train,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Sums: the clone, and what GRPO makes of it",
            "ylabel": "share of right answers",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
