"""The base of loggers that write rows somewhere: files, TensorBoard, wandb."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import arguments
from yieldrl.loggers.base import Logger
from yieldrl.loggers.windowed_means import WindowedMeans

if TYPE_CHECKING:
    from yieldrl.foundations.logs import LogData
    from yieldrl.loggers.base import Stream
    from yieldrl.loggers.windowed_means import Row

POINTS = 1000  # that a curve has by default, however long the run


@dataclass(eq=False)
class Writer(Logger):
    """Writes means over windows of environment steps, and every evaluation at once.

    A subclass says in `open` where rows go; averaging and closing are done here. One
    that says its `position` too, and can go back to it in `rewind`, writes in several
    loops, and after being killed and resumed, what one long loop would have written.
    """

    _: KW_ONLY

    every: int | None = None
    """Environment steps that one row averages over; 0 writes every log. By default a
    thousandth of `config.total_steps`, at least 100: about a thousand points."""

    def __post_init__(self) -> None:
        if self.every is not None:
            arguments.whole("every", self.every, low=0)

    @abstractmethod
    def open(self, trainer: Any) -> AbstractContextManager[Callable[[list[Row]], None]]:
        """A context whose value is a function that writes rows."""

    def position(self, trainer: Any) -> Any:
        """How much was written so far, in plain values; None if nothing can be undone.

        By default None: then the window that is pending when a loop is left becomes a
        row for good, and the next loop begins another.
        """
        return None

    def rewind(self, trainer: Any, position: Any) -> None:
        """Before `open`: undo what was written after a position, and later steps.

        Args:
            trainer: The trainer, which may stand at an older checkpoint.
            position: What `position` returned; None if that is not known.
        """

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Write the rows that are due before each `yield`, and the rest at the end."""
        every = self.every
        if every is None:
            every = max(100, trainer.config.total_steps // POINTS)
        account = _Account(every)
        where = self.destination
        name = type(self).__name__ + ("" if where is None else f" {where}")
        self.attach(trainer, name, account)
        if account.beyond(trainer.agent.sample_step, trainer.agent.learn_step):
            account = _Account(every)
            self.attach(trainer, name, account, restore=False)
        self.rewind(trainer, account.position)
        with self.open(trainer) as write:
            account.position = self.position(trainer)
            yield from self._pass(trainer, logs, account, write)

    def _pass(
        self,
        trainer: Any,
        logs: Stream,
        account: _Account,
        write: Callable[[list[Row]], None],
    ) -> Stream:
        def settle() -> None:
            if account.due:
                write(account.due)
                account.due = []
                account.position = self.position(trainer)

        settle()
        try:
            for log in logs:
                if log["logs"]:
                    account.take(log)
                    settle()
                yield log
        finally:
            # Rows that are still due could not be written: a full disk has been named.
            if not account.due and (rows := account.last_rows()):
                write(rows)


class _Account:
    """Logs that a writer has received and not finally written."""

    def __init__(self, every: int) -> None:
        self.means = WindowedMeans(every)
        self.due: list[Row] = []  # of finished windows; they wait if a disk is full
        self.seen = (0, 0)  # the steps of the last log
        self.position: Any = None  # up to where the rows are final

    def take(self, log: LogData) -> None:
        self.due += self.means.add(log)
        self.seen = int(log["sample_step"]), int(log["learn_step"])

    def last_rows(self) -> list[Row]:
        """The unfinished window: shown for now if that can be undone, or for good."""
        return self.means.flush() if self.position is None else self.means.pending()

    def beyond(self, sample_step: int, learn_step: int) -> bool:
        """Whether the trainer was set back to a time before the last log."""
        return self.seen[0] > sample_step or self.seen[1] > learn_step

    def state_dict(self) -> dict[str, Any]:
        return {
            "means": self.means.state_dict(),
            "due": [dict(row) for row in self.due],
            "seen": list(self.seen),
            "position": self.position,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.means.load_state_dict(state["means"])
        self.due = [*state["due"]]
        self.seen = tuple(state["seen"])
        self.position = state["position"]
