"""Loggers that append rows to one text file: CSV and JSON Lines."""

import io
import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from csv import reader
from csv import writer as csv_writer
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from yieldrl.loggers import arguments, files
from yieldrl.loggers.windowed_means import Row
from yieldrl.loggers.writer import Writer


@dataclass(eq=False)
class LogFile(Writer):
    """Appends rows to a file, after dropping rows of later steps than the trainer's."""

    file_name: ClassVar[str]
    header: ClassVar[str] = ""

    path: str | Path | None = None
    """The file, for only one trainer; by default `file_name` in `trainer.run_dir`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.path = self.destination = arguments.path("path", self.path)

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Callable[[list[Row]], None]]:
        """Yield a function that appends rows to the file."""
        path = self._file(trainer)
        first = f"{self.header}\n".encode() if self.header else b""
        yield lambda rows: files.append(path, self.lines(rows).encode(), first)

    def position(self, trainer: Any) -> int:
        """The size of the file in bytes."""
        return files.size(self._file(trainer))

    def rewind(self, trainer: Any, position: int | None) -> None:
        """Truncate the file to a size, and drop rows after the trainer's steps."""
        now = trainer.agent.sample_step, trainer.agent.learn_step
        path = self._file(trainer)
        files.rewind(path, now, self.steps_of, self.header, position)

    def _file(self, trainer: Any) -> Path:
        return files.place(trainer, self.path, self.file_name)

    @staticmethod
    @abstractmethod
    def steps_of(line: str) -> files.Steps:
        """The steps of a line; any exception means that it is no line of this log."""

    @staticmethod
    @abstractmethod
    def lines(rows: list[Row]) -> str:
        """Rows as complete lines of text."""


@dataclass(eq=False)
class csv(LogFile):  # noqa: N801 (used like a function)
    """Write logs to a CSV file, `logs.csv` in the run's folder.

    The table has one row per value: `log_type,sample_step,learn_step,metric,value`. So
    new metrics need no new column, the file only grows at its end, and

        pandas.read_csv(path).query("metric == 'episode_return'")

    is a curve. Numbers that are not finite are written `nan`, `inf` and `-inf`, which
    pandas reads. When a resumed run starts, rows of later steps are dropped: see
    `yieldrl.loggers.files.rewind`. ValueError, when a loop starts, if the file exists
    and is not such a table.
    """

    file_name = "logs.csv"
    header = "log_type,sample_step,learn_step,metric,value"

    @staticmethod
    def steps_of(line: str) -> files.Steps:
        _, sample_step, learn_step, _, value = next(reader([line]))
        float(value)
        return int(sample_step), int(learn_step)

    @staticmethod
    def lines(rows: list[Row]) -> str:
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
    JavaScript read. Resumed runs, and files that are not such a log, are handled as in
    `csv`.
    """

    file_name = "logs.jsonl"

    @staticmethod
    def steps_of(line: str) -> files.Steps:
        row = json.loads(line)
        return int(row["sample_step"]), int(row["learn_step"])

    @staticmethod
    def lines(rows: list[Row]) -> str:
        text = ""
        for row in rows:
            numbers = row["logs"].items()
            logs = {k: x if math.isfinite(x) else json.dumps(x) for k, x in numbers}
            text += json.dumps({**row, "logs": logs}, allow_nan=False) + "\n"
        return text
