"""Base class of loggers that write rows: means of logs over environment steps."""

import math
import reprlib
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY
from typing import Any

from pydantic import NonNegativeInt
from pydantic.dataclasses import dataclass

from yieldrl.loggers.base import Logger, Stream

Write = Callable[[list[Any]], Any]
POINTS = 1000  # per curve by default, for runs of any length
_CHUNK = 1024  # logs that are stored before they are summed, in long windows


@dataclass(eq=False)
class Writer(Logger):
    """Writes means over windows of environment steps, and evaluations immediately.

    A row is a log whose values are floats. A subclass opens its output in `open`. If it
    can return to a position there, then several loops, or a run that was killed and
    resumed, write the same as one long loop.
    """

    _: KW_ONLY

    every: NonNegativeInt | None = None
    """Environment steps that one row averages over; 0 writes every log. By default a
    thousandth of `config.total_steps`, at least 100: about a thousand points."""

    @abstractmethod
    def open(self, trainer: Any, position: Any) -> AbstractContextManager[Write]:
        """Undo what was written after a position; None at first.

        The context's value is a function that writes rows, also none, and returns the
        position after them, in plain values, or None if rows cannot be undone.
        """

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Write due rows before each `yield`, and the rest at the end."""
        steps = trainer.config.total_steps
        every = max(100, steps // POINTS) if self.every is None else self.every
        means = WindowedMeans(every)
        where = "" if self.destination is None else f" {self.destination}"
        trainer.run.attach(f"{type(self).__name__}{where}", means)
        with self.open(trainer, means.position) as write:

            def write_due() -> None:
                means.position = write(means.due)
                means.due = []  # only now: they are kept if the disk is full

            write_due()
            try:
                for log in logs:
                    means.add(log)
                    if means.due:
                        write_due()
                    yield log
            finally:
                if means.due:
                    pass  # writing them failed, and the error was raised already
                elif means.position is None:
                    means.flush()
                    write_due()
                else:  # the next loop takes these rows back, and ends the window
                    write(means.pending())


class WindowedMeans:
    """Averages many logs into few rows, which are logs of floats.

    A window ends at each multiple of `every` steps; with 0 every log is a row. Within
    it, logs of one type become one row, labelled with the last of their steps. The mean
    is over logs, or over episodes if logs have their number, `episodes`, which is
    summed. Evaluations become rows of their own immediately. Values are read when a row
    is due: reading the tensors of every log would make a GPU wait each time.

    Attributes:
        due: Finished rows, until somebody takes them.
        position: Where the rows end that were taken, in plain values.
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self.due: list[Any] = []
        self.position: Any = None
        self._end = 0
        self._last: dict[str, Any] = {}  # the last log of each type, without values
        self._waiting: dict[str, list[Any]] = defaultdict(list)  # logs to be summed
        # Log type -> metric -> sum of value times weight, and sum of weights.
        self._sums: dict[str, dict[str, list[float]]] = defaultdict(dict)

    def add(self, log: Any) -> None:
        """Add a log to the window; rows may be due then."""
        if not log["logs"]:
            return
        kind = log["log_type"]
        if kind == "evaluate" or self.every == 0:
            self.due.append({**log, "logs": read(log["logs"])})
            return
        if log["sample_step"] > self._end:
            self.flush()
            self._end = -(-log["sample_step"] // self.every) * self.every
        self._last[kind] = {**log, "logs": {}}
        # Detach: a graph stored here would keep a network's activations in memory.
        detached = {name: _detached(x) for name, x in log["logs"].items()}
        self._waiting[kind].append(detached)
        if len(self._waiting[kind]) >= _CHUNK:
            self._sum_up(kind)

    def pending(self) -> list[Any]:
        """The rows of the unfinished window, without ending it."""
        rows = []
        for kind, last in self._last.items():
            self._sum_up(kind)
            sums = self._sums[kind].items()
            logs = {k: total / n if n else math.nan for k, (total, n) in sums}
            if "episodes" in logs:
                logs["episodes"] = self._sums[kind]["episodes"][0]
            rows.append({**last, "logs": logs})
        return rows

    def flush(self) -> None:
        """End the window: its rows are due."""
        self.due += self.pending()
        self._last.clear()
        self._sums.clear()

    def state_dict(self) -> dict[str, Any]:
        """All of it, so that resuming gives the same rows."""
        self.pending()  # sums up what waits
        sums = {kind: {**metrics} for kind, metrics in self._sums.items()}
        window = {"end": self._end, "last": {**self._last}, "sums": sums}
        return {"due": [*self.due], "position": self.position, **window}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.due, self.position = [*state["due"]], state["position"]
        self._end, self._last = state["end"], {**state["last"]}
        self._waiting.clear()
        self._sums = defaultdict(dict, {k: {**v} for k, v in state["sums"].items()})

    def _sum_up(self, kind: str) -> None:
        """Add what waits, value by value: it does not matter how often."""
        waiting = self._waiting.pop(kind, [])
        for name in dict.fromkeys(name for logs in waiting for name in logs):
            logs = [each for each in waiting if name in each]
            values = _floats(name, [each[name] for each in logs])
            weights = [1.0] * len(logs)
            if name != "episodes":
                episodes = [each.get("episodes", 1.0) for each in logs]
                weights = _floats("episodes", episodes)
            total, total_weight = self._sums[kind].get(name, (0.0, 0.0))
            for value, weight in zip(values, weights, strict=True):
                total += value * weight
                total_weight += weight
            self._sums[kind][name] = [total, total_weight]


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
