"""Means of logs over windows of environment steps, taken where the values lie.

A log arrives with every minibatch. Reading its tensors each time would make a GPU wait,
and writing them would fill disks, so they are averaged and read once per window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from torch import Tensor

    from yieldrl.abstractions import LogData

_CHUNK = 1024  # logs that wait before they are summed up, in a window that is long


class Row(TypedDict):
    """What is written: a `LogData` whose values are floats."""

    log_type: str
    sample_step: int
    learn_step: int
    logs: dict[str, float]


class Means:
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
        if self.every == 0 or log["log_type"] == "evaluate":
            return [_row(_labels(log), read(log["logs"]))]
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

    @contextmanager
    def flushing(self, write: Callable[[list[Row]], None]) -> Iterator[None]:
        """A context at whose end, however it comes, what is pending is written."""
        try:
            yield
        finally:
            if rows := self.flush():
                write(rows)


def read(logs: Mapping[str, float | Tensor]) -> dict[str, float]:
    """All values as floats; those of one device are read together, in one wait.

    Raises:
        ValueError: If a value is not one number.
    """
    values: dict[str, Any] = dict(logs)
    waiting: dict[Any, list[str]] = {}
    for name, value in values.items():
        if getattr(value, "is_cpu", True):
            values[name] = _number(name, value)
        else:
            waiting.setdefault(value.device, []).append(name)
    for names in waiting.values():
        stack = _stack([(name, values[name].detach()) for name in names])
        values.update(zip(names, map(float, stack.tolist()), strict=True))
    return values


class _Window:
    """What one type of log said since the last row."""

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

    def _sum_up(self) -> None:
        columns = dict(zip(self._names, zip(*self._waiting, strict=True), strict=False))
        count, self._waiting = len(self._waiting), []
        episodes = columns.get("episodes")
        for name, column in columns.items():
            weight: Any = count
            if episodes is not None and name != "episodes":
                pairs = zip(column, episodes, strict=True)
                column = tuple(value * number for value, number in pairs)
                weight = _sum(name, episodes)
            self._sums[name] = self._sums.get(name, 0.0) + _sum(name, column)
            self._weights[name] = self._weights.get(name, 0.0) + weight


def _sum(name: str, values: Sequence[Any]) -> Any:
    """A float if all values are at hand, a 0-dim tensor if some are on a device."""
    number = 0.0
    elsewhere: list[tuple[str, Tensor]] = []
    for value in values:
        if getattr(value, "is_cpu", True):
            number += _number(name, value)
        else:
            elsewhere.append((name, value))
    if not elsewhere:
        return number
    import torch

    stack = _stack(elsewhere)
    return stack.sum(dtype=torch.promote_types(stack.dtype, torch.float32)) + number


def _number(name: str, value: Any) -> float:
    if getattr(value, "requires_grad", False):
        value = value.detach()
    try:
        return float(value)
    except (RuntimeError, TypeError, ValueError):
        raise _not_one_number(name, value) from None


def _stack(values: Sequence[tuple[str, Tensor]]) -> Tensor:
    import torch

    for name, value in values:
        if value.ndim and value.numel() != 1:
            raise _not_one_number(name, value)
    return torch.stack([value.reshape(()) for _, value in values])


def _not_one_number(name: str, value: Any) -> ValueError:
    got = list(value.shape) if hasattr(value, "shape") else repr(value)
    return ValueError(
        f"logs[{name!r}] is not one number but {got}: log for example its mean"
    )


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
