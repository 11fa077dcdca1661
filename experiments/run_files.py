"""Files in the folder of a run: their writers, and how to read them.

config.yaml       the whole run, loadable with `--config`  the trainer's `claim`
run.json          which trainer, which versions            the trainer's `claim`
owner.json        the process that trains or trained here  the trainer's `claim`
cluster.json      the workers on Ray, and their progress   `yieldrl train`
checkpoints/*.pt  step_000050000.pt, ..., best.pt          loggers.checkpoint
logs.csv          log_type, sample_step, ..., value        loggers.csv
"""

import json
import platform
import sys
from pathlib import Path
from typing import Any

import gymnasium
import torch

import yieldrl
from yieldrl.foundations.config_blocks import flat, to_blocks
from yieldrl.foundations.files import read_file, to_yaml
from yieldrl.loggers import list_checkpoints
from yieldrl.loggers.checkpoints import BEST
from yieldrl.loggers.files import place, write_atomically

CONFIG, RUN, LOGS, CHECKPOINTS = "config.yaml", "run.json", "logs.csv", "checkpoints"


def describe(trainer: Any, whole: dict[str, Any] | None = None) -> None:
    """Write `config.yaml` and `run.json` into the folder of a trainer's run.

    `whole` is the run in blocks; by default it is made from the trainer, with the path
    of its model's class, and without loggers, which the trainer does not know.
    """
    whole = _blocks(trainer) if whole is None else whole
    run = {
        "trainer": type(trainer).__module__,
        "config": whole,
        "versions": {
            "yieldrl": yieldrl.__version__,
            "torch": str(torch.__version__),
            "gymnasium": gymnasium.__version__,
            "python": platform.python_version(),
        },
        "threads": torch.get_num_threads(),
    }
    text = to_yaml(whole)
    folder = place(trainer, None, "")
    write_atomically(folder / RUN, json.dumps(run, indent=2, default=str) + "\n")
    write_atomically(folder / CONFIG, text)  # last: if it exists, both do


def trainer_name(cls: type[Any]) -> str:
    """The name of a trainer in a config file: that of its folder, or a path."""
    package = cls.__module__.rpartition(".")[0]
    if getattr(sys.modules.get(package), "Trainer", None) is cls:
        return package.removeprefix("yieldrl.algorithms.")
    return f"{cls.__module__}:{cls.__qualname__}"


def _blocks(trainer: Any) -> dict[str, Any]:
    blocks, model = to_blocks(trainer.config), type(trainer.model)
    path = f"{model.__module__}:{model.__qualname__}"
    usual = model is getattr(type(trainer), "model_class", None)
    policy = {"name": "default" if usual else path, "cfg": {}}
    algorithm = {"name": trainer_name(type(trainer)), "cfg": blocks["algorithm"]}
    return blocks | {"policy": policy, "algorithm": algorithm}


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
    ran, found = flat(read_run(run_dir).get("config") or {}), read_config(run_dir)
    if not ran or not found:
        return
    found = json.loads(json.dumps(found, default=str))  # as run.json would hold it
    said, path = [], Path(run_dir) / CONFIG
    remedy = f"train a new run with it (--config {path})"
    for name in dict.fromkeys([*ran, *found]):
        old, new = ran.get(name, "not there"), found.get(name, "not there")
        if old == new or (name == "total_steps" and total_steps is not None):
            continue
        said.append(f"{name} is {new}, it ran with {old}")
        if name == "total_steps":
            remedy = f"give --total-steps {new}, or {remedy}"
    if not said:
        return
    raise ValueError(
        f"{path} was edited: {', '.join(said)}. A run goes on with the config that it"
        f" began with: undo the edit, or {remedy}"
    )


def all_checkpoints(run: str | Path) -> list[Path]:
    """All checkpoints of a run, in the order to try them; or FileNotFoundError."""
    run = Path(run)
    if run.is_file():
        return [run]
    best = run / CHECKPOINTS / BEST
    found = [*(list_checkpoints(run) if run.is_dir() else []), best]
    return found if best.is_file() else found[:-1] or [find_checkpoint(run)]


def find_checkpoint(run: str | Path, which: str = "last") -> Path:
    """Find the checkpoint that a user names; FileNotFoundError if there is none.

    Args:
        run: Folder of a run, or a checkpoint file, which is taken as it is.
        which: `last`, `best` (the last if none was the best), or a file, by its path or
            its name in the run's folder of checkpoints.
    """
    run = Path(run)
    if run.is_file():
        return run
    if not run.is_dir():
        raise FileNotFoundError(f"{run}: no such folder of a run, nor a checkpoint")
    best, saved = run / CHECKPOINTS / BEST, list_checkpoints(run)
    if which == "best" and best.is_file():
        return best
    if which in ("best", "last"):
        if not saved:
            there = f"{run}: no {CHECKPOINTS}/step_*.pt in this folder"
            if best.is_file():
                there += f"; it has {best}"
            elif (run / CONFIG).is_file():
                there += ". It ended before the first was saved: train it again with"
                there += f" --config {run / CONFIG}"
            raise FileNotFoundError(there)
        return saved[0]
    for path in (Path(which), run / CHECKPOINTS / which):
        if path.is_file():
            return path
    names = [path.name for path in saved]
    raise FileNotFoundError(f"{which}: no such checkpoint; {run} has {names}")


def algorithm_name(module: str) -> str:
    """The algorithm whose trainer a module defines: the name of its folder.

    >>> algorithm_name("yieldrl.algorithms.ppo.trainer"), algorithm_name("mine")
    ('ppo', 'mine')
    """
    package, _, last = module.rpartition(".")
    return package.rpartition(".")[2] if last in ("trainer", "algorithm") else last
