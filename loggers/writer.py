"""Base class of loggers that write rows: files, TensorBoard, wandb."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic import NonNegativeInt
from pydantic.dataclasses import dataclass

from yieldrl.loggers.answers import latest_answer
from yieldrl.loggers.base import Logger, Stream
from yieldrl.loggers.windowed_means import WindowedMeans

Write = Callable[[list[Any]], Any]
POINTS = 1000  # per curve by default, for runs of any length
ANSWERS = 100  # at most, that are written in a run


@dataclass(eq=False)
class Writer(Logger):
    """Writes means over windows of environment steps, and evaluations immediately.

    A row is a log whose values are floats. A subclass opens its output in `open`. If it
    can return to a position there, then several loops, or a run that was killed and
    resumed, write the same as one long loop.
    """

    shows_answers: ClassVar[bool] = False
    """Whether it also gets rows of log type "answer", sometimes, if actions are text:
    their logs are a `prompt`, an `answer` and its `reward`."""

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
        between = max(1, steps // ANSWERS)
        answered = trainer.agent.sample_step // between
        with self.open(trainer, means.position) as write:

            def write_due() -> None:
                means.position = write(means.due)
                means.due = []  # only now: they are kept if the disk is full

            write_due()
            try:
                for log in logs:
                    now = log["sample_step"] // between
                    asked = self.shows_answers and now > answered
                    if asked and (answer := latest_answer(trainer)) is not None:
                        row: Any = {**log, "log_type": "answer"}
                        means.due.append({**row, "logs": answer._asdict()})
                        answered = now
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
