"""Writer, the base of loggers that write rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from yieldrl import loggers


class Collecting(loggers.Writer):
    """Keeps what it is given, call by call."""

    calls: list[list[loggers.Row]]

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Any]:
        self.calls = []
        yield self.calls.append


def test_rows_come_when_they_are_due(trainer: Any) -> None:
    writer = Collecting(every=10)
    seen = []
    for _ in writer(trainer)():
        seen.append(len(writer.calls))
    # The first row is due with the first log that is not empty and beyond step 10.
    assert seen.index(1) == seen.index(2) - 10 == 11
    assert writer.calls[0] == [
        {"log_type": "train", "sample_step": 10, "learn_step": 5, "logs": {"loss": 3}},
        {
            "log_type": "collect",
            "sample_step": 10,
            "learn_step": 4,
            "logs": {"episode_return": 10, "episodes": 1},
        },
    ]
    assert len(writer.calls) == 10


def test_nothing_trains_if_it_cannot_be_opened(trainer: Any) -> None:
    class Full(loggers.Writer):
        @contextmanager
        def open(self, trainer: Any) -> Iterator[Any]:
            raise OSError("disk full")
            yield

    with pytest.raises(OSError, match="disk full"):
        list(Full()(trainer)())
    assert trainer.agent.sample_step == 0
