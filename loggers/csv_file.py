"""Logs as a table: one metric a row, for pandas and for `yieldrl plot`."""

from __future__ import annotations

import io
from csv import reader
from csv import writer as csv_writer
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yieldrl.loggers.log_file import LogFile

if TYPE_CHECKING:
    from yieldrl.loggers import files
    from yieldrl.loggers.means import Row


@dataclass(eq=False)
class csv(LogFile):  # noqa: N801 (used like a function)
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
            logs = row["logs"].items()
            table.writerows((*labels, name, value) for name, value in logs)
        return text.getvalue()
