"""Logs as JSON Lines: one `LogData` a line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import arguments, files
from yieldrl.loggers.writer import Writer

if TYPE_CHECKING:
    from yieldrl.abstractions import Trainer
    from yieldrl.loggers.means import Row


@dataclass(eq=False)
class jsonl(Writer):  # noqa: N801 (used like a function)
    """Write logs to a JSON Lines file, `logs.jsonl` in the run's folder.

    A line is a `LogData`: `{"log_type": ..., "sample_step": ..., "learn_step": ...,
    "logs": {...}}`. JSON knows no numbers that are not finite, so they are the strings
    "NaN", "Infinity" and "-Infinity": nothing is lost, and `float(value)` in Python or
    `Number(value)` in JavaScript reads every value. When a run goes on, rows beyond the
    trainer's steps are dropped: see `yieldrl.loggers.files.rewind`.

    Raises:
        ValueError: When a loop starts, if the file is there and is no such log.
    """

    path: str | Path | None = None
    """The file, of one trainer alone; by default `logs.jsonl` in `trainer.run_dir`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.path = arguments.path("path", self.path)

    @property
    def destination(self) -> Hashable:
        """The file."""
        return self.path

    @contextmanager
    def open(self, trainer: Trainer) -> Iterator[Callable[[list[Row]], None]]:
        """Rewind the file to the trainer's steps, then append."""
        path = Path(self.path or trainer.run_dir / "logs.jsonl")
        now = trainer.agent.sample_step, trainer.agent.learn_step
        files.rewind(path, now, _position)
        yield lambda rows: files.append(path, "".join(map(_line, rows)))


def _position(line: str) -> files.Position:
    row = json.loads(line)
    return int(row["sample_step"]), int(row["learn_step"])


def _line(row: Row) -> str:
    logs = {name: _value(value) for name, value in row["logs"].items()}
    return json.dumps({**row, "logs": logs}, allow_nan=False) + "\n"


def _value(value: Any) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
