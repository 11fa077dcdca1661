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


def test_how_far_cloning_is_and_how_often_the_task_is_done(make_trainer, capsys):
    """The expert's returns are not shown as the policy's, nor after cloning."""

    def logs(trainer):
        for kind, told in (
            ("collect", {"expert_return": 1.0}),
            ("train", {"cloned": 0.25}),
            ("train", {"grpo/informative_groups": 0.5}),
            ("evaluate", {"episode_return": 3.0, "success_rate": 0.1}),
        ):
            yield {"log_type": kind, "sample_step": 0, "learn_step": 0, "logs": told}

    trainer = make_trainer()
    bar, shown = loggers.progress().run(trainer, logs(trainer)), []
    for _ in bar:
        bar.gi_frame.f_locals["draw"]()
        shown.append(frames(capsys)[-1])
    assert shown[0].endswith("expert_return=1]")
    assert shown[1].endswith("expert_return=1, cloned=0.25]")
    assert shown[2].endswith("informative_groups=0.5]")
    assert shown[3].endswith("informative_groups=0.5, evaluation=3, success_rate=0.1]")
    assert not any("episode_return" in one for one in shown)


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
