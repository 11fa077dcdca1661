"""Result files: where their numbers come from, how they are written and printed."""

import contextlib
import datetime
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from yieldrl.loggers.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "results"
PACKAGES = ("yieldrl", "torch", "tensordict", "gymnasium", "numpy", "mujoco")
PACKAGES += ("stable-baselines3", "sb3-contrib", "minatar", "envpool", "gymnax", "jax")
PACKAGES += ("robosuite", "metaworld", "gym-pusht", "box2d", "bsuite", "shimmy")


def circumstances(kind: str, command: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Everything about a measurement but its numbers; `command` repeats it."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:  # those that decide a measurement
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return {
        "kind": kind,
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "revision": _revision(),
        "hardware": {
            "cpu": _cpu_model(),
            "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
            "system": platform.platform(),
            "load_average": round(psutil.getloadavg()[0], 2),
        },
        "versions": versions,
        "seeds": list(seeds),
    }


def save(result: dict[str, Any], path: Path) -> Path:
    """Write a result as JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, dumps(result) + "\n")
    return path


def load(path: str | Path) -> dict[str, Any]:
    """A result file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def dumps(result: dict[str, Any]) -> str:
    """JSON with a line for each entry, and in lists of objects for each object.

    >>> print(dumps({"seeds": [1, 2], "runs": [{"seed": 1}, {"seed": 2}]}))
    {
     "seeds": [1,2],
     "runs": [
      {"seed":1},
      {"seed":2}
     ]
    }
    """
    compact = partial(json.dumps, separators=(",", ":"))
    lines: list[str] = []
    for name, value in result.items():
        text = compact(value)
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            text = "[\n  " + ",\n  ".join(map(compact, value)) + "\n ]"
        lines.append(f' "{name}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, aligned so that a terminal shows it well too.

    >>> print(table(["name", "value"], [["a", "1"]]))
    | name | value |
    |------|-------|
    | a    | 1     |
    """
    columns = zip(header, *rows, strict=True)
    widths = [max(len(cell) for cell in column) for column in columns]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (width + 2) for width in widths)
    return "\n".join([line(header), f"|{rule}|", *map(line, rows)])


def link(name: str) -> str:
    """A committed result, as a page beside the folder `results` links to it."""
    return f"[{name}](results/{name}.json)"


def footer(result: dict[str, Any]) -> str:
    """The circumstances as the lines under a table."""
    machine = result["hardware"]
    packages = ", ".join(f"{name} {v}" for name, v in result["versions"].items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, load {machine['load_average']}"
        f" at the start; {result['date']}; seeds {result['seeds']}\n"
        f"{packages}; revision {result['revision']}\n{result['command']}"
    )


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text("utf-8").splitlines() if info.is_file() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _revision() -> str:
    """The commit, with `-dirty` where files differ that are no results themselves."""
    words = (
        ("describe", "--always", "--exclude=*"),
        ("status", "-s", "-uno", "--", ".", ":!docs/results"),
    )
    how: Any = {"cwd": ROOT, "capture_output": True, "text": True}
    done = [subprocess.run(["git", *of], **how) for of in words]
    commit, differ = (of.stdout.strip() for of in done)
    return (commit + "-dirty" * bool(differ)) or "uncommitted"
