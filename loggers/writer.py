"""The base of loggers that write rows somewhere: files, TensorBoard, wandb."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from yieldrl.loggers import arguments
from yieldrl.loggers.base import Logger
from yieldrl.loggers.means import Means

if TYPE_CHECKING:
    from yieldrl.abstractions import Trainer
    from yieldrl.loggers.base import Stream
    from yieldrl.loggers.means import Row

POINTS = 1000  # that a curve has by default, however long the run


@dataclass(eq=False)
class Writer(Logger):
    """Writes means over windows of environment steps, and every evaluation at once.

    A subclass says in `open` where rows go; averaging and closing are done here.
    """

    _: KW_ONLY

    every: int | None = None
    """Environment steps that one row averages over; 0 writes every log. By default a
    thousandth of `config.total_steps`, at least 100: about a thousand points."""

    def __post_init__(self) -> None:
        if self.every is not None:
            arguments.whole("every", self.every, low=0)

    @abstractmethod
    def open(
        self, trainer: Trainer
    ) -> AbstractContextManager[Callable[[list[Row]], None]]:
        """A context whose value is a function that writes rows."""

    def run(self, trainer: Trainer, logs: Stream) -> Stream:
        """Write the rows that are due before each `yield`, and the rest at the end."""
        every = self.every
        if every is None:
            every = max(100, trainer.config.total_steps // POINTS)
        means = Means(every)
        with self.open(trainer) as write, means.flushing(write):
            for log in logs:
                if log["logs"] and (rows := means.add(log)):
                    write(rows)
                yield log
