"""Evaluation during training, for trainers that do not evaluate by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from yieldrl.loggers import arguments
from yieldrl.loggers.base import Logger, Stream


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
        arguments.whole("every", self.every, low=1)
        arguments.whole("episodes", self.episodes, low=1)
        if self.seed is not None:
            arguments.whole("seed", self.seed, low=0)
        self.destination = self.seed  # other seeds are other measurements

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Yield every log, and evaluations between them."""
        own = trainer.config.eval_every
        if own != 0:
            raise ValueError(
                f"config.eval_every = {own}: the trainer evaluates by itself. Set it to"
                " 0, or leave loggers.evaluation out"
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
