"""Workloads, as `workloads.yaml` lists them: settings, sides, steps and demands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from yieldrl.foundations.files import read_file

# environment steps of the run that a measurement is a part of: `speed="auto"` decides
# as for it, and schedules go by it
PLANNED = 1_000_000

OURS = "yieldrl"

# key of a side of yieldrl that begins as on a machine where it was never run: nothing
# is compiled. It is timed until a minute of training has passed.
FIRST = "first_run"

# what is compared: environment steps per second between two marks, the seconds of
# training until an evaluation reaches the target, or those of the whole process
Measure = Literal["steps_per_second", "seconds_to_target", "process_seconds"]


@dataclass(frozen=True, kw_only=True)
class Demand:
    """How many times faster yieldrl is to be than a peer."""

    over: str
    times: float | None = None  # what is asked for; None where there is only a stretch
    stretch: float | None = None  # what would be better still
    # what is asked for of a first run; None where none is made
    first_run: float | None = None


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
    minutes: int  # what five rounds with all peers take, about, on two quiet cores
    # environment steps of the run that this is the beginning of; no fewer than those
    # that are taken
    planned: int = PLANNED
    measure: Measure = "steps_per_second"
    threads: int = 1  # cores that a side may use
    # peer -> steps after which it stops, where all of them would take it minutes; its
    # speed is that of this part, and so is its return
    part: Mapping[str, int] = field(default_factory=dict)
    episodes: int = 20
    evaluate_every: int | None = None
    stop_at_target: bool = False
    # whether yieldrl begins with nothing compiled by an earlier run, as on a machine
    # where it was never run
    cold: bool = False

    def __post_init__(self) -> None:
        of = {name: getattr(self, name) for name in ("steps", "warm_up", "quick_steps")}
        for name, steps in (of | dict(self.part)).items():
            if steps % self.period:
                raise ValueError(f"{self.title}: {name} must be whole rounds (period)")

    @property
    def has_first_run(self) -> bool:
        return any(demand.first_run is not None for demand in self.demands)

    @property
    def target(self) -> float | None:
        return self.learned if self.evaluate_every else None


def _workload(fields: dict[str, Any]) -> Workload:
    demands = tuple(Demand(**demand) for demand in fields["demands"])
    return Workload(**fields | {"demands": demands, "peers": tuple(fields["peers"])})


# workload -> what it is. `docs/results/peers-WORKLOAD.json` keeps the result.
WORKLOADS = {
    name: _workload(fields)
    for name, fields in read_file(Path(__file__).with_suffix(".yaml"))[
        "workloads"
    ].items()
}
