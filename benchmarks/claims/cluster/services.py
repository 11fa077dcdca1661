"""Service times of Ray and of a policy: what the simulation of a cluster is made of.

`ms` is on the clock; `own` what the learner's process computes of it, which it can do
for one worker at a time only.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import ray
import torch
from torch import nn

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.trial import Runs, Table, Trial
from yieldrl.distributed.weights import Signature, learned, load, packed

from .steps import FIELDS, Costly

MEGABYTES = 1, 10, 100
RECEIVERS = 1, 2, 4
WORKERS = 1, 2, 4, 8
BATCHES = 1, 64
ROWS = 32
REPEATS = 20

WAYS = {"weights": "checked and loaded", "put": "by ray.put and ray.get alone"}
LABELS = {
    "call": "a call of an actor",
    **{f"segment {n}": f"a segment of {ROWS} rows, workers: {n}" for n in WORKERS},
    **{f"batch {n}": f"actions, observations: {n}" for n in BATCHES},
    **{
        f"{way} {mb} {n}": f"{mb} MB {what}, receivers: {n}"
        for mb in MEGABYTES
        for n in RECEIVERS
        for way, what in WAYS.items()
    },
}


class Receiver:
    """Takes weights, or any arrays."""

    def __init__(self, size: int) -> None:
        self.model = nn.Linear(size, 1, bias=False)

    def load(self, signature: Signature, arrays: Any) -> None:
        load(self.model, arrays, signature)

    def take(self, arrays: Any) -> int:
        return len(arrays)


def timed(function: Callable[[], Any]) -> dict[str, float]:
    """Medians of wall and CPU milliseconds of a call."""
    function()
    found: list[tuple[float, float]] = []
    for _ in range(REPEATS):
        begin, used = time.perf_counter(), time.process_time()
        function()
        took = time.perf_counter() - begin, time.process_time() - used
        found.append(took)
    wall, cpu = (statistics.median(of) * 1e3 for of in zip(*found, strict=True))
    return {"ms": round(wall, 3), "own": round(cpu, 3)}


def broadcast(mb: int) -> Iterator[dict[str, Any]]:
    """By the signature and with loading, and by Ray alone, to ever more receivers."""
    model = nn.Linear(mb * 250_000, 1, bias=False)
    kind = ray.remote(Receiver)
    actors = [kind.options(num_cpus=0).remote(mb * 250_000) for _ in range(4)]

    def weights(count: int) -> None:
        tensors = learned(model)
        sent = Signature.of(tensors, 1), ray.put(packed(tensors))
        ray.get([actor.load.remote(*sent) for actor in actors[:count]])

    def put(count: int) -> None:
        sent = ray.put(packed(learned(model)))
        ray.get([actor.take.remote(sent) for actor in actors[:count]])

    for name, way in {"weights": weights, "put": put}.items():
        for count in RECEIVERS:
            took = timed(lambda way=way, count=count: way(count))
            yield {"name": f"{name} {mb} {count}", **took}
    for actor in actors:
        ray.kill(actor)


def segment(workers: int) -> dict[str, Any]:
    """Until a segment that was just asked for is there; a step costs nothing."""
    fields: Any = FIELDS | {"num_envs": workers, "max_policy_lag": 0}
    config = ppo.Config(**fields, collection="ray", rollout_workers=workers)
    with ppo.Trainer(config, envs=Costly) as trainer:
        took = timed(lambda: trainer.collector.collect(ROWS))
    return {"name": f"segment {workers}", "workers": workers, **took}


def batch(size: int) -> dict[str, Any]:
    with ppo.Trainer(ppo.Config(**FIELDS), envs=Costly) as trainer:
        obs = np.zeros((size, 4), np.float32)
        took = timed(lambda: trainer.agent.sample(obs))
    return {"name": f"batch {size}", "size": size, **took}


def services(seed: int) -> dict[str, Any]:
    """All of them, of one process and one Ray."""
    torch.manual_seed(seed)
    ray.init(num_cpus=10, include_dashboard=False, log_to_driver=False)
    actor = ray.remote(Receiver).options(num_cpus=0).remote(1)
    found = [{"name": "call", **timed(lambda: ray.get(actor.take.remote(())))}]
    found += [segment(workers) for workers in WORKERS]
    found += [batch(size) for size in BATCHES]
    found += [row for mb in MEGABYTES for row in broadcast(mb)]
    return {"runs": [{"seed": seed, **run} for run in found]}


def table(runs: Runs) -> Table:
    rows = [
        [label, *(f"{median(runs, of, name=name):.2f}" for of in ("ms", "own"))]
        for name, label in LABELS.items()
    ]
    return ["what", "ms", "ms of the sender's CPU"], rows


def draw(axes: Any, runs: Runs) -> None:
    for color, mb in zip(COLORS, MEGABYTES, strict=False):
        for name, style in (("weights", ".-"), ("put", "x:")):
            to = [median(runs, "ms", name=f"{name} {mb} {n}") for n in RECEIVERS]
            label = f"{mb} MB, {WAYS[name]}"
            axes.plot(RECEIVERS, to, style, color=color, label=label)
    axes.set_xticks(RECEIVERS, [str(n) for n in RECEIVERS])


CLAIMS = [
    Trial(
        name="cluster-services",
        statement=(
            "What Ray takes for a segment, a call and a broadcast of weights, and a"
            " policy for a batch of observations."
        ),
        settings={"rows": ROWS, "repeats": REPEATS},
        run=services,
        timed=True,
        table=table,
        draw=draw,
        axes={
            "title": "Weights from one process until all receivers act with them",
            "xlabel": "receivers",
            "ylabel": "milliseconds",
            "yscale": "log",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
