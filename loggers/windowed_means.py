"""Means of logs over windows of environment steps, read once per window.

Reading the tensors of every log would synchronize the GPU each time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from torch import Tensor

    from yieldrl.core.logs import LogData

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
        if log["log_type"] == "evaluate" or self.every == 0:
            return [_row(_labels(log), read(log["logs"]))]
        rows: list[Row] = []
        step = log["sample_step"]
        if step > self._end:
            rows = self.flush()
            self._end = -(-step // self.every) * self.every
        self._types[log["log_type"]].add(log)
        return rows

    def pending(self) -> list[Row]:
        """The rows of the unfinished window, without ending it."""
        return [window.row() for window in self._types.values()]

    def flush(self) -> list[Row]:
        """The rows of the unfinished window, which ends."""
        rows = self.pending()
        self._types.clear()
        return rows

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
    sums: dict[str, Any] = field(default_factory=dict)  # of value times weight
    weights: dict[str, Any] = field(default_factory=dict)
    waiting: list[dict[str, Any]] = field(default_factory=list)  # logs to be summed

    def add(self, log: LogData) -> None:
        self.last = _labels(log)
        # Detach: a graph stored here would keep a network's activations in memory.
        self.waiting.append({name: _detached(x) for name, x in log["logs"].items()})
        if len(self.waiting) >= _CHUNK:
            self._sum_up()

    def row(self) -> Row:
        self._sum_up()
        weights = {f"weight of {name}": x for name, x in self.weights.items()}
        numbers = read({**self.sums, **weights})  # in one synchronization
        logs: dict[str, float] = {}
        for name in self.sums:
            weight = numbers[f"weight of {name}"]
            logs[name] = numbers[name] / weight if weight else math.nan
        if "episodes" in logs:
            logs["episodes"] = numbers["episodes"]
        return _row(self.last, logs)

    def state_dict(self) -> dict[str, Any]:
        self._sum_up()
        return {
            "last": self.last,
            "sums": read(self.sums),
            "weights": read(self.weights),
        }

    def _sum_up(self) -> None:
        waiting, self.waiting = self.waiting, []
        for name in dict.fromkeys(name for logs in waiting for name in logs):
            logs = [each for each in waiting if name in each]
            values = [each[name] for each in logs]
            ones = [1.0] * len(logs)
            episodes = [each.get("episodes", 1.0) for each in logs]
            weights = ones if name == "episodes" else episodes
            for sums, column in ((self.sums, values), (self.weights, ones)):
                sums[name] = _add(name, sums.get(name, 0.0), column, weights)


def _add(name: str, total: Any, values: Sequence[Any], weights: Sequence[Any]) -> Any:
    """`total` plus all values times weights: a float, or a 0-dim tensor on a device.

    Numbers on the CPU are added one by one, so that it does not matter how often.
    """
    if all(getattr(x, "is_cpu", True) for x in (*values, *weights)):
        for value, weight in zip(values, weights, strict=True):
            total = total + _number(name, value) * _number("episodes", weight)
        return total
    device = next(x.device for x in (*values, *weights) if hasattr(x, "device"))
    return total + _stack(name, values, device) @ _stack("episodes", weights, device)


def read(logs: Mapping[str, Any]) -> dict[str, float]:
    """All values as floats; those of a device are read in one synchronization.

    ValueError if one is not a single number.
    """
    numbers: dict[str, Any] = dict(logs)
    by_device: defaultdict[Any, list[str]] = defaultdict(list)
    for name, value in logs.items():
        if getattr(value, "is_cpu", True):
            numbers[name] = _number(name, value)
        else:
            by_device[value.device].append(name)
    for device, names in by_device.items():
        values = [_detached(logs[name]) for name in names]
        stack = _stack(", ".join(names), values, device)
        numbers |= zip(names, stack.tolist(), strict=True)
    return numbers


def _detached(value: Any) -> Any:
    return value.detach() if getattr(value, "requires_grad", False) else value


def _number(name: str, value: Any) -> float:
    try:
        return float(_detached(value))
    except (RuntimeError, TypeError, ValueError):
        raise _not_one_number(name, value) from None


def _stack(name: str, values: Sequence[Any], device: Any) -> Tensor:
    """Values as a vector `[n]` in single precision, also if they have less."""
    import torch

    if not any(isinstance(value, torch.Tensor) for value in values):
        return torch.tensor(values, dtype=torch.float32, device=device)
    tensors = [torch.as_tensor(value, device=device) for value in values]
    for tensor in tensors:
        if tensor.numel() != 1:
            raise _not_one_number(name, tensor)
    return torch.stack([tensor.reshape(()) for tensor in tensors]).to(torch.float32)


def _not_one_number(name: str, value: Any) -> ValueError:
    got = list(value.shape) if hasattr(value, "shape") else repr(value)
    return ValueError(
        f"logs[{name!r}] is not one number but {got}: log for example its mean"
    )


def _labels(log: LogData) -> list[Any]:
    return [log["log_type"], log["sample_step"], log["learn_step"]]


def _row(labels: list[Any], logs: dict[str, float]) -> Row:
    kind, sample_step, learn_step = labels
    return Row(log_type=kind, sample_step=sample_step, learn_step=learn_step, logs=logs)
