"""What `time images` measures: what training on images takes beside its products.

Convolutions and products of matrices are calls of the same libraries under every
framework. Here they are called alone, one after the other.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch import Tensor, fx

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.peers.workloads import WORKLOADS
from yieldrl.benchmarks.spent import Rollout, Watch, in_turns
from yieldrl.benchmarks.style import bars
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, each
from yieldrl.speed.graph import Graph, trace
from yieldrl.speed.recorder import copied

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROLLOUTS = 10
"""Of each side in a seed, after those that are not counted."""

SETTINGS: dict[str, Any] = {
    **WORKLOADS["W6"].settings,
    "env_id": "yieldrl/MinAtar-Breakout-v1",
    "total_steps": 10**9,
    "eval_every": 0,
    "device": "cpu",
}

SPEEDS = {"eager": "eager", "compiled": "compile"}
"""Side -> the `speed` of its trainer."""

SIDES = (*SPEEDS, "products")

PARTS = {"collecting": "collecting", "steps": "gradient steps", "rest": "rest"}

aten: Any = torch.ops.aten

PRODUCTS = {
    aten.addmm.default,
    aten.mm.default,
    aten.convolution.default,
    aten.convolution_backward.default,
}
"""What libraries of linear algebra are called for."""

Call = Callable[[], object]


class Products(fx.Interpreter):
    """Takes the operations of a graph, and keeps the products among them as calls."""

    def __init__(self, graph: Graph, tensors: Sequence[Tensor]) -> None:
        super().__init__(graph.operations)
        self.calls: list[Call] = []
        with torch.no_grad():
            self.run(*map(copied, (*tensors, *graph.captured)))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target in PRODUCTS:
            self.calls.append(lambda: target(*args, **kwargs))
        return super().call_function(target, args, kwargs)


@contextmanager
def watched_products() -> Iterator[dict[str, list[Call]]]:
    """Those of a step of collecting and of a gradient step, as these are followed."""
    found: dict[str, list[Call]] = {}

    def follow(part: str) -> Callable[..., Graph]:
        def kept(function: Any, tensors: Any) -> Graph:
            graph = trace(function, tensors)
            found[part] = Products(graph, tensors).calls
            return graph

        return kept

    with (
        mock.patch("yieldrl.speed.compiled_call.trace", follow("collecting")),
        mock.patch("yieldrl.speed.compiled_step.trace", follow("steps")),
    ):
        yield found


def parts_of_rollout(watch: Watch) -> dict[str, float]:
    """Milliseconds of a rollout, by the names in `PARTS`."""
    found = watch.rollout()
    steps, whole = found["steps"], sum(found.values())
    names = ("acting", "worlds", "storing", "collecting")
    collecting = sum(found[name] for name in names)
    return {
        "collecting": collecting,
        "steps": steps,
        "rest": whole - collecting - steps,
    }


def time_products(calls: dict[str, list[Call]], config: ppo.Config) -> dict[str, float]:
    """Milliseconds of the products of a rollout, by the names in `PARTS`."""
    times = {
        "collecting": config.num_steps,
        "steps": config.num_epochs * config.num_minibatches,
    }
    found = {"rest": 0.0}
    for part, count in times.items():
        begin = time.perf_counter()
        with torch.no_grad():
            for _ in range(count):
                for call in calls[part]:
                    call()
        found[part] = 1e3 * (time.perf_counter() - begin)
    return found


def take_turns(precision: Any, num_threads: int, seed: int) -> dict[str, Any]:
    """Microseconds of an environment step: medians over the rollouts of each side."""
    fields = SETTINGS | {"precision": precision, "threads": num_threads, "seed": seed}
    config = ppo.Config.from_dict(fields)
    with ExitStack() as stack, watched_products() as calls:
        sides: dict[str, Rollout] = {}
        for side, speed in SPEEDS.items():
            own = dataclasses.replace(config, speed=speed)
            watch = Watch(stack.enter_context(ppo.Trainer(own)))
            watch.rollout()  # compiles
            sides[side] = partial(parts_of_rollout, watch)
        sides["products"] = partial(time_products, calls, config)
        taken = in_turns(sides, ROLLOUTS)
    scale = 1e3 / config.batch_size
    medians = {
        side: {
            part: round(scale * statistics.median(x[part] for x in found), 3)
            for part in PARTS
        }
        for side, found in taken.items()
    }
    case = {"precision": precision, "num_threads": num_threads}
    return {"seed": seed, **case, **medians}


CASES: list[dict[str, Any]] = [
    {"precision": precision, "num_threads": threads}
    for precision in ("float32", "bfloat16")
    for threads in (1, 2)
]


def measure(options: Options) -> list[dict[str, Any]]:
    """Every case with every seed, one process at a time: they are timed."""
    seeds = range(1, options.seeds + 1)
    cases = [{"seed": seed, **case} for seed in seeds for case in CASES]
    return each(take_turns, cases, jobs=1)


def medians_of(runs: Sequence[Run], case: Run, side: str) -> dict[str, float]:
    """Microseconds of each part of an environment step: medians over seeds."""
    own = [run[side] for run in runs if all(run[k] == v for k, v in case.items())]
    return {part: statistics.median(of[part] for of in own) for part in PARTS}


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """Nothing is asked: it says how much there is to gain."""
    return []


def table(runs: Sequence[Run]) -> Table:
    """Microseconds of each part, for every case and side."""
    rows: list[list[str]] = []
    for case in CASES:
        named = f"{case['precision']}, {case['num_threads']}"
        for side in SIDES:
            parts = medians_of(runs, case, side)
            numbers = [*parts.values(), sum(parts.values())]
            rows.append([named, side, *(f"{x:.1f}" for x in numbers)])
    return ["precision, threads", "microseconds", *PARTS.values(), "all"], rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """The parts of each side beside one another, as bars."""
    rows: dict[str, dict[str, float]] = {}
    for case in CASES:
        for side in SIDES:
            parts = medians_of(runs, case, side)
            words = f"{case['precision']}, {case['num_threads']}: {side}"
            rows[words] = {PARTS[part]: value for part, value in parts.items()}
    bars(axes, rows)
    axes.set_xlabel("microseconds of an environment step")


TRIAL = Trial(
    statement="PPO on MinAtar's Breakout: eager, compiled, and what its convolutions"
    " and products of matrices take alone.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings=SETTINGS,
)
