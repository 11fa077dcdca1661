"""Checkpoints: during training, at its end, and at the best evaluation."""

from __future__ import annotations

import json
import math
import re
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import files
from yieldrl.loggers.base import Logger, Stream, absolute, check_number, check_whole
from yieldrl.loggers.files import BEST
from yieldrl.loggers.windowed_means import read

if TYPE_CHECKING:
    from yieldrl.core.logs import LogData

FOLDER, INDEX = "checkpoints", "checkpoints.json"
_NAME = re.compile(r"step_(\d+)\.pt")
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
    """Folder, for only one trainer; by default `checkpoints` in the run's folder."""

    seconds: float = 120.0
    """Seconds between checkpoints, whatever the steps; 0 never saves by time. Large
    buffers are saved less often, so that saving takes a twentieth of the time."""

    def __post_init__(self) -> None:
        check_whole("every", self.every, low=0)
        check_whole("keep", self.keep, low=1)
        check_number("seconds", self.seconds, low=0)
        self.folder = self.destination = absolute("folder", self.folder)

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


def list_checkpoints(run_dir: str | Path) -> list[Path]:
    """Checkpoints in a run's folder or in a folder of them, newest first.

    ValueError if `checkpoints.json` cannot be read.
    """
    folder = Path(run_dir)
    if (folder / FOLDER).is_dir():
        folder = folder / FOLDER
    return [folder / name for name in reversed(Index(folder).saved)]


def latest_checkpoint(run_dir: str | Path) -> Path:
    """The first of `list_checkpoints`; FileNotFoundError if there is none."""
    if saved := list_checkpoints(run_dir):
        return saved[0]
    best = Path(run_dir) / FOLDER / BEST
    remedy = "Give the folder of a run that was trained with loggers.checkpoint()"
    if best.is_file():
        remedy = f"There is the one of the best evaluation: load {best}"
    raise FileNotFoundError(f"{run_dir}: no checkpoint step_*.pt in it. {remedy}")


def describe_checkpoint(path: Path, sample_step: int) -> str:
    """A checkpoint, its step, and over how many episodes the best one was chosen."""
    text, best = f"{path}, step {sample_step:,}", Index(path.parent).best
    if best is None:
        return text
    chosen = f"the best in evaluations of {best['episodes']:,} episodes"
    if path.name == BEST:
        return f"{text}, {chosen}"
    return f"{text} ({BEST} is of step {best['sample_step']:,}, {chosen})"


class Index:
    """The file `checkpoints.json` of a folder, which has the order of writing.

    Steps do not give it, because a run may continue from an older checkpoint, nor do
    file times, which change when a folder is copied.

    Attributes:
        saved: Names of checkpoints, the newest last.
        best: What is known of `best.pt`: `episode_return`, the mean of how many
            `episodes`, and `sample_step`; or None.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, path = folder, folder / INDEX
        content: dict[str, Any] = {"saved": []}
        try:
            if path.exists():
                content = json.loads(path.read_text("utf-8"))
            self.saved = _in_order(folder, content["saved"])
            self.best: dict[str, Any] | None = content.get("best")
        except (AttributeError, LookupError, TypeError, ValueError) as reason:
            raise ValueError(
                f"{path}: not an index of checkpoints ({reason}). Delete it: the order"
                " is then that of the files' steps"
            ) from None

    def add(self, name: str) -> None:
        """Add the name of a checkpoint, as the newest, before it is written."""
        # A name without a file was added, but writing the file failed.
        self.saved = [x for x in self.saved if x != name and (self.folder / x).exists()]
        self.saved.append(name)
        self._write()

    def keep_last(self, count: int) -> None:
        """Delete all but the `count` newest."""
        old, self.saved = self.saved[:-count], self.saved[-count:]
        for name in old:
            (self.folder / name).unlink(missing_ok=True)
        if old:
            self._write()

    def set_best(self, episode_return: float, episodes: int, sample_step: int) -> None:
        """Store the mean return of `best.pt`, of how many episodes, and its step."""
        self.best = {"episode_return": episode_return, "episodes": episodes}
        self.best["sample_step"] = sample_step
        self._write()

    def _write(self) -> None:
        text = json.dumps({"saved": self.saved, "best": self.best}, indent=2)
        files.write_atomically(self.folder / INDEX, f"{text}\n")


def _in_order(folder: Path, named: list[str]) -> list[str]:
    """Existing checkpoints, newest last.

    A checkpoint that is not in the index counts as newer than all in it if its step is
    later than that of the newest.
    """
    steps = {
        path.name: int(match[1])
        for path in folder.glob("step_*.pt")
        if (match := _NAME.fullmatch(path.name))
    }
    indexed = [name for name in named if name in steps]
    others = sorted(steps.keys() - set(indexed), key=lambda name: steps[name])
    older = [name for name in others if indexed and steps[name] < steps[indexed[-1]]]
    return [*older, *indexed, *others[len(older) :]]


class _Saver:
    """Decides when to save, and writes checkpoints into a folder."""

    def __init__(self, settings: checkpoint, trainer: Any, folder: Path) -> None:
        self.settings, self.trainer, self.folder = settings, trainer, folder
        files.delete_partial_files(folder)
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
        best = self.index.best
        if value > (-math.inf if best is None else best["episode_return"]):  # not NaN
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


class Interrupts:
    """Context in which Ctrl-C does not interrupt `step`: half a step cannot be saved.

    A first Ctrl-C during a step takes effect at its end, a second one at once. With
    another handler than Python's own, or in another thread, nothing changes.
    """

    def __init__(self) -> None:
        self.within_step = False  # a step is running, or ended by an error
        self.wanted = False  # Ctrl-C was pressed during a step

    def step(self, logs: Stream) -> Any:
        """The next log, or None after the last; KeyboardInterrupt after a Ctrl-C."""
        if self.wanted:
            raise KeyboardInterrupt
        self.within_step = True
        log = next(logs, None)
        self.within_step = False
        return log

    def __enter__(self) -> Interrupts:
        self._replace_handler(signal.default_int_handler, self._answer)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A notebook restores its own handler between cells: do not replace that.
        self._replace_handler(self._answer, signal.default_int_handler)
        if self.wanted and kind in (None, GeneratorExit):
            raise KeyboardInterrupt  # Ctrl-C was pressed during the last step

    def _replace_handler(self, old: Any, new: Any) -> None:
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGINT) == old:
            signal.signal(signal.SIGINT, new)

    def _answer(self, number: int, frame: Any) -> None:
        if self.wanted or not self.within_step:
            signal.default_int_handler(number, frame)
        self.wanted = True
