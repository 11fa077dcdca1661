"""The circumstances of a measurement: command, date, revision, machine and versions."""

import datetime
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("yieldrl", "torch", "tensordict", "gymnasium", "numpy")
BASELINES = ("stable-baselines3", "sb3-contrib", "mujoco", "mujoco-warp", "box2d")
BASELINES += ("minatar", "envpool", "gymnax", "jax", "robosuite")


def circumstances(kind: str, command: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Everything about a measurement but its numbers; `command` repeats it."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "kind": kind,
        "command": command,
        "date": now.isoformat(timespec="seconds"),
        "revision": _revision(),
        "hardware": hardware(),
        "versions": versions(),
        "seeds": list(seeds),
    }


def hardware() -> dict[str, Any]:
    """This machine, and how busy others kept it when the measurement began."""
    return {
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "load_average": round(psutil.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in (*PACKAGES, *BASELINES):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _revision() -> str:
    """The commit, with `-dirty` where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "uncommitted"
