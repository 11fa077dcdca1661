"""What training on images takes beside its convolutions and products of matrices, which
are calls of the same libraries under every framework and are timed alone here."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.peers.workloads import WORKLOADS
from yieldrl.benchmarks.runs import median
from yieldrl.benchmarks.style import bars
from yieldrl.benchmarks.timing import in_turns
from yieldrl.benchmarks.trial import Runs, Table, Trial

from .profile_ppo import Watch

ROLLOUTS = 10  # of each side in a seed, after those that are not counted

SETTINGS: dict[str, Any] = {
    **WORKLOADS["W6"].settings,
    "env_id": "yieldrl/MinAtar-Breakout-v1",
    "total_steps": 10**9,
    "eval_every": 0,
    "device": "cpu",
}

CASES: list[dict[str, Any]] = [
    {"precision": precision, "num_threads": threads}
    for precision in ("float32", "bfloat16")
    for threads in (1, 2)
]
SPEEDS = {"eager": "eager", "compiled": "compile"}

SIDES = (*SPEEDS, "products")
PARTS = {"collecting": "collecting", "steps": "gradient steps", "rest": "rest"}

aten: Any = torch.ops.aten

# the calls of libraries of linear algebra
PRODUCTS = {
    aten.addmm.default,
    aten.mm.default,
    aten.convolution.default,
    aten.convolution_backward.default,
}

Call = Callable[[], object]


class Products(TorchDispatchMode):
    """Keeps the products among the operations within it, as calls of their own."""

    def __init__(self, calls: list[Call]) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in PRODUCTS:
            copies = tree_map_only(Tensor, Tensor.clone, args)
            self.calls.append(partial(func, *copies, **kwargs))
        return func(*args, **kwargs)


def products_of(owner: Any, name: str) -> list[Call]:
    """Those of the next call of a method, which are there after it."""
    function: Callable[..., Any] = getattr(owner, name)
    calls: list[Call] = []

    def watched(*args: Any, **kwargs: Any) -> Any:
        setattr(owner, name, function)
        with Products(calls):
            return function(*args, **kwargs)

    setattr(owner, name, watched)
    return calls


def products_of_rollout(watch: Watch) -> dict[str, list[Call]]:
    """Those of a step of collecting and of a gradient step."""
    trainer = watch.trainer
    found = {
        "collecting": products_of(trainer.collector, "step"),
        "steps": products_of(trainer.agent.algorithm, "minimize"),
    }
    watch.rollout()
    return found


def parts_of_rollout(watch: Watch) -> dict[str, float]:
    """Milliseconds of a rollout, by the names in `PARTS`."""
    found = watch.rollout()
    names = ("acting", "worlds", "storing", "collecting")
    collecting, steps = sum(found[name] for name in names), found["steps"]
    rest = sum(found.values()) - collecting - steps
    return {"collecting": collecting, "steps": steps, "rest": rest}


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
    fields = SETTINGS | {"precision": precision, "threads": num_threads, "seed": seed}
    config = ppo.Config.from_dict(fields)
    with ExitStack() as stack:
        sides: dict[str, Callable[[], dict[str, float]]] = {}
        watches: dict[str, Watch] = {}
        for side, speed in SPEEDS.items():
            own = dataclasses.replace(config, speed=speed)
            watches[side] = Watch(stack.enter_context(ppo.Trainer(own)))
            watches[side].rollout()  # compiles
            sides[side] = partial(parts_of_rollout, watches[side])
        calls = products_of_rollout(watches["eager"])
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


def medians_of(runs: Runs) -> Iterator[tuple[str, str, dict[str, float]]]:
    for case in CASES:
        named = f"{case['precision']}, {case['num_threads']}"
        for side in SIDES:
            yield (
                named,
                side,
                {part: median(runs, side, part, **case) for part in PARTS},
            )


def table(runs: Runs) -> Table:
    rows = [
        [case, side, *(f"{x:.1f}" for x in (*parts.values(), sum(parts.values())))]
        for case, side, parts in medians_of(runs)
    ]
    return ["precision, threads", "microseconds", *PARTS.values(), "all"], rows


def draw(axes: Any, runs: Runs) -> None:
    rows = {
        f"{case}: {side}": {PARTS[part]: value for part, value in parts.items()}
        for case, side, parts in medians_of(runs)
    }
    bars(axes, rows)


CLAIMS = [
    Trial(
        name="time-images",
        statement=(
            "PPO on MinAtar's Breakout: eager, compiled, and what its convolutions and"
            " products of matrices take alone."
        ),
        run=take_turns,
        cases=CASES,
        settings=SETTINGS,
        timed=True,
        table=table,
        draw=draw,
        axes={"xlabel": "microseconds of an environment step"},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
