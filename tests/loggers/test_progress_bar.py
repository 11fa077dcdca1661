"""The progress bar, as text in a terminal and in a file."""

import itertools

import pytest

from yieldrl import loggers
from yieldrl.loggers import progress_bar


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by 50 ms each time it is looked at."""
    ticks = itertools.count(0, 0.05)
    monkeypatch.setattr(progress_bar, "perf_counter", lambda: next(ticks))


def frames(capsys):
    return [line.strip() for line in capsys.readouterr().err.split("\r") if line]


def test_steps_rate_and_returns(make_trainer, capsys):
    list(loggers.progress()(make_trainer(eval_every=20))())
    last = frames(capsys)[-1]
    assert last.startswith("fake: 100%|")
    assert "100/100 [" in last
    assert " steps/s, learn_step=50 (" in last
    assert "/s), episode_return=100, evaluation=50]" in last


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("terminal", "least", "most"), [(True, 30, 65), (False, 1, 4)])
def test_it_is_drawn_ten_times_a_second_and_seldom_into_a_file(
    trainer, capsys, monkeypatch, terminal, least, most
):
    monkeypatch.setattr(progress_bar, "in_notebook", lambda: terminal)
    list(loggers.progress()(trainer)())
    # Looked at 100 times for the logs, and once more after each drawing: some 6.5 s.
    assert least <= len(frames(capsys)) <= most


@pytest.mark.usefixtures("clock")
def test_an_answer_is_shown_every_ten_seconds(make_trainer, capsys, monkeypatch):
    monkeypatch.setattr(progress_bar, "in_notebook", lambda: True)
    monkeypatch.setattr(progress_bar, "latest_answer", lambda _: "'1+2=' -> '3'")
    list(loggers.progress()(make_trainer(total_steps=400))())  # some 38 s
    assert capsys.readouterr().err.count("'1+2=' -> '3'\n") == 4


def test_a_new_loop_starts_where_the_trainer_stands(trainer, capsys):
    stack = loggers.progress()(trainer)
    for log in stack():
        if log["sample_step"] == 40:
            break
    assert "40.0/100 [" in frames(capsys)[-1]
    loop = stack()
    next(loop)
    assert "40.0/100 [" in frames(capsys)[0]
    loop.close()
