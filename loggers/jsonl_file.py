"""Logs as JSON Lines: one `LogData` a line."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from yieldrl.loggers.log_file import LogFile

if TYPE_CHECKING:
    from yieldrl.loggers import files
    from yieldrl.loggers.means import Row


@dataclass(eq=False)
class jsonl(LogFile):  # noqa: N801 (used like a function)
    """Write logs to a JSON Lines file, `logs.jsonl` in the run's folder.

    A line is a `LogData`: `{"log_type": ..., "sample_step": ..., "learn_step": ...,
    "logs": {...}}`. JSON knows no numbers that are not finite, so they are the strings
    "NaN", "Infinity" and "-Infinity": nothing is lost, and `float(value)` in Python or
    `Number(value)` in JavaScript reads every value. When a run goes on, rows beyond the
    trainer's steps are dropped: see `yieldrl.loggers.files.rewind`.

    Raises:
        ValueError: When a loop starts, if the file is there and is no such log.
    """

    file_name = "logs.jsonl"

    @staticmethod
    def steps_of(line: str) -> files.Steps:
        row = json.loads(line)
        return int(row["sample_step"]), int(row["learn_step"])

    @staticmethod
    def lines(rows: list[Row]) -> str:
        return "".join(map(_line, rows))


def _line(row: Row) -> str:
    logs = {name: _value(value) for name, value in row["logs"].items()}
    return json.dumps({**row, "logs": logs}, allow_nan=False) + "\n"


def _value(value: Any) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
