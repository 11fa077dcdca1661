"""Logs as CSV or JSON Lines files."""

import io
import json
import math
import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from csv import writer as csv_writer
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from yieldrl.loggers import files
from yieldrl.loggers.writer import Write, Writer


@dataclass(eq=False)
class LogFile(Writer):
    """Appends rows to a file, which is first cut back to where the trainer stood."""

    file_name: ClassVar[str]
    header: ClassVar[bytes] = b""

    @contextmanager
    def open(self, trainer: Any, position: int | None) -> Iterator[Write]:
        """Cut the file back to a size in bytes; yield a function that appends rows."""
        path = trainer.run.claim() / self.file_name
        size = path.stat().st_size if path.exists() else 0
        if position is None and size and trainer.agent.sample_step == 0:
            raise files.WriteError(path, "it is there already, and a new run begins")
        if position is not None and position < size:
            with files.naming_failures(path):
                os.truncate(path, position)
        yield lambda rows: files.append(path, self.lines(rows).encode(), self.header)

    @staticmethod
    @abstractmethod
    def lines(rows: list[Any]) -> str:
        """Rows as complete lines of text."""


@dataclass(eq=False)
class csv(LogFile):  # noqa: N801 (used like a function)
    """Write logs to a CSV file, `logs.csv` in the run's folder.

    The table has one row per value: `log_type,sample_step,learn_step,metric,value`. So
    new metrics need no new column, the file only grows at its end, and

        pandas.read_csv(path).query("metric == 'episode_return'")

    is a curve. Numbers that are not finite are written `nan`, `inf` and `-inf`, which
    pandas reads. When a run goes on from a checkpoint, rows that were written after it
    are cut off. WriteError, when the loop of a new run starts, if the folder that
    it was given has such a file already.
    """

    file_name = "logs.csv"
    header = b"log_type,sample_step,learn_step,metric,value\n"

    @staticmethod
    def lines(rows: list[Any]) -> str:
        text = io.StringIO()
        table = csv_writer(text, lineterminator="\n")
        for row in rows:
            labels = row["log_type"], row["sample_step"], row["learn_step"]
            table.writerows((*labels, *metric) for metric in row["logs"].items())
        return text.getvalue()


@dataclass(eq=False)
class jsonl(LogFile):  # noqa: N801 (used like a function)
    """Write logs to a JSON Lines file, `logs.jsonl` in the run's folder.

    A line is a `LogData`: `{"log_type": ..., "sample_step": ..., "learn_step": ...,
    "logs": {...}}`. Numbers that are not finite, which JSON lacks, are the strings
    "NaN", "Infinity" and "-Infinity", which `float` in Python and `Number` in
    JavaScript read. Resumed runs are handled as in `csv`.
    """

    file_name = "logs.jsonl"

    @staticmethod
    def lines(rows: list[Any]) -> str:
        text = ""
        for row in rows:
            numbers = row["logs"].items()
            logs = {k: x if math.isfinite(x) else json.dumps(x) for k, x in numbers}
            text += json.dumps({**row, "logs": logs}) + "\n"
        return text
