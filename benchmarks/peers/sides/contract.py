"""What every side is asked, and what it answers: a line of JSON each.

Python's own library alone, because every peer's environment runs this file.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to train, and what to look at while doing so."""

    workload: str
    # hyper-parameters in the words of the yieldrl config, for all sides
    settings: dict[str, Any]
    steps: int  # environment steps after which training stops
    warm_up: int  # environment steps before the timing starts
    planned: int  # environment steps of the run that schedules go by
    seed: int
    threads: int  # cores of the processor
    episodes: int  # deterministic episodes of an evaluation
    # environment steps between evaluations while it trains
    evaluate_every: int | None = None
    compiled: bool = False  # whether yieldrl compiles

    @property
    def batch_size(self) -> int:
        """Transitions of a rollout, of algorithms that have one."""
        return self.settings["num_envs"] * self.settings["num_steps"]

    @property
    def minibatch_size(self) -> int:
        """Transitions of a minibatch."""
        return self.batch_size // self.settings["num_minibatches"]

    @property
    def gradient_steps(self) -> int:
        """Gradient steps of a rollout, of algorithms that make epochs."""
        return self.settings["num_epochs"] * self.settings["num_minibatches"]

    def named(self, kind: str) -> dict[str, Any]:
        """The settings that a library knows too, by the names in `names.json`."""
        names = json.loads(Path(__file__).with_name("names.json").read_text("utf-8"))
        return {theirs: self.settings[ours] for theirs, ours in names[kind].items()}


def main(sides: dict[str, Callable[[Task], dict[str, Any]]]) -> None:
    """Read the task from the command line, train by the workload's function, and
    answer."""
    task = Task(**json.loads(sys.argv[1]))
    limit_threads(task.threads)
    answer = sides[task.workload](task)
    print(json.dumps(answer), flush=True)


def limit_threads(threads: int) -> None:
    """Let this process use so many cores, whatever counts threads in it."""
    if hasattr(os, "sched_setaffinity"):  # Linux alone has it
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
