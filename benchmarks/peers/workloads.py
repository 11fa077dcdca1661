"""Workloads, as `workloads.yaml` lists them: settings, sides, steps and demands; and a
virtual environment for each peer, made when it is first needed: peers ask for versions
of packages that contradict each other and ours."""

import os
import subprocess
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic.dataclasses import dataclass

from yieldrl.core.files import read_file

OURS = "yieldrl"
COMPILED = "compiled"  # key of the side of yieldrl whose config says `compile=True`
# what is compared: environment steps per second between two marks, or the seconds of
# the whole process
Measure = Literal["steps_per_second", "process_seconds"]


@dataclass(frozen=True, kw_only=True)
class Demand:
    """How many times faster yieldrl is to be than a peer."""

    over: str
    times: float
    compiled: float | None = None  # of the compiled side; None where there is none


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A training that several libraries can run with the same hyper-parameters."""

    title: str
    # hyper-parameters in the words of the yieldrl config, the same for all sides
    settings: Mapping[str, Any]
    demands: tuple[Demand, ...]
    # deterministic return that counts as learned; in the median yieldrl has to reach
    # it, or its speed is worth nothing
    learned: float
    steps: int
    warm_up: int  # environment steps before the timing starts; past the first updates
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


class Peer(NamedTuple):
    title: str
    requirements: tuple[str, ...]  # pinned, so that a result can be repeated


# key -> peer; its side is `sides/KEY.py`
PEERS = {name: Peer(**of) for name, of in _FILE["peers"].items()}
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def python_of(name: str, folder: Path) -> Path:
    """The Python of a peer's environment, which is made, or brought up to its
    requirements.

    Raises:
        RuntimeError: If it cannot be made.
    """
    wanted, home = PEERS[name].requirements, (folder / name).absolute()
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"{name}: installing {', '.join(wanted)} in {home}", flush=True)
        venv.create(home, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *wanted]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(
            f"{name}: pip cannot install {', '.join(wanted)}:\n{done.stderr[-1000:]}\n"
            f"On Linux PIP_EXTRA_INDEX_URL={CPU_INDEX} takes a small build of PyTorch;"
            " to do without it: name the others by --peers"
        )
    return python
