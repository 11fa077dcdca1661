"""Workloads, as `workloads.yaml` lists them: settings, sides, steps and demands."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from yieldrl.core.files import read_file

OURS = "yieldrl"

# key of the side of yieldrl whose config says `compile=True`
COMPILED = "compiled"

# what is compared: environment steps per second between two marks, or the seconds of
# the whole process
Measure = Literal["steps_per_second", "process_seconds"]


@dataclass(frozen=True, kw_only=True)
class Demand:
    """How many times faster yieldrl is to be than a peer."""

    over: str
    times: float
    # the same of the compiled side; None where there is none
    compiled: float | None = None


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A training that several libraries can run with the same hyper-parameters."""

    title: str
    # hyper-parameters in the words of the yieldrl config, the same for all sides
    settings: Mapping[str, Any]
    peers: tuple[str, ...]
    demands: tuple[Demand, ...]
    # deterministic return that counts as learned; in the median yieldrl has to reach
    # it, or its speed is worth nothing
    learned: float
    steps: int
    warm_up: int  # environment steps before the timing starts; past the first updates
    period: int  # environment steps of one round of collecting and updating
    quick_steps: int  # steps of a run for the short table
    # environment steps of the run that this is the beginning of; schedules go by it
    planned: int = 1_000_000
    measure: Measure = "steps_per_second"
    threads: int = 1  # cores that a side may use
    episodes: int = 20
    evaluate_every: int | None = None


_FILE = read_file(Path(__file__).with_suffix(".yaml"))

# workload -> what it is. `docs/results/peers-WORKLOAD.json` keeps the result.
WORKLOADS = {name: Workload(**of) for name, of in _FILE["workloads"].items()}
