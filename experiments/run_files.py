"""What lies in the folder of a run, who writes it and how to read it.

config.yaml       the config, loadable with `--config`     written by the command line
run.json          which trainer, which versions            written by the command line
checkpoints/*.pt  step_000050000.pt, ..., best.pt          loggers.checkpoint
logs.csv          log_type, sample_step, ..., value        loggers.csv
"""

from __future__ import annotations

import csv
import json
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
import yaml

import yieldrl
from yieldrl.foundations.config import read_file
from yieldrl.loggers import list_checkpoints
from yieldrl.loggers.files import write_atomically

CONFIG, RUN, LOGS, CHECKPOINTS = "config.yaml", "run.json", "logs.csv", "checkpoints"


def describe(trainer: Any, **more: Any) -> None:
    """Write `config.yaml` and `run.json` into the folder of a trainer's run.

    Args:
        trainer: A trainer.
        more: Plain values for `run.json`, besides the trainer's module and versions.
    """
    run = {
        "trainer": type(trainer).__module__,
        "versions": {
            "yieldrl": yieldrl.__version__,
            "torch": str(torch.__version__),
            "gymnasium": gymnasium.__version__,
            "python": platform.python_version(),
        },
        **more,
    }
    text = yaml.safe_dump(trainer.config.to_dict(), sort_keys=False)
    write_atomically(trainer.run_dir / CONFIG, text)
    write_atomically(trainer.run_dir / RUN, json.dumps(run, indent=2) + "\n")


def read_run(run_dir: str | Path) -> dict[str, Any]:
    """What `run.json` says; nothing if the command line did not make the run."""
    path = Path(run_dir) / RUN
    return read_file(path) if path.is_file() else {}


def read_config(run_dir: str | Path) -> dict[str, Any]:
    """What `config.yaml` says; nothing if the command line did not make the run."""
    path = Path(run_dir) / CONFIG
    return read_file(path) if path.is_file() else {}


def find_checkpoint(run: str | Path, which: str = "last") -> Path:
    """The checkpoint that a person means.

    Args:
        run: Folder of a run, or a checkpoint file, which is taken as it is.
        which: `last`, `best` (the last if none was the best), or a file: a path, or its
            name in the run's folder of checkpoints.

    Raises:
        FileNotFoundError: If there is no such checkpoint.
    """
    run = Path(run)
    if run.is_file():
        return run
    if not run.is_dir():
        raise FileNotFoundError(f"{run}: no such folder of a run, nor a checkpoint")
    best, saved = run / CHECKPOINTS / "best.pt", list_checkpoints(run)
    if which == "best" and best.is_file():
        return best
    if which in ("best", "last"):
        if not saved:
            raise FileNotFoundError(f"{run}: no {CHECKPOINTS}/step_*.pt in this folder")
        return saved[0]
    for path in (Path(which), run / CHECKPOINTS / which):
        if path.is_file():
            return path
    names = [path.name for path in saved]
    raise FileNotFoundError(f"{which}: no such checkpoint; {run} has {names}")


def find_runs(paths: Iterable[str | Path]) -> list[Path]:
    """Folders that hold a `logs.csv`: those given, and those directly below them.

    Raises:
        FileNotFoundError: If one of the paths leads to none.
    """
    runs: list[Path] = []
    for path in map(Path, paths):
        below = sorted(file.parent for file in path.glob(f"*/{LOGS}"))
        found = [path] if (path / LOGS).is_file() else below
        if not found:
            raise FileNotFoundError(
                f"{path}: neither it nor a folder in it has a {LOGS}"
            )
        runs += found
    return list(dict.fromkeys(runs))


def read_curve(
    run_dir: str | Path, metric: str, log_type: str
) -> tuple[np.ndarray, np.ndarray]:
    """Environment steps `[P]` and values `[P]` of a metric, in rising order of steps.

    Raises:
        FileNotFoundError: If the run has no `logs.csv`.
        ValueError: If the metric was not logged; the message lists those that were.
    """
    path = Path(run_dir) / LOGS
    known: set[str] = set()
    curve: dict[int, float] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["value"] is None:
                continue  # a line torn by kill -9
            known.add(f"{row['log_type']}/{row['metric']}")
            if (row["log_type"], row["metric"]) == (log_type, metric):
                curve[int(row["sample_step"])] = float(row["value"])
    if not curve:
        has = ", ".join(sorted(known)) or "nothing"
        raise ValueError(f"{path}: no {log_type}/{metric}; it has {has}")
    steps = np.array(sorted(curve))
    return steps, np.array([curve[step] for step in steps.tolist()])


def family_name(run_dir: str | Path) -> str:
    """The folder's name without seed and time, for runs that left no config."""
    return re.sub(r"-seed\d+-\d{8}-\d{6}(-\d+)?$", "", Path(run_dir).name)
