"""Rounds: every side once and then once more, each time in a process of its own.

Sides take turns (A B C A B C ...), because what else a machine does changes by the
minute. Finished rounds are kept, so that a run that fails costs one of them.
"""

import dataclasses
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .venvs import PEERS
from .workloads import FIRST, OURS, Workload

HERE = Path(__file__).resolve().parent
CACHE = "TORCHINDUCTOR_CACHE_DIR"  # where PyTorch keeps what it compiled
FIRST_RUN_SECONDS = 60.0  # of training, timed

Round = dict[str, Any]  # `seed`, when it `began`, and what every side answered


class SideError(RuntimeError):
    """A side's process ended with an error."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be run, by which Python of every side, in the order of their turns."""

    name: str
    workload: Workload
    steps: int
    runs: int
    pythons: Mapping[str, Path]
    folder: Path
    revision: str

    @property
    def planned(self) -> int:
        """Environment steps of the run that is begun."""
        return max(self.workload.planned, self.steps)

    def task(
        self, seed: int, side: str = OURS, *, only_settle: bool = False
    ) -> dict[str, Any]:
        """What a side is asked, in the words of `sides/contract.py`."""
        of, planned = self.workload, self.planned
        steps = planned if only_settle or side == FIRST else self.steps
        return {
            "workload": self.name,
            "settings": dict(of.settings),
            "steps": min(steps, of.part.get(side, steps)),
            "warm_up": of.warm_up,
            "planned": planned,
            "seed": seed,
            "threads": of.threads,
            "limited": not only_settle,
            "episodes": of.episodes,
            "target": of.target,
            "evaluate_every": None if only_settle else of.evaluate_every,
            "stop_at_target": of.stop_at_target,
            "seconds": FIRST_RUN_SECONDS if side == FIRST else None,
            "only_settle": only_settle,
        }


def run_all(plan: Plan) -> list[Round]:
    """All rounds, seeds 1 to `runs`; those that an earlier run finished are taken."""
    journal = Journal(plan)
    rounds = journal.read()
    if rounds:
        print(f"{plan.name}: {len(rounds)} rounds were finished before", flush=True)
    elif not plan.workload.cold:
        settle(plan)
    for seed in range(len(rounds) + 1, plan.runs + 1):
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        answers = {
            side: ask(plan, side, plan.task(seed, side)) for side in plan.pythons
        }
        rounds.append({"seed": seed, "began": began, **answers})
        journal.write(rounds)
        print(f"{plan.name}, round {seed} of {plan.runs}", flush=True)
    journal.forget()
    return rounds


def settle(plan: Plan) -> None:
    """Let yieldrl compile what it will want, and keep it, as between two runs of a
    user."""
    ask(plan, OURS, plan.task(1, only_settle=True))


def ask(plan: Plan, side: str, task: dict[str, Any]) -> Round:
    """Run a side once; what it answers, and the seconds of its process.

    Raises:
        SideError: If it ends with an error; the message ends with its output.
    """
    module = f"sides.{side}" if side in PEERS else "sides.ours"
    command = [str(plan.pythons[side]), "-m", module, json.dumps(task)]
    with tempfile.TemporaryDirectory() as empty:
        env = environment(plan, side, Path(empty))
        begin = time.perf_counter()
        child = subprocess.run(
            command, cwd=empty, env=env, capture_output=True, text=True
        )
        seconds = time.perf_counter() - begin
    if child.returncode != 0:
        raise SideError(
            f"{side} failed with seed {task['seed']}; finished rounds are kept, and the"
            f" same command goes on from there. It said:\n{child.stderr[-3000:]}"
        )
    answer = json.loads(child.stdout.splitlines()[-1])
    return answer | {"process_seconds": seconds - answer.pop("evaluation_seconds")}


def environment(plan: Plan, side: str, empty: Path) -> dict[str, str]:
    """The environment variables of a side's process. A peer finds `sides` and its own
    packages alone; a first run keeps its code in a new folder, `empty`."""
    env = dict(os.environ)
    known = env.pop("PYTHONPATH", "") if side not in PEERS else ""
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), known]))
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    env |= dict.fromkeys(pools, str(plan.workload.threads))
    if side in PEERS:
        return env
    is_first = plan.workload.cold or side == FIRST
    kept = (empty if is_first else plan.folder) / "compiled"
    return env | {CACHE: str(kept.absolute())}


class Journal:
    """Finished rounds of a plan, in a file until all are there; not those of another
    plan."""

    def __init__(self, plan: Plan) -> None:
        self.path = plan.folder / f"unfinished-{plan.name}.json"
        self.most = plan.runs
        requirements = {n: PEERS[n].requirements for n in plan.pythons if n in PEERS}
        tasks = {side: plan.task(0, side) for side in plan.pythons}
        of = [tasks, requirements, plan.revision]
        self.fingerprint = json.loads(json.dumps(of))

    def read(self) -> list[Round]:
        """The rounds of an earlier run that was not finished."""
        if not self.path.exists():
            return []
        found = json.loads(self.path.read_text("utf-8"))
        same = found["fingerprint"] == self.fingerprint
        return found["rounds"][: self.most] if same else []

    def write(self, rounds: list[Round]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"fingerprint": self.fingerprint, "rounds": rounds}
        self.path.write_text(json.dumps(kept), "utf-8")

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


def pythons_of(
    own: tuple[str, ...], peers: tuple[str, ...], make: Callable[[str], Path]
) -> dict[str, Path]:
    """Side -> its Python: yieldrl's is this one, peers' are made."""
    python = Path(sys.executable)
    return dict.fromkeys(own, python) | {name: make(name) for name in peers}
