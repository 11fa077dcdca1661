"""Loggers that steer a loop: they add evaluations to it, or end it."""

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


@dataclass(eq=False)
class evaluation(Logger):  # noqa: N801 (used like a function)
    """Evaluate every `every` steps; yield that log after the one that made it due.

    For trainers with `config.eval_every = 0`; for others, starting a loop is a
    ValueError. It evaluates at each multiple of `every`, and at the end of training. In
    a class body write it below the loggers that should see its logs.
    """

    adds_logs: ClassVar[bool] = True
    steers: ClassVar[bool] = True

    every: PositiveInt = 10_000
    """Environment steps between evaluations."""

    episodes: PositiveInt = 10
    """Episodes of each evaluation."""

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Yield every log, and evaluations between them."""
        if (eval_every := trainer.config.eval_every) != 0:
            raise ValueError(
                f"config.eval_every = {eval_every}: the trainer evaluates by itself."
                " Set it to 0, or leave loggers.evaluation out"
            )
        # If the last loop was left when an evaluation was due, it is still due.
        last = Kept(step=trainer.agent.sample_step)
        trainer.run.attach("evaluation", last)

        def evaluate() -> Any:
            last["step"] = trainer.agent.sample_step
            return trainer.evaluate(self.episodes)

        for log in logs:
            yield log
            if log["sample_step"] // self.every > last["step"] // self.every:
                yield evaluate()
        if trainer.agent.sample_step > last["step"]:
            yield evaluate()


class Kept(dict[str, Any]):
    """Values that outlive a loop: `trainer.run.attach` puts them into checkpoints."""

    state_dict = dict.copy
    load_state_dict = dict.update
