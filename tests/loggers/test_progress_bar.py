"""The progress bar, as text in a terminal and in a file."""

import itertools
from typing import Any

import pytest

from yieldrl import loggers
from yieldrl.loggers import progress_bar


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances by 50 ms each time it is looked at."""
    ticks = itertools.count(0, 0.05)
    monkeypatch.setattr(progress_bar, "perf_counter", lambda: next(ticks))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "in_notebook", lambda: True)


def frames(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.strip() for line in capsys.readouterr().err.split("\r") if line]


def test_steps_rate_and_returns(trainer: Any, capsys: Any) -> None:
    list(loggers.progress()(loggers.evaluation(every=60)(trainer))())
    last = frames(capsys)[-1]
    assert last.startswith("fake: 100%|")
    assert "100/100 [" in last
    assert " steps/s, learn_step=50 (" in last
    assert "/s), episode_return=100, evaluation=50]" in last


@pytest.mark.usefixtures("clock", "terminal")
def test_it_is_drawn_ten_times_a_second(trainer: Any, capsys: Any) -> None:
    list(loggers.progress()(trainer)())
    # Looked at 100 times for the logs, and once more after each drawing: some 6.5 s.
    assert 30 <= len(frames(capsys)) <= 65


@pytest.mark.usefixtures("clock")
def test_files_get_few_lines(trainer: Any, capsys: Any) -> None:
    list(loggers.progress()(trainer)())
    assert len(frames(capsys)) <= 4


def test_a_new_loop_starts_where_the_trainer_stands(trainer: Any, capsys: Any) -> None:
    stack = loggers.progress()(trainer)
    for log in stack():
        if log["sample_step"] == 40:
            break
    assert "40.0/100 [" in frames(capsys)[-1]
    loop = stack()
    next(loop)
    assert "40.0/100 [" in frames(capsys)[0]
    loop.close()
