"""Checkpoints: during training, at its end, and at the best evaluation."""

import json
import math
from pathlib import Path
from time import perf_counter
from typing import Any

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass

from yieldrl.loggers import files
from yieldrl.loggers.base import Logger, Stream
from yieldrl.loggers.files import BEST
from yieldrl.loggers.writer import read

FOLDER, INDEX = "checkpoints", "checkpoints.json"
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

    every: NonNegativeInt = 50_000
    """Environment steps between checkpoints; 0 never saves by steps."""

    keep: PositiveInt = 3
    """Number of checkpoints to keep besides `best.pt`; the oldest are deleted first."""

    seconds: NonNegativeFloat = 120.0
    """Seconds between checkpoints, whatever the steps; 0 never saves by time. Large
    buffers are saved less often, so that saving takes a twentieth of the time."""

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Save between logs when due, and at the end."""
        from yieldrl.core import defer_keyboard_interrupt  # imports PyTorch

        saver = _Saver(self, trainer, trainer.run.claim() / FOLDER)
        whole, pressed = True, False  # whether a step has ended; Ctrl-C came in it
        log: Any = None
        try:
            while not pressed:
                whole = False
                try:
                    with defer_keyboard_interrupt(once=True):
                        log = next(logs, None)
                        whole = True
                except KeyboardInterrupt:
                    pressed = True
                    if not whole:
                        raise
                if log is None:
                    break
                saver.look(log)
                yield log  # also after Ctrl-C: the others have not seen this step
                saver.save()
        finally:
            if whole:
                saver.save(anyway=True)
            if whole and pressed:
                raise KeyboardInterrupt


def list_checkpoints(run_dir: str | Path) -> list[Path]:
    """The `step_*.pt` in a run's folder, or in a folder of them, newest first."""
    folder = Path(run_dir)
    if (folder / FOLDER).is_dir():
        folder = folder / FOLDER
    return [folder / name for name in reversed(read_index(folder)["saved"])]


def latest_checkpoint(run_dir: str | Path) -> Path:
    """The first of `list_checkpoints`; FileNotFoundError if there is none."""
    if saved := list_checkpoints(run_dir):
        return saved[0]
    best = Path(run_dir) / FOLDER / BEST
    remedy = f"load {best}" if best.is_file() else "train with loggers.checkpoint()"
    raise FileNotFoundError(f"{run_dir}: no checkpoint step_*.pt in it; {remedy}")


def describe_checkpoint(path: Path, sample_step: int) -> str:
    """A checkpoint, its step, and over how many episodes the best one was chosen."""
    text, best = f"{path}, step {sample_step:,}", read_index(path.parent)["best"]
    if best is None or path.name != BEST:
        return text
    return f"{text}, the best in evaluations of {best['episodes']:,} episodes"


def read_index(folder: Path) -> dict[str, Any]:
    """Read `checkpoints.json`: the order in which a folder's files were written.

    Steps do not give it, because a run may continue from an older checkpoint, nor do
    file times, which change when a folder is copied.

    Returns:
        `saved`, the names of checkpoints, first those that the file lacks, the newest
        last; and `best`, what is known of `best.pt`: `episode_return`, the mean of how
        many `episodes`, and `sample_step`; or None.
    """
    path, there = folder / INDEX, sorted(x.name for x in folder.glob("step_*.pt"))
    index = json.loads(path.read_text("utf-8")) if path.exists() else {"saved": []}
    named = [name for name in index["saved"] if name in there]
    others = [name for name in there if name not in named]
    return {"saved": [*others, *named], "best": index.get("best")}


class _Saver:
    """Decides when to save, and writes checkpoints into a folder."""

    def __init__(self, settings: checkpoint, trainer: Any, folder: Path) -> None:
        self.settings, self.trainer, self.folder = settings, trainer, folder
        self.index = read_index(folder)
        # Whether there are steps since the last checkpoint; also from an earlier loop,
        # whose last checkpoint could not be written.
        taken = trainer.agent.sample_step > 0
        self.stale = taken and self.index["saved"][-1:] != [self._name()]
        self.evaluation: Any = None  # the last one, until it is compared
        self._wait(took=0.0)

    def look(self, log: Any) -> None:
        """Remember that a step was taken, and the last evaluation."""
        self.stale = True
        if log["log_type"] == "evaluate":
            self.evaluation = log

    def save(self, *, anyway: bool = False) -> None:
        """Save what is due, or the end."""
        self._save_if_best()
        started, name = perf_counter(), self._name()
        step = self.trainer.agent.sample_step
        if not (anyway or step >= self.due_step or started >= self.due_time):
            return
        if self.stale:
            saved = [*(x for x in self.index["saved"] if x != name), name]
            # Before writing: a kill leaves no file that the index does not name.
            self._note(saved=saved)
            self.trainer.save(self.folder / name)
            self.stale = False
            for old in saved[: -self.settings.keep]:
                (self.folder / old).unlink(missing_ok=True)
            self._note(saved=saved[-self.settings.keep :])
        self._wait(took=perf_counter() - started)

    def _save_if_best(self) -> None:
        log, self.evaluation = self.evaluation, None
        if log is None or getattr(self.trainer, "only_cloned", False):
            return
        logs = read(log["logs"])
        value, best = logs.get("episode_return", math.nan), self.index["best"]
        if value > (-math.inf if best is None else best["episode_return"]):  # not NaN
            self.trainer.save(self.folder / BEST)
            logged = {"episode_return": value, "episodes": int(logs.get("episodes", 1))}
            self._note(best={**logged, "sample_step": log["sample_step"]})

    def _note(self, **changed: Any) -> None:
        self.index |= changed
        text = json.dumps(self.index, indent=2)
        files.write_atomically(self.folder / INDEX, f"{text}\n")

    def _name(self) -> str:
        return f"step_{self.trainer.agent.sample_step:09d}.pt"

    def _wait(self, took: float) -> None:
        """Set the step and the time at which the next one is due."""
        every, seconds = self.settings.every, self.settings.seconds
        step = self.trainer.agent.sample_step
        self.due_step = (step // every + 1) * every if every else math.inf
        pause = max(seconds, took / SHARE) if seconds else math.inf
        self.due_time = perf_counter() + pause
