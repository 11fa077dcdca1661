"""Find the runs below a folder, and read curves from their `logs.csv`."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from yieldrl.experiments.run_files import LOGS


def find_runs(paths: Iterable[str | Path]) -> list[Path]:
    """Folders that hold a `logs.csv`: those given, and those directly below them.

    FileNotFoundError if one of the paths leads to none.
    """
    runs: list[Path] = []
    for path in map(Path, paths):
        below = sorted(x.parent for x in path.glob(f"*/{LOGS}") if x.is_file())
        found = [path] if (path / LOGS).is_file() else below
        if not found:
            raise FileNotFoundError(
                f"{path}: neither it nor a folder in it has a {LOGS}"
            )
        runs += found
    return list(dict.fromkeys(runs))


def read_curve(
    run_dir: str | Path, metric: str, log_type: str
) -> tuple[np.ndarray, np.ndarray]:
    """Environment steps `[P]` and values `[P]` of a metric, in rising order of steps.

    Raises:
        FileNotFoundError: If the run has no `logs.csv`.
        ValueError: If the metric was not logged, or a row cannot be read.
    """
    path = Path(run_dir) / LOGS
    known: set[str] = set()
    curve: dict[int, float] = {}
    for kind, name, step, value in _rows(path):
        known.add(f"{kind}/{name}")
        if (kind, name) == (log_type, metric):
            curve[step] = value
    if not curve:
        has = ", ".join(sorted(known)) or "nothing"
        raise ValueError(f"{path}: no {log_type}/{metric}; it has {has}")
    steps = np.array(sorted(curve))
    return steps, np.array([curve[step] for step in steps.tolist()])


def last_step(run_dir: str | Path) -> int:
    """The newest environment step of a run's `logs.csv`; 0 if it has none."""
    path = Path(run_dir) / LOGS
    return max((row[2] for row in _rows(path)), default=0) if path.is_file() else 0


def _rows(path: Path) -> Iterator[tuple[str, str, int, float]]:
    """Type, metric, step and value of every whole row of a `logs.csv`."""
    text = path.read_text("utf-8-sig", errors="replace")
    whole = text[: text.rfind("\n") + 1]  # without a line torn by a kill
    table = csv.DictReader(io.StringIO(whole, newline=""))
    try:
        for row in table:
            step, value = int(row["sample_step"]), float(row["value"])
            yield row["log_type"], row["metric"], step, value
    except (KeyError, TypeError, ValueError, csv.Error):
        raise ValueError(
            f"{path}, line {table.line_num}: not a row of log_type, sample_step,"
            " learn_step, metric and value, as loggers.csv writes them. Mend or delete"
            " that line"
        ) from None


def family_name(run_dir: str | Path) -> str:
    """The folder's name without seed and time, for runs that left no config."""
    return re.sub(r"-seed\d+-\d{8}-\d{6}(-\d+)?$", "", Path(run_dir).name)
