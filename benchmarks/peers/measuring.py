"""One workload with all its peers, measured and written down."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from yieldrl.benchmarks import results

from . import venvs
from .rounds import Plan, Round, pythons_of, run_all
from .summary import judge, stretched, summarize
from .venvs import PEERS
from .workloads import FIRST, OURS, WORKLOADS, Workload


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line may choose."""

    # peers that take part, of those that can; all of them by default
    peers: tuple[str, ...] = ()
    runs: int | None = None  # rounds; 5, or 1 for the short table
    # environment steps of a run, instead of the workload's own
    steps: int | None = None
    venvs: Path | None = None  # folder of the virtual environments
    # for the short table: fewer steps, only peers of a demand, and no first runs
    quick: bool = False

    def peers_of(self, workload: Workload) -> tuple[str, ...]:
        """The peers that take part in a workload."""
        demanded = {demand.over for demand in workload.demands}
        chosen = self.peers or (demanded if self.quick else workload.peers)
        return tuple(name for name in workload.peers if name in chosen)

    def own_of(self, workload: Workload) -> tuple[str, ...]:
        """Sides of yieldrl's: one, and a first run where something is asked of it."""
        return (OURS, FIRST) if workload.has_first_run and not self.quick else (OURS,)

    def steps_of(self, workload: Workload) -> int:
        """Steps of a run, rounded up to whole rounds of collecting and updating.

        Raises:
            ValueError: If nothing remains after the warm-up.
        """
        own = workload.quick_steps if self.quick else workload.steps
        steps = own if self.steps is None else self.steps
        rounded = -(-steps // workload.period) * workload.period
        if rounded <= workload.warm_up:
            raise ValueError(
                f"--steps {steps}: {workload.title} warms up for"
                f" {workload.warm_up:,} steps; choose more"
            )
        return rounded


def benchmark(name: str, command: str, **options: Any) -> dict[str, Any]:
    """Measure a workload, and judge it; `options` are fields of `Options`.

    Raises:
        RuntimeError: If an environment cannot be made, or a side fails.
        ValueError: If no peer takes part, or for too few steps.
    """
    workload, chosen = WORKLOADS[name], Options(**options)
    peers, steps = chosen.peers_of(workload), chosen.steps_of(workload)
    if not peers:
        can = ", ".join(workload.peers)
        raise ValueError(f"none of --peers {' '.join(chosen.peers)} can run it: {can}")
    folder = chosen.venvs or venvs.default_folder()
    make = partial(venvs.python_of, folder=folder)
    pythons = pythons_of(chosen.own_of(workload), peers, make)
    runs = chosen.runs or (1 if chosen.quick else 5)
    result = results.circumstances("peers", command, range(1, runs + 1))
    plan = Plan(
        name=name,
        workload=workload,
        steps=steps,
        runs=runs,
        pythons=pythons,
        folder=folder,
        revision=result["revision"],
    )
    rounds = run_all(plan)
    return result | described(plan) | found(workload, rounds)


def described(plan: Plan) -> dict[str, Any]:
    of = plan.workload
    left_out = [name for name in of.peers if name not in plan.pythons]
    return {
        "workload": plan.name,
        "title": of.title,
        "settings": dict(of.settings),
        "measure": of.measure,
        "threads": of.threads,
        "planned": plan.planned,
        "steps": plan.steps,
        "part": dict(of.part),
        "warm_up": of.warm_up,
        "target": of.target,
        "episodes": of.episodes,
        "cold": of.cold,
        "requirements": {n: PEERS[n].requirements for n in plan.pythons if n in PEERS},
        "left_out": dict.fromkeys(left_out, "not asked for"),
    }


def found(workload: Workload, rounds: list[Round]) -> dict[str, Any]:
    sides = [name for name in rounds[0] if name in (OURS, FIRST, *PEERS)]
    versions = {side: rounds[0][side]["versions"] for side in sides}
    for round_ in rounds:
        for side in sides:
            del round_[side]["versions"]
    return {
        "versions_of": versions,
        "sides": summarize(workload, rounds),
        "demands": judge(workload, rounds),
        "stretches": stretched(workload, rounds),
        "rounds": rounds,
    }
