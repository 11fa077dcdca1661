"""Logs as a table: one metric a row, for pandas and for `yieldrl plot`."""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from csv import reader
from csv import writer as csv_writer
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from yieldrl.loggers import arguments, files
from yieldrl.loggers.writer import Writer

if TYPE_CHECKING:
    from yieldrl.abstractions import Trainer
    from yieldrl.loggers.means import Row

HEADER = "log_type,sample_step,learn_step,metric,value"


@dataclass(eq=False)
class csv(Writer):  # noqa: N801 (used like a function)
    """Write logs to a CSV file, `logs.csv` in the run's folder.

    The table is long: `log_type,sample_step,learn_step,metric,value`. Metrics that
    appear late need no new column, the file only ever grows at its end, and

        pandas.read_csv(path).query("metric == 'episode_return'")

    is a curve. Numbers that are not finite are written `nan`, `inf` and `-inf`, which
    pandas reads. When a run goes on, rows beyond the trainer's steps are dropped: see
    `yieldrl.loggers.files.rewind`.

    Raises:
        ValueError: When a loop starts, if the file is there and is no such table.
    """

    path: str | Path | None = None
    """The file, of one trainer alone; by default `logs.csv` in `trainer.run_dir`."""

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
        path = Path(self.path or trainer.run_dir / "logs.csv")
        now = trainer.agent.sample_step, trainer.agent.learn_step
        files.rewind(path, now, _position, HEADER)
        yield lambda rows: files.append(path, _lines(rows), HEADER + "\n")


def _position(line: str) -> files.Position:
    _, sample_step, learn_step, _, value = next(reader([line]))
    float(value)
    return int(sample_step), int(learn_step)


def _lines(rows: list[Row]) -> str:
    text = io.StringIO()
    table = csv_writer(text, lineterminator="\n")
    for row in rows:
        labels = row["log_type"], row["sample_step"], row["learn_step"]
        table.writerows((*labels, name, value) for name, value in row["logs"].items())
    return text.getvalue()
