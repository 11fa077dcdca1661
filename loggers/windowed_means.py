"""Means of logs over windows of environment steps, taken where the values lie.

A log arrives with every minibatch. Reading its tensors each time would make a GPU wait,
and writing them would fill disks, so they are averaged and read once per window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from yieldrl.loggers.metric_values import floats, product, read, total

if TYPE_CHECKING:
    from yieldrl.foundations.logs import LogData

_CHUNK = 1024  # logs that wait before they are summed up, in a window that is long


class Row(TypedDict):
    """A row to write: a `LogData` whose values are floats."""

    log_type: str
    sample_step: int
    learn_step: int
    logs: dict[str, float]


class WindowedMeans:
    """Turns many logs into few rows.

    A window ends at each multiple of `every` steps. Within it, logs of one type become
    one row, labelled with the last of their steps. The mean is over logs, or over
    episodes where the logs say how many `episodes` they report; those are summed up.
    Evaluations are rows of their own, at once.

    Args:
        every: Environment steps of a window; 0 makes every log a row.
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self._end = 0
        self._types: dict[str, _Window] = {}

    def add(self, log: LogData) -> list[Row]:
        """Take in a log that is not empty; the rows that are due before the next."""
        if log["log_type"] == "evaluate":
            return [_row(_labels(log), read(log["logs"]))]
        if self.every == 0:
            return [*self.flush(), _row(_labels(log), read(log["logs"]))]
        rows: list[Row] = []
        step = log["sample_step"]
        if step > self._end:
            rows = self.flush()
            self._end = -(-step // self.every) * self.every
        window = self._types.get(log["log_type"])
        if window is None:
            window = self._types[log["log_type"]] = _Window()
        window.add(log)
        return rows

    def flush(self) -> list[Row]:
        """The rows of the unfinished window."""
        rows = [window.row() for window in self._types.values()]
        self._types = {}
        return rows

    def pending(self) -> list[Row]:
        """The rows of the unfinished window, which goes on nevertheless."""
        # Summing up now would round differently in the end, hence a copy.
        copy = WindowedMeans(self.every)
        copy.load_state_dict(self.state_dict())
        return copy.flush()

    def state_dict(self) -> dict[str, Any]:
        """The unfinished window, with which the rows come out as without a pause."""
        types = {name: window.state_dict() for name, window in self._types.items()}
        return {"end": self._end, "types": types}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with the window that `state_dict` returned."""
        self._end = state["end"]
        self._types = {name: _Window() for name in state["types"]}
        for name, window in self._types.items():
            window.load_state_dict(state["types"][name])


class _Window:
    """Logs of one type since the last row."""

    def __init__(self) -> None:
        self._last: Any = None
        self._names: tuple[str, ...] = ()
        self._waiting: list[list[Any]] = []  # values in the order of the names
        self._sums: dict[str, Any] = {}
        self._weights: dict[str, Any] = {}

    def add(self, log: LogData) -> None:
        logs = log["logs"]
        names = tuple(logs)
        if names != self._names or len(self._waiting) >= _CHUNK:
            self._sum_up()
            self._names = names
        self._last = _labels(log)
        # A graph kept here would hold a whole network's activations in memory.
        self._waiting.append(
            [
                value.detach() if getattr(value, "requires_grad", False) else value
                for value in logs.values()
            ]
        )

    def row(self) -> Row:
        self._sum_up()
        logs, weights = read(self._sums), read(self._weights)
        for name, weight in weights.items():
            if name != "episodes":
                logs[name] = logs[name] / weight if weight else math.nan
        return _row(self._last, logs)

    def state_dict(self) -> dict[str, Any]:
        """Plain values; what waits is read, but not summed up before its time."""
        width = len(self._names)
        names = self._names * len(self._waiting)
        values = (value for values in self._waiting for value in values)
        read_values = floats(zip(names, values, strict=True))
        return {
            "last": list(self._last),
            "names": list(self._names),
            "waiting": [
                read_values[i : i + width] for i in range(0, len(names), width)
            ],
            "sums": read(self._sums),
            "weights": read(self._weights),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._last = tuple(state["last"])
        self._names = tuple(state["names"])
        self._waiting = [list(values) for values in state["waiting"]]
        self._sums, self._weights = dict(state["sums"]), dict(state["weights"])

    def _sum_up(self) -> None:
        columns = dict(zip(self._names, zip(*self._waiting, strict=True), strict=False))
        count, self._waiting = len(self._waiting), []
        episodes = columns.get("episodes")
        for name, column in columns.items():
            weight: Any = count
            if episodes is not None and name != "episodes":
                pairs = zip(column, episodes, strict=True)
                column = tuple(product(name, *pair) for pair in pairs)
                weight = total(name, episodes)
            self._sums[name] = self._sums.get(name, 0.0) + total(name, column)
            self._weights[name] = self._weights.get(name, 0.0) + weight


def _labels(log: LogData) -> tuple[str, int, int]:
    return log["log_type"], log["sample_step"], log["learn_step"]


def _row(labels: tuple[str, int, int], logs: dict[str, float]) -> Row:
    log_type, sample_step, learn_step = labels
    return {
        "log_type": log_type,
        "sample_step": sample_step,
        "learn_step": learn_step,
        "logs": logs,
    }
