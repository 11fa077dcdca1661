"""Files in the folder of a run: their writers, and how to read them.

config.yaml       the whole run, loadable with `--config`  `trainer.run.claim`
run.json          trainer, command, versions, machine      `trainer.run.claim`
owner.json        the process that trains or trained here  `trainer.run.claim`
cluster.json      the workers on Ray, and their progress   `yieldrl train`
checkpoints/*.pt  step_000050000.pt, ..., best.pt          loggers.checkpoint
model.safetensors an agent to play, of others              `yieldrl import`
logs.csv          log_type, sample_step, ..., value        loggers.csv
evaluations/      the episodes of an evaluation            `yieldrl evaluate`
"""

import csv
import io
import json
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

import yieldrl
from yieldrl import loggers
from yieldrl.core import resolve_device
from yieldrl.core.config_blocks import flat, nearest, to_blocks
from yieldrl.core.files import read_file, to_yaml
from yieldrl.loggers.files import BEST, write_atomically

AGENT = "model.safetensors"
"""Name of an agent's file in a folder, as on the Hugging Face hub."""

CONFIG, RUN, LOGS, CHECKPOINTS = "config.yaml", "run.json", "logs.csv", "checkpoints"
EVALUATIONS = "evaluations"


def describe(trainer: Any, whole: dict[str, Any] | None = None) -> None:
    """Write `config.yaml` and `run.json` into the folder of a trainer's run.

    `whole` is the run in blocks; by default it is made from the trainer, with the path
    of its model's class, and without loggers, which the trainer does not know.
    """
    folder, facts = trainer.run.claim(), description(trainer, whole)
    facts["command"] = read_run(folder).get("command", facts["command"])  # the first
    trainer.run.description = facts
    write_description(folder, facts)


def description(trainer: Any, whole: dict[str, Any] | None = None) -> dict[str, Any]:
    """The content of `run.json`: trainer, config, command, versions and machine."""
    device = resolve_device(trainer.config.device)
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {
        "trainer": type(trainer).__module__,
        "command": _command(),
        "config": _blocks(trainer) if whole is None else whole,
        "versions": {
            "yieldrl": yieldrl.__version__,
            "torch": str(torch.__version__),
            "gymnasium": gymnasium.__version__,
            "python": platform.python_version(),
        },
        "machine": {
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "device": str(device),
            "gpu": gpu,
        },
        "threads": torch.get_num_threads(),
    }


def _command() -> str:
    """How this program was called, without the folders where it lies."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)  # of `python -m`
    name = f"python -m {main.name.removesuffix('.__main__')}" if main else ""
    if "kernel_launcher" in name:  # Jupyter's and Colab's
        return "a notebook"
    return f"{name or Path(sys.argv[0]).name} {shlex.join(sys.argv[1:])}".strip()


def write_description(folder: Path, facts: dict[str, Any]) -> None:
    """Write `run.json`, and its config as `config.yaml`, which `--config` takes."""
    write_atomically(folder / RUN, json.dumps(facts, indent=2, default=str) + "\n")
    whole = to_yaml(facts["config"])
    write_atomically(folder / CONFIG, whole)  # last: if it exists, both do


def _blocks(trainer: Any) -> dict[str, Any]:
    blocks, model = to_blocks(trainer.config), type(trainer.model)
    path = f"{model.__module__}:{model.__qualname__}"
    usual = model is getattr(type(trainer), "model_class", None)
    policy = {"name": "default" if usual else path, "cfg": {}}
    algorithm = {"name": trainer_name(type(trainer)), "cfg": blocks["algorithm"]}
    return blocks | {"policy": policy, "algorithm": algorithm}


def trainer_name(cls: type[Any]) -> str:
    """The name of a trainer in a config file: that of its folder, or a path."""
    package = cls.__module__.rpartition(".")[0]
    if getattr(sys.modules.get(package), "Trainer", None) is cls:
        return package.removeprefix("yieldrl.algorithms.")
    return f"{cls.__module__}:{cls.__qualname__}"


def algorithm_name(module: str) -> str:
    """The algorithm whose trainer a module defines: the name of its folder.

    >>> algorithm_name("yieldrl.algorithms.ppo.trainer"), algorithm_name("mine")
    ('ppo', 'mine')
    """
    package, _, last = module.rpartition(".")
    return package.rpartition(".")[2] if last in ("trainer", "algorithm") else last


def read_run(run_dir: str | Path) -> dict[str, Any]:
    """The content of `run.json`; empty if there is none."""
    path = Path(run_dir) / RUN
    return read_file(path) if path.is_file() else {}


def read_config(run_dir: str | Path) -> dict[str, Any]:
    """The content of `config.yaml`, without its blocks; empty if there is none.

    It has the config's fields, `loggers`, and `policy` if it is not the default.
    """
    path = Path(run_dir) / CONFIG
    return flat(read_file(path)) if path.is_file() else {}


def refuse_edited_config(run_dir: str | Path, total_steps: int | None = None) -> None:
    """Refuse to go on with a run whose `config.yaml` is no longer the one it wrote.

    A run goes on with the config of its checkpoint, so the edit would do nothing. The
    field `total_steps` is not compared if another value is given. ValueError if the
    file differs; the message says where, and what to do.
    """
    ran, edited = flat(read_run(run_dir).get("config") or {}), read_config(run_dir)
    if not ran or not edited:
        return
    edited = json.loads(json.dumps(edited, default=str))  # as run.json would hold it
    names = dict.fromkeys([*ran, *edited])
    wrong = [
        f"{name} is {edited.get(name, 'not there')}, it ran with"
        f" {ran.get(name, 'not there')}"
        for name in names
        if ran.get(name) != edited.get(name)
        and not (name == "total_steps" and total_steps is not None)
    ]
    if wrong:
        path = Path(run_dir) / CONFIG
        raise ValueError(
            f"{path} was edited: {', '.join(wrong)}. A run goes on with the config"
            " that it began with: undo the edit, give --total-steps if that is what"
            f" changed, or train a new run with it (--config {path})"
        )


def all_checkpoints(run: str | Path) -> list[Path]:
    """All checkpoints of a run, in the order to try them; or FileNotFoundError.

    `run` is its folder, or a checkpoint file, which is taken as it is. Where there are
    none, it is the agent to play that lies there.
    """
    run = Path(run)
    if run.is_file():
        return [run]
    if not run.is_dir():
        raise FileNotFoundError(f"{run}: no such folder of a run, nor a checkpoint")
    best = run / CHECKPOINTS / BEST
    saved = [*loggers.list_checkpoints(run), *([best] if best.is_file() else [])]
    saved = saved or [path for path in (run / AGENT,) if path.is_file()]
    if not saved:
        raise FileNotFoundError(
            f"{run}: no {CHECKPOINTS}/step_*.pt in this folder: train again, with"
            f" --config {run / CONFIG} if it is there"
        )
    return saved


def is_agent(path: str | Path) -> bool:
    """Whether a file is an agent to play, by its name, and no checkpoint."""
    return Path(path).suffix == Path(AGENT).suffix


def find_checkpoint(run: str | Path, which: str = "last") -> Path:
    """Find the checkpoint that a user names; FileNotFoundError if there is none.

    Args:
        run: Folder of a run, or a checkpoint file, which is taken as it is.
        which: `last`, `best` (the last if none was the best), or a file, by its path or
            its name in the run's folder of checkpoints.
    """
    saved = all_checkpoints(run)
    if Path(run).is_file() or which == "last":
        return saved[0]
    if which == "best":
        return saved[-1] if saved[-1].name == BEST else saved[0]
    for path in (Path(which), Path(run) / CHECKPOINTS / which):
        if path.is_file():
            return path
    names = [path.name for path in saved]
    raise FileNotFoundError(f"{which}: no such checkpoint; {run} has {names}")


def find_runs(paths: Iterable[str | Path]) -> list[Path]:
    """Folders that hold a `logs.csv`: those given, and those directly below them.

    FileNotFoundError if one of the paths leads to none, ValueError without paths.
    """
    runs: list[Path] = []
    for path in map(Path, paths):
        below = sorted(x.parent for x in path.glob(f"*/{LOGS}") if x.is_file())
        folders = [path] if (path / LOGS).is_file() else below
        if not folders:
            raise FileNotFoundError(
                f"{path}: neither it nor a folder in it has a {LOGS}"
            )
        runs += folders
    if not runs:
        raise ValueError("no runs: name at least one folder of a run")
    return list(dict.fromkeys(runs))


def read_curve(
    run_dir: str | Path, metric: str, log_type: str
) -> tuple[np.ndarray, np.ndarray]:
    """Environment steps `[P]` and values `[P]` of a metric, in rising order of steps.

    Raises:
        FileNotFoundError: If the run has no `logs.csv`.
        ValueError: If the metric was not logged, or a row cannot be read.
    """
    curves, name = read_curves(run_dir), f"{log_type}/{metric}"
    if name not in curves:
        hint = nearest(name, curves) if curves else "it has nothing"
        raise ValueError(f"{Path(run_dir) / LOGS}: no {name}: {hint}")
    return curves[name]


def read_curves(run_dir: str | Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """`log_type/metric` -> what `read_curve` returns, of all that was logged."""
    logged: dict[str, dict[int, float]] = {}
    for kind, name, step, value in _rows(Path(run_dir) / LOGS):
        logged.setdefault(f"{kind}/{name}", {})[step] = value
    return {
        name: (np.array(sorted(curve)), np.array([curve[x] for x in sorted(curve)]))
        for name, curve in logged.items()
    }


def last_step(run_dir: str | Path) -> int:
    """The newest environment step of a run's `logs.csv`; 0 if it has none."""
    path = Path(run_dir) / LOGS
    return max((row[2] for row in _rows(path)), default=0) if path.is_file() else 0


def _rows(path: Path) -> Iterator[tuple[str, str, int, float]]:
    """Type, metric, step and value of every whole row of a `logs.csv`."""
    text = path.read_text("utf-8")
    whole = text[: text.rfind("\n") + 1]  # without a row torn by a kill
    table = csv.DictReader(io.StringIO(whole, newline=""))
    try:
        for row in table:
            step, value = int(row["sample_step"]), float(row["value"])
            yield row["log_type"], row["metric"], step, value
    except (KeyError, TypeError, ValueError, csv.Error):
        raise ValueError(
            f"{path}, line {table.line_num}: not a row of log_type, sample_step,"
            " learn_step, metric and value, as loggers.csv writes them"
        ) from None
