"""Checkpoints: while training runs, when it ends, and of the best evaluation."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import arguments, files
from yieldrl.loggers.base import Logger
from yieldrl.loggers.interrupts import Interrupts
from yieldrl.loggers.means import read

if TYPE_CHECKING:
    from yieldrl.abstractions import LogData, Trainer
    from yieldrl.loggers.base import Stream

FOLDER, INDEX = "checkpoints", "checkpoints.json"


@dataclass(eq=False)
class checkpoint(Logger):  # noqa: N801 (used like a function)
    """Save the trainer to `checkpoints/step_000050000.pt` and so on, and `best.pt`.

    It saves each time `every` more steps were taken, and when the loop ends between
    two steps: finished, `break`, Ctrl-C (which waits for the end of a step, unless it
    is pressed twice) or an error in the loop's body. After an error inside the trainer
    it does not: that state is doubtful, the checkpoint before it is not. Go on with

        trainer = ppo.Trainer.load(latest_checkpoint("runs/my-run"))

    `best.pt` is the trainer at the evaluation with the highest `episode_return`, also
    over several loops and after resuming.
    """

    every: int = 50_000
    """Environment steps between checkpoints; 0 saves at the end alone."""

    keep: int = 3
    """How many to keep, besides `best.pt`; those written first are deleted first."""

    keep_best: bool = True
    """Whether to keep the best one."""

    folder: str | Path | None = None
    """Where, for one trainer alone; by default `checkpoints` in `trainer.run_dir`."""

    def __post_init__(self) -> None:
        arguments.whole("every", self.every, low=0)
        arguments.whole("keep", self.keep, low=1)
        self.folder = arguments.path("folder", self.folder)

    @property
    def destination(self) -> Hashable:
        """The folder."""
        return self.folder

    def run(self, trainer: Trainer, logs: Stream) -> Stream:
        """Save while logs pass, and at the end."""
        folder = Path(self.folder or trainer.run_dir / FOLDER)
        saver = _Saver(trainer, folder, self.keep)
        with Interrupts() as interrupts:
            try:
                yield from self._watch(logs, saver, interrupts)
            finally:
                if not interrupts.within_step:
                    saver.save()

    def _watch(self, logs: Stream, saver: _Saver, interrupts: Interrupts) -> Stream:
        due = _next_multiple(saver.trainer.agent.sample_step, self.every)
        while (log := interrupts.step(logs)) is not None:
            saver.stale = True
            if log["sample_step"] >= due:
                saver.save()
                due = _next_multiple(log["sample_step"], self.every)
            if log["log_type"] == "evaluate" and self.keep_best:
                saver.save_if_best(log)
            yield log


def list_checkpoints(run_dir: str | Path) -> list[Path]:
    """Checkpoints in a run's folder, or in a folder of them; the last written first.

    That is not always the one with most steps: a run may have gone on from an older
    one. Nor the newest file: copying a folder changes times. So there is an index.
    """
    folder = Path(run_dir)
    if (folder / FOLDER).is_dir():
        folder = folder / FOLDER
    known = _read_index(folder)["saved"]
    others = {path.name for path in folder.glob("step_*.pt")}.difference(known)
    saved = [*sorted(others), *known]
    return [folder / name for name in reversed(saved) if (folder / name).is_file()]


def latest_checkpoint(run_dir: str | Path) -> Path:
    """The checkpoint written last: the first of `list_checkpoints`.

    Raises:
        FileNotFoundError: If there is none.
    """
    saved = list_checkpoints(run_dir)
    if not saved:
        raise FileNotFoundError(
            f"{run_dir}: no checkpoint step_*.pt in it. Give the folder of a run that"
            " was trained with loggers.checkpoint()"
        )
    return saved[0]


class _Saver:
    """Writes checkpoints into a folder and keeps account of them in its index."""

    def __init__(self, trainer: Trainer, folder: Path, keep: int) -> None:
        self.trainer, self.folder, self.keep = trainer, folder, keep
        self.stale = False  # whether anything happened since the last checkpoint

    def save(self) -> None:
        """Write a checkpoint if there is anything new, and delete the oldest."""
        if not self.stale:
            return
        name = f"step_{self.trainer.agent.sample_step:09d}.pt"
        self.trainer.save(self.folder / name)
        self.stale = False
        index = _read_index(self.folder)
        saved = [known for known in index["saved"] if known != name] + [name]
        old, index["saved"] = saved[: -self.keep], saved[-self.keep :]
        self._write_index(index)
        for known in old:
            (self.folder / known).unlink(missing_ok=True)

    def save_if_best(self, log: LogData) -> None:
        """Write `best.pt` if this evaluation beats all before it."""
        index = _read_index(self.folder)
        value = read(log["logs"]).get("episode_return", math.nan)
        if index["best"] is not None and not value > index["best"]["episode_return"]:
            return
        if math.isnan(value):
            return
        self.trainer.save(self.folder / "best.pt")
        best = {"episode_return": value, "sample_step": log["sample_step"]}
        self._write_index({**index, "best": best})

    def _write_index(self, index: dict[str, Any]) -> None:
        files.write_atomically(self.folder / INDEX, json.dumps(index, indent=2) + "\n")


def _read_index(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    empty: dict[str, Any] = {"saved": [], "best": None}
    return {**empty, **json.loads(path.read_text("utf-8"))} if path.exists() else empty


def _next_multiple(step: int, every: int) -> float:
    return (step // every + 1) * every if every else math.inf
