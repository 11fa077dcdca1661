"""Means of logs over windows of environment steps, taken where the values lie.

A log arrives with every minibatch. Reading its tensors each time would make a GPU wait,
and writing them would fill disks, so they are averaged and read once per window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from torch import Tensor

    from yieldrl.foundations.logs import LogData

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
        copy = Means(self.every)
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


def read(logs: Mapping[str, float | Tensor]) -> dict[str, float]:
    """All values as floats; those of one device are read together, in one wait.

    Raises:
        ValueError: If a value is not one number.
    """
    return dict(zip(logs, _floats(logs.items()), strict=True))


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

    def state_dict(self) -> dict[str, Any]:
        """Plain values; what waits is read, but not summed up before its time."""
        width = len(self._names)
        names = self._names * len(self._waiting)
        values = (value for values in self._waiting for value in values)
        read_values = _floats(zip(names, values, strict=True))
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
                column = tuple(_times(name, *pair) for pair in pairs)
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


def _times(name: str, value: Any, episodes: Any) -> Any:
    """Their product; in double precision if both are at hand."""
    if getattr(value, "is_cpu", True) and getattr(episodes, "is_cpu", True):
        return _number(name, value) * _number("episodes", episodes)
    return value * episodes


def _floats(values: Iterable[tuple[str, Any]]) -> list[float]:
    """Named values as floats; those of one device are read together, in one wait."""
    found: list[Any] = []
    waiting: dict[Any, list[tuple[int, str, Tensor]]] = {}
    for index, (name, value) in enumerate(values):
        found.append(value)
        if getattr(value, "is_cpu", True):
            found[index] = _number(name, value)
        else:
            waiting.setdefault(value.device, []).append((index, name, value.detach()))
    for there in waiting.values():
        numbers = _stack([(name, value) for _, name, value in there]).tolist()
        for (index, _, _), number in zip(there, numbers, strict=True):
            found[index] = float(number)
    return found


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
