"""A robot arm that sees: cloned from a script, then improved by PPO."""

import inspect
from pathlib import Path
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, spread, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least
from yieldrl.foundations.files import read_file

from .learning import AXES, learned, rates

EPISODES = 100
TUNED = Path(inspect.getfile(vla_ppo)).parent / "configs" / "reacher.yaml"
# the tiny model on Gymnasium's Reacher-v5, seen from above: as users get it by `yieldrl
# train vla_ppo --config vla_ppo/reacher`
REACHER: dict[str, Any] = {**read_file(TUNED), "device": "cpu", "threads": 1}

METRICS = {"success": "success_rate", "return": "episode_return"}
SECONDS = {"cloned": "clone_seconds", "improved": "ppo_seconds"}


def train(seed: int) -> dict[str, Any]:
    config = vla_ppo.Config(**REACHER, seed=seed)
    run = learned("vla", config, lambda trainer: rates(trainer, EPISODES, **METRICS))
    return {"side": "vla", "seed": seed, **run}


def table(runs: Runs) -> Table:
    rows = [
        [
            when,
            *(spread(values(runs, when, metric)) for metric in METRICS),
            f"{mean(runs, taken):.0f}",
        ]
        for when, taken in SECONDS.items()
    ]
    return ["policy", *METRICS, "seconds"], rows


def judge(runs: Runs) -> list[Demand]:
    """PPO improves what was cloned."""
    return [
        at_least(
            f"{metric} gained by PPO",
            mean(runs, "improved", metric) - mean(runs, "cloned", metric),
            0.0,
        )
        for metric in reversed(METRICS)
    ]


def draw(axes: Any, runs: Runs) -> None:
    returns = [[(at, score) for at, _, score in run["curve"]] for run in runs]
    lines(axes, {"vision-language-action model": returns})


CLAIMS = [
    Trial(
        name="vla-reacher",
        statement=(
            "A robot arm that sees its target in a picture: cloned from a script, then"
            " improved by PPO."
        ),
        settings={**REACHER, "episodes": EPISODES},
        run=train,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Reacher-v5 seen as images",
            "xlabel": AXES["xlabel"],
            "ylabel": "return of deterministic episodes",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
