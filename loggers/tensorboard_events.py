"""Logs for TensorBoard."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yieldrl.loggers import files
from yieldrl.loggers.answers import Shown
from yieldrl.loggers.base import absolute
from yieldrl.loggers.windowed_means import Row
from yieldrl.loggers.writer import Writer

_FILES = "events.out.tfevents.*"


@dataclass(eq=False)
class tensorboard(Writer):  # noqa: N801 (used like a function)
    """Write event files: `tensorboard --logdir runs` shows all runs.

    Tags are `train/loss`, `collect/episode_return`, `evaluate/episode_return` and so
    on, over environment steps; the config is under Text, and if actions are text
    some answers with their prompts and rewards. When a run continues from a checkpoint,
    points that were written after it are removed.
    """

    shows_answers = True

    log_dir: str | Path | None = None
    """Folder, for only one trainer; by default `tensorboard` in
    `trainer.run_dir`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.log_dir = self.destination = absolute("log_dir", self.log_dir)

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Callable[[list[Row]], None]]:
        """Open a new event file."""
        from torch.utils.tensorboard import SummaryWriter

        folder, step = self._folder(trainer), trainer.agent.sample_step
        goes_on = any(folder.glob(_FILES))
        with files.naming_failures(folder):
            # TensorBoard drops older points from `purge_step` on.
            purge_step = step + 1 if goes_on else None
            events = SummaryWriter(folder, purge_step=purge_step)

        def write(rows: list[Row]) -> None:
            with files.naming_failures(folder):
                for row in rows:
                    _add(events, row)
                events.flush()

        try:
            if not goes_on:
                config = json.dumps(trainer.config.to_dict(), indent=2, default=str)
                events.add_text("config", f"```json\n{config}\n```", step)
            write([])
            yield write
        finally:
            with files.naming_failures(folder):
                events.close()

    def position(self, trainer: Any) -> dict[str, int]:
        """The size of every event file in bytes."""
        found = sorted(self._folder(trainer).glob(_FILES))
        return {path.name: path.stat().st_size for path in found}

    def rewind(self, trainer: Any, position: dict[str, int] | None) -> None:
        """Truncate files to their sizes in `position`, and delete newer files."""
        if position is None:
            return  # `purge_step` hides later points
        for path in self._folder(trainer).glob(_FILES):
            if path.name not in position:
                path.unlink()
            elif path.stat().st_size > position[path.name]:
                os.truncate(path, position[path.name])

    def _folder(self, trainer: Any) -> Path:
        return files.place(trainer, self.log_dir, "tensorboard")


def _add(events: Any, row: Row) -> None:
    """Add the points of a row, or the text of an answer."""
    step = row["sample_step"]
    if row["log_type"] == "answer":
        events.add_text("answer", f"```\n{Shown(**row['logs'])}\n```", step)
        return
    for name, value in row["logs"].items():
        events.add_scalar(f"{row['log_type']}/{name}", value, step)
