"""Base class of loggers that write rows: files, TensorBoard, wandb."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from yieldrl.loggers.answers import now_and_then
from yieldrl.loggers.base import Logger, Stream, check_whole
from yieldrl.loggers.windowed_means import Row, WindowedMeans

if TYPE_CHECKING:
    from yieldrl.core.logs import LogData

POINTS = 1000  # per curve by default, for runs of any length


@dataclass(eq=False)
class Writer(Logger):
    """Writes means over windows of environment steps, and evaluations immediately.

    A subclass opens its output in `open`. If it also has a `position`, and can return
    to it in `rewind`, then several loops, or a run that was killed and resumed, write
    the same as one long loop.
    """

    shows_answers: ClassVar[bool] = False
    """Whether it also gets rows of log type "answer", sometimes, if actions are text:
    their logs are a `prompt`, an `answer` and its `reward`."""

    _: KW_ONLY

    every: int | None = None
    """Environment steps that one row averages over; 0 writes every log. By default a
    thousandth of `config.total_steps`, at least 100: about a thousand points."""

    def __post_init__(self) -> None:
        if self.every is not None:
            check_whole("every", self.every, low=0)

    @abstractmethod
    def open(self, trainer: Any) -> AbstractContextManager[Callable[[list[Row]], None]]:
        """A context manager whose value is a function that writes rows."""

    def position(self, trainer: Any) -> Any:
        """The end of the final rows, in plain values; None if rows cannot be undone."""
        return None

    def rewind(self, trainer: Any, position: Any) -> None:
        """Remove what was written after a position, or after the trainer's steps."""

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Write due rows before each `yield`, and the rest at the end."""
        account = self._account(trainer)
        self.rewind(trainer, account.position)
        with self.open(trainer) as write:
            account.position = self.position(trainer)

            def write_due() -> None:
                if account.due:
                    write(account.due)
                    account.due = []
                    account.position = self.position(trainer)

            write_due()
            answer = now_and_then(trainer) if self.shows_answers else lambda: None
            try:
                for log in logs:
                    if (shown := answer()) is not None:
                        row: Any = {**log, "log_type": "answer", "logs": shown}
                        account.due.append(row)
                        write_due()
                    if log["logs"]:
                        account.take(log)
                        write_due()
                    yield log
            finally:
                # If due rows remain, writing failed, and the error was raised already.
                if not account.due and (rows := account.last_rows()):
                    write(rows)

    def _account(self, trainer: Any) -> _Account:
        """The last loop's account; a new one if the trainer was set back before it."""
        every = self.every
        if every is None:
            every = max(100, trainer.config.total_steps // POINTS)
        where = self.destination
        name = type(self).__name__ + ("" if where is None else f" {where}")
        account = _Account(WindowedMeans(every))
        self.attach(trainer, name, account)
        sample_step, learn_step = account.seen
        agent = trainer.agent
        if sample_step > agent.sample_step or learn_step > agent.learn_step:
            account = _Account(WindowedMeans(every))
            self.attach(trainer, name, account, restore=False)
        return account


@dataclass
class _Account:
    """Logs that a writer has received but not yet written finally."""

    means: WindowedMeans
    due: list[Row] = field(default_factory=list)  # kept if the disk is full
    seen: list[int] = field(default_factory=lambda: [0, 0])  # steps of the last log
    position: Any = None  # end of the final rows

    def take(self, log: LogData) -> None:
        self.due += self.means.add(log)
        self.seen = [int(log["sample_step"]), int(log["learn_step"])]

    def last_rows(self) -> list[Row]:
        """Rows of the unfinished window; keeps the window open if it can be rewound."""
        return self.means.flush() if self.position is None else self.means.pending()

    def state_dict(self) -> dict[str, Any]:
        return {**vars(self), "means": self.means.state_dict(), "due": [*self.due]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.means.load_state_dict(state["means"])
        vars(self).update({**state, "means": self.means, "due": [*state["due"]]})
