"""Means of logs over windows of environment steps, read once per window.

Reading the tensors of every log would synchronize the GPU each time.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from yieldrl.loggers.metric_values import floats, product, read, total

if TYPE_CHECKING:
    from yieldrl.foundations.logs import LogData

_CHUNK = 1024  # logs that are stored before they are summed, in long windows


class Row(TypedDict):
    """A row to write: a `LogData` with float values, except for answers."""

    log_type: str
    sample_step: int
    learn_step: int
    logs: dict[str, Any]


class WindowedMeans:
    """Averages many logs into few rows.

    A window ends at each multiple of `every` steps; with 0 every log is a row. Within
    it, logs of one type become one row, labelled with the last of their steps. The mean
    is over logs, or over episodes if logs have their number, `episodes`, which is
    summed. Evaluations become rows of their own immediately.
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self._end = 0
        self._types: defaultdict[str, _Window] = defaultdict(_Window)

    def add(self, log: LogData) -> list[Row]:
        """Add a log that is not empty; returns the rows that are due now."""
        if log["log_type"] == "evaluate":
            return [_row(_labels(log), read(log["logs"]))]
        if self.every == 0:
            return [*self.flush(), _row(_labels(log), read(log["logs"]))]
        rows: list[Row] = []
        step = log["sample_step"]
        if step > self._end:
            rows = self.flush()
            self._end = -(-step // self.every) * self.every
        self._types[log["log_type"]].add(log)
        return rows

    def flush(self) -> list[Row]:
        """The rows of the unfinished window."""
        rows = [window.row() for window in self._types.values()]
        self._types.clear()
        return rows

    def pending(self) -> list[Row]:
        """The rows of the unfinished window, without ending it."""
        # A copy, because summing now would change the final rounding.
        copy = WindowedMeans(self.every)
        copy.load_state_dict(self.state_dict())
        return copy.flush()

    def state_dict(self) -> dict[str, Any]:
        """The unfinished window, so that resuming gives the same rows."""
        types = {name: window.state_dict() for name, window in self._types.items()}
        return {"end": self._end, "types": types}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._end = state["end"]
        self._types.clear()
        self._types |= {name: _Window(**it) for name, it in state["types"].items()}


@dataclass
class _Window:
    """Logs of one type since the last row."""

    last: list[Any] = field(default_factory=list)  # type and steps of the last log
    names: list[str] = field(default_factory=list)
    waiting: list[list[Any]] = field(default_factory=list)  # values, as in `names`
    sums: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)

    def add(self, log: LogData) -> None:
        logs = log["logs"]
        names = list(logs)
        if names != self.names or len(self.waiting) >= _CHUNK:
            self._sum_up()
            self.names = names
        self.last = _labels(log)
        # Detach: a graph stored here would keep a network's activations in memory.
        values = logs.values()
        self.waiting.append(
            [x.detach() if getattr(x, "requires_grad", False) else x for x in values]
        )

    def row(self) -> Row:
        self._sum_up()
        logs, weights = read(self.sums), read(self.weights)
        for name, weight in weights.items():
            if name != "episodes":
                logs[name] = logs[name] / weight if weight else math.nan
        return _row(self.last, logs)

    def state_dict(self) -> dict[str, Any]:
        """Plain values; waiting values are read, but not summed early."""
        width = len(self.names)
        values = itertools.chain.from_iterable(self.waiting)
        waiting = floats(zip(itertools.cycle(self.names), values, strict=False))
        return {
            **vars(self),
            "waiting": [waiting[i : i + width] for i in range(0, len(waiting), width)],
            "sums": read(self.sums),
            "weights": read(self.weights),
        }

    def _sum_up(self) -> None:
        columns = dict(zip(self.names, zip(*self.waiting, strict=True), strict=False))
        count, self.waiting = len(self.waiting), []
        episodes = columns.get("episodes")
        weight = count if episodes is None else total("episodes", episodes)
        for name, column in columns.items():
            if episodes is not None and name != "episodes":
                pairs = zip(column, episodes, strict=True)
                column = tuple(product(name, *pair) for pair in pairs)
            self.sums[name] = self.sums.get(name, 0.0) + total(name, column)
            self.weights[name] = self.weights.get(name, 0.0) + weight


def _labels(log: LogData) -> list[Any]:
    return [log["log_type"], log["sample_step"], log["learn_step"]]


def _row(labels: list[Any], logs: dict[str, float]) -> Row:
    kind, sample_step, learn_step = labels
    return Row(log_type=kind, sample_step=sample_step, learn_step=learn_step, logs=logs)
