"""Early stopping: end the loop when a metric is good enough."""

import math
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

from pydantic import FiniteFloat, PositiveInt
from pydantic.dataclasses import dataclass

from yieldrl.loggers.base import Logger, Stream
from yieldrl.loggers.writer import read


@dataclass(eq=False)
class early_stop(Logger):  # noqa: N801 (used like a function)
    """End the loop after the log in which a metric reached its goal.

    A new loop continues training, with its patience reset. ValueError if neither
    `threshold` nor `patience` is given.
    """

    steers: ClassVar[bool] = True

    metric: str = "episode_return"
    """Name of the metric in the logs."""

    _: KW_ONLY

    threshold: FiniteFloat | None = None
    """Stop when the metric is as good as this."""

    patience: PositiveInt | None = None
    """Stop when the metric did not beat its best for this many logs in a row."""

    log_type: Literal["collect", "train", "evaluate"] = "evaluate"
    """Type of the logs to read. Metrics of other types are tensors, often on a GPU:
    reading each makes it wait."""

    mode: Literal["max", "min"] = "max"
    """Whether higher is better (`max`), or lower (`min`)."""

    def __post_init__(self) -> None:
        if self.threshold is None and self.patience is None:
            raise ValueError(
                "early_stop would never stop: give threshold= or patience="
            )
        self.destination = self.log_type, self.metric

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Yield logs until the metric is good enough, or has stopped improving."""
        sign = 1.0 if self.mode == "max" else -1.0
        goal = math.inf if self.threshold is None else sign * self.threshold
        best, waited = -math.inf, 0
        for log in logs:
            yield log
            if log["log_type"] != self.log_type or self.metric not in log["logs"]:
                continue
            value = read({self.metric: log["logs"][self.metric]})[self.metric]
            waited += 1
            if sign * value > best:  # NaN is no improvement
                best, waited = sign * value, 0
            if sign * value >= goal or waited == self.patience:
                return
