"""Checkpoints: during training, at its end, and at the best evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import arguments, files
from yieldrl.loggers.base import Logger, Stream
from yieldrl.loggers.checkpoint_index import BEST, FOLDER, Index, list_checkpoints
from yieldrl.loggers.interrupts import Interrupts
from yieldrl.loggers.metric_values import read
from yieldrl.loggers.write_errors import refuse_file, refuse_folder

if TYPE_CHECKING:
    from yieldrl.foundations.logs import LogData

SHARE = 0.05  # of the time, at most, for checkpoints due by `seconds`


@dataclass(eq=False)
class checkpoint(Logger):  # noqa: N801 (used like a function)
    """Save the trainer to `checkpoints/step_000050000.pt` and so on, and `best.pt`.

    It saves when `every` more steps were taken or `seconds` have passed, and when the
    loop ends between two steps: finished, `break`, Ctrl-C (which waits for the end of a
    step, unless it is pressed twice) or an error in the loop's body. After an
    error inside the trainer nothing is saved, as its state may be broken. Resume with

        trainer = ppo.Trainer.load(latest_checkpoint("runs/my-run"))

    It saves when the next log is requested: by then every other logger has written the
    log that made it due. `best.pt` is the trainer at the evaluation with the highest
    `episode_return`, also over several loops and after resuming; where an expert was
    cloned first, the clone itself is no candidate.
    """

    every: int = 50_000
    """Environment steps between checkpoints; 0 never saves by steps."""

    keep: int = 3
    """Number of checkpoints to keep besides `best.pt`; the oldest are deleted first."""

    keep_best: bool = True
    """Whether to keep the best one, as `best.pt`."""

    folder: str | Path | None = None
    """Folder, for only one trainer; by default `checkpoints` in `trainer.run_dir`."""

    seconds: float = 120.0
    """Seconds between checkpoints, whatever the steps; 0 never saves by time. Large
    buffers are saved less often, so that saving takes a twentieth of the time."""

    def __post_init__(self) -> None:
        arguments.whole("every", self.every, low=0)
        arguments.whole("keep", self.keep, low=1)
        arguments.number("seconds", self.seconds, low=0)
        self.folder = self.destination = arguments.path("folder", self.folder)

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Save between logs when due, and at the end."""
        saver = _Saver(self, trainer, files.place(trainer, self.folder, FOLDER))
        with Interrupts() as interrupts:
            try:
                while (log := interrupts.step(logs)) is not None:
                    saver.look(log)
                    yield log
                    saver.save_what_is_due()
            finally:
                if not interrupts.within_step:
                    saver.save_the_end()


def latest_checkpoint(run_dir: str | Path) -> Path:
    """The first of `list_checkpoints`; FileNotFoundError if there is none."""
    if saved := list_checkpoints(run_dir):
        return saved[0]
    best = Path(run_dir) / FOLDER / BEST
    remedy = "Give the folder of a run that was trained with loggers.checkpoint()"
    if best.is_file():
        remedy = f"There is the one of the best evaluation: load {best}"
    raise FileNotFoundError(f"{run_dir}: no checkpoint step_*.pt in it. {remedy}")


class _Saver:
    """Decides when to save, and writes checkpoints into a folder."""

    def __init__(self, settings: checkpoint, trainer: Any, folder: Path) -> None:
        self.settings, self.trainer, self.folder = settings, trainer, folder
        refuse_file(folder)
        refuse_folder(folder / BEST)
        files.delete_all_leftovers(folder)
        self.index = Index(folder)
        # Whether there are steps since the last checkpoint; also from an earlier loop,
        # whose last checkpoint could not be written.
        taken = trainer.agent.sample_step > 0
        self.stale = taken and self.index.saved[-1:] != [self._name()]
        self.failed = False  # whether a checkpoint could not be written
        self.evaluation: LogData | None = None  # the last one, until it is compared
        self.due_step = self._next_step()
        self.due_time = self._next_time(0.0)

    def look(self, log: LogData) -> None:
        self.stale = True
        if log["log_type"] == "evaluate" and self.settings.keep_best:
            self.evaluation = log

    def save_what_is_due(self) -> None:
        self._save_if_best()
        step = self.trainer.agent.sample_step
        if step >= self.due_step or perf_counter() >= self.due_time:
            self._save()

    def save_the_end(self) -> None:
        if not self.failed:
            self._save_if_best()
            self._save()

    def _save(self) -> None:
        self.due_step = self._next_step()
        if not self.stale:
            return
        started = perf_counter()
        self._write(self._name())
        self.stale = False
        self.index.keep_last(self.settings.keep)
        self.due_time = self._next_time(perf_counter() - started)

    def _save_if_best(self) -> None:
        log, self.evaluation = self.evaluation, None
        if log is None or getattr(self.trainer, "only_cloned", False):
            return
        logs = read(log["logs"])
        value = logs.get("episode_return", math.nan)
        if value > self.index.best_return:  # False for NaN
            self._write(BEST)
            episodes = int(logs.get("episodes", 1))
            self.index.set_best(value, episodes, log["sample_step"])

    def _write(self, name: str) -> None:
        self.failed = True
        if name != BEST:
            self.index.add(name)  # before writing: a kill leaves no unindexed file
        self.trainer.save(self.folder / name)
        self.failed = False

    def _name(self) -> str:
        return f"step_{self.trainer.agent.sample_step:09d}.pt"

    def _next_step(self) -> float:
        step, every = self.trainer.agent.sample_step, self.settings.every
        return (step // every + 1) * every if every else math.inf

    def _next_time(self, took: float) -> float:
        seconds = self.settings.seconds
        return perf_counter() + max(seconds, took / SHARE) if seconds else math.inf
