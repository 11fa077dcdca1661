"""The state of a run, from the files in its folder; on Ray also its workers."""

import json
import time
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from yieldrl.core import ranks
from yieldrl.core.files import read_file
from yieldrl.core.logs import LogData
from yieldrl.experiments import run, run_files
from yieldrl.experiments.agent_file import read_agent
from yieldrl.loggers import list_checkpoints
from yieldrl.loggers.files import write_atomically
from yieldrl.loggers.writer import read

FILE = "cluster.json"

EVERY_SECONDS = 5.0
"""Seconds between updates of `cluster.json` during a run."""


def noting(trainer: Any, logs: Generator[LogData]) -> Generator[LogData]:
    """Logs, unchanged; on Ray `cluster.json` is written now and then, and at the end.

    It has the steps taken, `collector.statistics()` of each worker, and the latest
    value of each metric of collecting.
    """
    on_ray = getattr(trainer.config, "collection", "sync") == "ray"
    if not (on_ray and ranks().first):
        yield from logs
        return
    latest: dict[str, Any] = {}
    due = time.monotonic()
    try:
        for log in logs:
            if log["log_type"] == "collect" and log["logs"]:
                latest.update(log["logs"])
                if time.monotonic() >= due:
                    _write(trainer, latest)
                    due = time.monotonic() + EVERY_SECONDS
            yield log
    finally:
        logs.close()
        _write(trainer, latest)


def _write(trainer: Any, latest: dict[str, Any]) -> None:
    """Write what can be had: the status of a run never ends it."""
    facts = {
        "time": time.time(),
        "sample_step": trainer.agent.sample_step,
        "learn_step": trainer.agent.learn_step,
        "total_steps": trainer.config.total_steps,
        "logs": {},
    }
    with _harmless():
        facts["logs"] = read(latest)
    with _harmless():
        facts |= trainer.collector.statistics(seconds=2.0)
    with _harmless():
        text = json.dumps(facts, indent=2, default=float) + "\n"
        write_atomically(trainer.run.claim() / FILE, text)


@contextmanager
def _harmless() -> Iterator[None]:
    """An error in this context becomes a warning."""
    try:
        yield
    except Exception as error:
        said = f"{FILE} lacks something: {type(error).__name__}: {error}"
        warnings.warn(said, stacklevel=1)


def status(run_dir: str | Path) -> str:
    """The text that `yieldrl status` prints of a run; or FileNotFoundError."""
    folder = Path(run_dir)
    config = run_files.read_config(folder)
    if not config:
        here = folder.is_dir()
        missing = f"it has no {run_files.CONFIG}" if here else "it is not there"
        raise FileNotFoundError(f"{run_dir}: no folder of a run, {missing}")
    cluster = read_file(folder / FILE) if (folder / FILE).is_file() else {}
    trainer = run_files.read_run(folder).get("trainer", "a run")
    saved = list_checkpoints(folder)
    steps = [int(path.stem.rpartition("_")[2]) for path in saved]
    file = folder / run_files.AGENT
    agent = read_agent(file) if file.is_file() else {}
    steps += [of.get("sample_step", 0) for of in (cluster, agent)]
    steps.append(run_files.last_step(folder))
    lines = [
        f"{run_files.algorithm_name(trainer)} on {config.get('env_id')}:"
        f" {_state(folder)}",
        f"steps: {max(steps):,} of {config.get('total_steps', 0):,}",
    ]
    with suppress(FileNotFoundError, ValueError):  # not evaluated yet
        curve = run_files.read_curve(folder, "episode_return", "evaluate")
        step, value = (float(column[-1]) for column in curve)
        lines.append(f"last evaluation: return {value:.4g} at step {step:,.0f}")
    lines += [f"checkpoint: {path.name}" for path in saved[:1]]
    lines += [f"agent to play: {file.name}"] if agent else []
    return "\n".join([*lines, *workers(cluster)])


def _state(folder: Path) -> str:
    """Whether it runs, and in which process, from the lock on the folder."""
    owner = run.owner(folder)
    who = f"process {owner.get('pid', '?')} on {owner.get('host', '?')}"
    if run.in_use(folder):
        return f"running, {who}, since {owner.get('since', '?')}"
    return f"not running; {who} was the last"


def workers(cluster: dict[str, Any]) -> list[str]:
    """A line for each worker, and one for each metric of collecting."""
    if not cluster:
        return []
    ago = max(0.0, time.time() - cluster["time"])
    lines = [f"on Ray, {ago:.0f} s ago:", "  worker     steps  episodes  lives"]
    for index, lives in enumerate(cluster.get("lives", [])):
        steps, episodes = (
            cluster.get(name, {}).get(str(index), 0) for name in ("steps", "episodes")
        )
        lines.append(f"  {index:6} {steps:9,} {episodes:9,.0f} {lives + 1:6}")
    metrics = {"lost_segments": cluster.get("lost_segments", 0), **cluster["logs"]}
    width = max(map(len, metrics))
    return lines + [f"  {name:{width}}  {value:.4g}" for name, value in metrics.items()]
