"""Loggers that steer a loop: they add evaluations to it, or end it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from yieldrl.loggers.base import (
    Logger,
    Stream,
    check_choice,
    check_number,
    check_whole,
)
from yieldrl.loggers.windowed_means import read


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

    threshold: float | None = None
    """Stop when the metric is as good as this."""

    patience: int | None = None
    """Stop when the metric did not beat its best for this many logs in a row."""

    log_type: Literal["collect", "train", "evaluate"] = "evaluate"
    """Type of the logs to read. Metrics of other types are tensors, often on a GPU:
    reading each makes it wait."""

    mode: Literal["max", "min"] = "max"
    """Whether higher is better (`max`), or lower (`min`)."""

    def __post_init__(self) -> None:
        check_choice("log_type", self.log_type, ("collect", "train", "evaluate"))
        check_choice("mode", self.mode, ("max", "min"))
        if self.threshold is not None:
            check_number("threshold", self.threshold)
        if self.patience is not None:
            check_whole("patience", self.patience, low=1)
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


@dataclass(eq=False)
class evaluation(Logger):  # noqa: N801 (used like a function)
    """Evaluate every `every` steps; yield that log after the one that made it due.

    For trainers with `config.eval_every = 0`; for others, starting a loop is a
    ValueError. It evaluates at each multiple of `every`, and at the end of training. In
    a class body write it below the loggers that should see its logs.
    """

    adds_logs: ClassVar[bool] = True
    steers: ClassVar[bool] = True

    every: int = 10_000
    """Environment steps between evaluations."""

    episodes: int = 10
    """Episodes of each evaluation."""

    seed: int | None = None
    """Seed of the evaluation environments; by default the trainer's choice."""

    def __post_init__(self) -> None:
        check_whole("every", self.every, low=1)
        check_whole("episodes", self.episodes, low=1)
        if self.seed is not None:
            check_whole("seed", self.seed, low=0)
        self.destination = self.seed  # other seeds are other measurements

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Yield every log, and evaluations between them."""
        eval_every = trainer.config.eval_every
        if eval_every != 0:
            raise ValueError(
                f"config.eval_every = {eval_every}: the trainer evaluates by itself."
                " Set it to 0, or leave loggers.evaluation out"
            )
        # If the last loop was left when an evaluation was due, it is still due.
        last = _LastOne(trainer.agent.sample_step)
        self.attach(trainer, f"evaluation {self.seed}", last)
        for log in logs:
            yield log
            if log["sample_step"] // self.every > last.step // self.every:
                yield self._evaluate(trainer, last)
        if trainer.agent.sample_step > last.step:
            yield self._evaluate(trainer, last)

    def _evaluate(self, trainer: Any, last: _LastOne) -> Any:
        last.step = trainer.agent.sample_step
        return trainer.evaluate(self.episodes, self.seed)


@dataclass
class _LastOne:
    """The step of the last evaluation."""

    step: int

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.step}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.step = state["step"]
