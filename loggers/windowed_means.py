"""Means of logs over windows of environment steps.

Reading the tensors of every log would make a GPU wait each time.
"""

from __future__ import annotations

import math
import reprlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yieldrl.core.logs import LogData

_CHUNK = 1024  # logs that are stored before they are summed, in long windows


class WindowedMeans:
    """Averages many logs into few rows, which are logs of floats.

    A window ends at each multiple of `every` steps; with 0 every log is a row. Within
    it, logs of one type become one row, labelled with the last of their steps. The mean
    is over logs, or over episodes if logs have their number, `episodes`, which is
    summed. Evaluations become rows of their own immediately.

    Attributes:
        due: Finished rows, until somebody takes them.
        position: Where the rows end that were taken, in plain values.
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self.due: list[Any] = []
        self.position: Any = None
        self._end = 0
        self._types: defaultdict[str, _Window] = defaultdict(_Window)

    def add(self, log: LogData) -> None:
        """Add a log to the window; rows may be due then."""
        if not log["logs"]:
            return
        if log["log_type"] == "evaluate" or self.every == 0:
            self.due.append({**log, "logs": read(log["logs"])})
            return
        if log["sample_step"] > self._end:
            self.flush()
            self._end = -(-log["sample_step"] // self.every) * self.every
        self._types[log["log_type"]].add(log)

    def pending(self) -> list[LogData]:
        """The rows of the unfinished window, without ending it."""
        return [window.row() for window in self._types.values()]

    def flush(self) -> None:
        """End the window: its rows are due."""
        self.due += self.pending()
        self._types.clear()

    def state_dict(self) -> dict[str, Any]:
        """All of it, so that resuming gives the same rows."""
        self.pending()  # sums up what waits
        types = {name: {**vars(window)} for name, window in self._types.items()}
        window = {"due": [*self.due], "position": self.position, "end": self._end}
        return {**window, "types": types}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.due, self.position = [*state["due"]], state["position"]
        self._end = state["end"]
        self._types.clear()
        self._types |= {name: _Window(**it) for name, it in state["types"].items()}


@dataclass
class _Window:
    """Logs of one type since the last row."""

    last: Any = None  # the last log, without values
    sums: dict[str, float] = field(default_factory=dict)  # of value times weight
    weights: dict[str, float] = field(default_factory=dict)
    waiting: list[dict[str, Any]] = field(default_factory=list)  # logs to be summed

    def add(self, log: LogData) -> None:
        self.last = {**log, "logs": {}}
        # Detach: a graph stored here would keep a network's activations in memory.
        self.waiting.append({name: _detached(x) for name, x in log["logs"].items()})
        if len(self.waiting) >= _CHUNK:
            self._sum_up()

    def row(self) -> Any:
        self._sum_up()
        logs = {
            name: total / self.weights[name] if self.weights[name] else math.nan
            for name, total in self.sums.items()
        }
        if "episodes" in logs:
            logs["episodes"] = self.sums["episodes"]
        return {**self.last, "logs": logs}

    def _sum_up(self) -> None:
        """Add what waits, value by value: it does not matter how often."""
        waiting, self.waiting = self.waiting, []
        for name in dict.fromkeys(name for logs in waiting for name in logs):
            logs = [each for each in waiting if name in each]
            values = _floats(name, [each[name] for each in logs])
            weights = [1.0] * len(logs)
            if name != "episodes":
                episodes = [each.get("episodes", 1.0) for each in logs]
                weights = _floats("episodes", episodes)
            for value, weight in zip(values, weights, strict=True):
                self.sums[name] = self.sums.get(name, 0.0) + value * weight
                self.weights[name] = self.weights.get(name, 0.0) + weight


def read(logs: Mapping[str, Any]) -> dict[str, float]:
    """All values as floats; ValueError if one is not a single number."""
    return {name: _floats(name, [value])[0] for name, value in logs.items()}


def _floats(name: str, values: Sequence[Any]) -> list[float]:
    """Values of a metric; those of a device are read in one synchronization."""
    values = [_detached(value) for value in values]
    try:
        if all(getattr(value, "is_cpu", True) for value in values):
            return [float(value) for value in values]
        import torch

        device = next(value.device for value in values if hasattr(value, "device"))
        how: Any = {"dtype": torch.float32, "device": device}
        numbers = [torch.as_tensor(value, **how).reshape(()) for value in values]
        return torch.stack(numbers).tolist()
    except (RuntimeError, TypeError, ValueError):
        got = reprlib.repr(getattr(values[0], "shape", values[0]))
        raise ValueError(
            f"logs[{name!r}] is not one number but {got}: log for example its mean"
        ) from None


def _detached(value: Any) -> Any:
    return value.detach() if getattr(value, "requires_grad", False) else value
