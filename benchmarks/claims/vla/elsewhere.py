"""A VLA whose inference takes 100 ms elsewhere: PPO in turn, and beside it. Both sides
go on from one clone, and learn from as many looks."""

import dataclasses
import statistics
import time
from contextlib import closing
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, median, values
from yieldrl.benchmarks.style import INK, dots
from yieldrl.benchmarks.subprocesses import each
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

from .learning import AXES, CLONE, EPISODES, clones, look

LOOK_SECONDS = 0.1
SIDES: tuple[Any, ...] = ("sync", "async")
PPO: dict[str, Any] = {  # on two cores an update takes about as long as a rollout
    "num_envs": 24,
    "num_steps": 8,
    "num_epochs": 4,
    "num_minibatches": 4,
    "total_steps": 7_680,
    "demonstration_steps": 0,
    "eval_every": 0,
}


class Elsewhere(vla_ppo.Model):
    """A policy for which this process waits."""

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        time.sleep(LOOK_SECONDS)
        return super().sample(obs, generator, record=record)


def pair(path: str, seed: int, cloned: dict[str, float]) -> dict[str, Any]:
    """Seconds and success of both sides, from the clone of a file; odd seeds begin with
    the synchronous side."""
    weights = torch.load(path, weights_only=True)
    taken: dict[str, Any] = {"seed": seed, "cloned": cloned["success"]}
    config = vla_ppo.Config(**{**CLONE, **PPO}, seed=seed)
    for side in SIDES if seed % 2 else reversed(SIDES):
        taken[side] = improved(dataclasses.replace(config, collection=side), weights)
    return taken


def improved(config: vla_ppo.Config, weights: dict[str, Tensor]) -> dict[str, float]:
    """What PPO makes of a clone, and in how long. Deterministic actions do not pass
    through `sample`: evaluations do not wait."""
    lags: list[float] = []
    with vla_ppo.Trainer(config, model=Elsewhere) as trainer:
        trainer.model.load_state_dict(weights)
        begin = time.perf_counter()
        with closing(trainer()) as loop:
            for log in loop:
                lags.append(float(log["logs"].get("policy_lag", 0.0)))
        seconds = time.perf_counter() - begin
        lag = statistics.mean(lags)
        found = {"seconds": seconds, **look(trainer), "policy_lag": lag}
    return {name: round(value, 3) for name, value in found.items()}


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in SIDES:
        success, seconds = values(runs, side, "success"), median(runs, side, "seconds")
        row = [side, f"{seconds:.1f}", f"{statistics.mean(success):.3f}"]
        row.append(f"{min(success):.3f} to {max(success):.3f}")
        rows.append([*row, f"{mean(runs, side, 'policy_lag'):.2f}"])
    header = ["collection", "seconds (median)", "success (mean)", "seeds", "policy lag"]
    return header, rows


def judge(runs: Runs) -> list[Demand]:
    """Faster, and about as good."""
    pairs = (values(runs, side, "seconds") for side in SIDES)
    times = statistics.median(a / b for a, b in zip(*pairs, strict=True))
    share = mean(runs, "async", "success") / mean(runs, "sync", "success")
    return [
        at_least("times as fast as in turn", times, 1.8),
        at_least("share of the return", share, 0.95),
    ]


def draw(axes: Any, runs: Runs) -> None:
    names = "seconds", "success"
    for run in runs:
        ends = ([run[side][name] for side in SIDES] for name in names)
        axes.plot(*ends, color=INK, linewidth=0.7, alpha=0.6)
    found = {side: [values(runs, side, name) for name in names] for side in SIDES}
    dots(axes, {f"{side}, {len(runs)} seeds": (x, y) for side, (x, y) in found.items()})


CLAIMS = [
    Trial(
        name="vla-elsewhere",
        statement=(
            "PPO of a vision-language-action model whose inference takes 100 ms"
            " elsewhere, in turn and in the background, from one clone."
        ),
        settings={
            "look_seconds": LOOK_SECONDS,
            **CLONE,
            **PPO,
            "episodes": EPISODES,
        },
        together=lambda seeds, jobs: each(pair, clones(seeds, jobs), 1),
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "PPO from one clone, a look takes 100 ms elsewhere",
            "xlabel": "seconds to the same number of looks",
            "ylabel": AXES["ylabel"],
            "xlim": (0, None),
            "ylim": (0, 1),
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
