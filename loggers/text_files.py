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
    """Appends rows to a file, after dropping those beyond the trainer's steps."""

    file_name: ClassVar[str]
    header: ClassVar[str] = ""

    path: str | Path | None = None
    """The file, of one trainer alone; by default `file_name` in `trainer.run_dir`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.path = self.destination = arguments.path("path", self.path)

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Callable[[list[Row]], None]]:
        """A function that appends to the file."""
        path = self._file(trainer)
        first = f"{self.header}\n".encode() if self.header else b""
        yield lambda rows: files.append(path, self.lines(rows).encode(), first)

    def position(self, trainer: Any) -> int:
        """The size of the file in bytes."""
        return files.size(self._file(trainer))

    def rewind(self, trainer: Any, position: int | None) -> None:
        """Cut the file back to a size, and drop rows beyond the trainer's steps."""
        now = trainer.agent.sample_step, trainer.agent.learn_step
        path = self._file(trainer)
        files.rewind(path, now, self.steps_of, self.header, position)

    def _file(self, trainer: Any) -> Path:
        return files.place(trainer, self.path, self.file_name)

    @staticmethod
    @abstractmethod
    def steps_of(line: str) -> files.Steps:
        """The steps that a line was written at; any error says it is no such line."""

    @staticmethod
    @abstractmethod
    def lines(rows: list[Row]) -> str:
        """Rows as whole lines of text."""


@dataclass(eq=False)
class csv(LogFile):  # noqa: N801 (used like a function)
    """Write logs to a CSV file, `logs.csv` in the run's folder.

    The table is long: `log_type,sample_step,learn_step,metric,value`. Metrics that
    appear late need no new column, the file only ever grows at its end, and

        pandas.read_csv(path).query("metric == 'episode_return'")

    is a curve. Numbers that are not finite are written `nan`, `inf` and `-inf`, which
    pandas reads. When a run goes on, rows beyond the trainer's steps are dropped: see
    `yieldrl.loggers.files.rewind`. ValueError, when a loop starts, if the file is there
    and is no such table.
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
    "logs": {...}}`. Numbers that are not finite, which JSON has not, are the strings
    "NaN", "Infinity" and "-Infinity", as `float` in Python and `Number` in JavaScript
    read them. When a run goes on, and when the file is no such log, it is as with
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
