"""The live plot, in a notebook that is only pretended, and elsewhere."""

import itertools
from types import SimpleNamespace

import pytest

from yieldrl import loggers
from yieldrl.loggers import live_plots

IPython = pytest.importorskip("IPython", reason="notebooks need IPython")
pytest.importorskip("IPython.display")

METRICS = ("collect/episode_return", "train/loss")


@pytest.fixture
def places(monkeypatch):
    """The pictures that are shown in each place by what stands in for IPython."""
    places, ticks = [], itertools.count(0, 0.1)

    def display(picture, *, display_id):
        assert display_id
        places.append([picture])
        return SimpleNamespace(update=places[-1].append)

    monkeypatch.setattr(live_plots, "in_notebook", lambda: True)
    monkeypatch.setattr(live_plots, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(IPython.display, "display", display)
    return places


def test_elsewhere_it_does_nothing(trainer, capsys):
    assert len(list(loggers.live_plot()(trainer)())) == 100
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures take long."""
    monkeypatch.setattr(live_plots, "_png", lambda curves: b"")


def test_it_is_drawn_again_in_one_place(make_trainer, places):
    list(loggers.live_plot(METRICS)(make_trainer(total_steps=40))())
    (pictures,) = places
    assert 2 <= len(pictures) <= 4  # 24 logs with something in them, 0.1 s each
    drawn = [picture.data for picture in pictures]
    assert all(png.startswith(b"\x89PNG\r\n") for png in drawn)
    assert len({*drawn[:-1]}) == len(drawn) - 1  # the curves grow


def test_drawing_takes_a_tenth_of_the_time(trainer, places, monkeypatch):
    clock, drawn = [0.0], []

    def slow(curves):
        drawn.append(clock[0])
        clock[0] += 1.0
        return b""

    def tick():
        clock[0] += 0.5
        return clock[0]

    monkeypatch.setattr(live_plots, "_png", slow)
    monkeypatch.setattr(live_plots, "perf_counter", tick)
    monkeypatch.setattr(live_plots, "EVERY_SECONDS", 0.0)
    list(loggers.live_plot()(trainer)())
    between = [after - before for before, after in itertools.pairwise(drawn[:-1])]
    assert len(between) >= 2
    assert all(14 <= pause <= 16 for pause in between)  # 1.5 s, and 9 times as much


@pytest.mark.usefixtures("undrawn")
def test_the_points_are_the_metrics_and_a_new_loop_continues_them(trainer, places):
    logger = loggers.live_plot(METRICS)
    for log in logger(trainer)():
        if log["sample_step"] == 50:
            break
    list(logger(trainer)())
    assert len(places) == 2
    points = logger.curves(trainer)
    assert points["collect/episode_return"] == [(s, s) for s in range(10, 101, 10)]
    assert points["train/loss"] == [(2 * n, n) for n in range(1, 51)]


@pytest.mark.usefixtures("places", "undrawn")
def test_long_series_are_means_over_windows(make_trainer):
    logger, trainer = loggers.live_plot("train/loss"), make_trainer(total_steps=3_000)
    list(logger(trainer)())
    (points,) = logger.curves(trainer).values()
    assert points == [(10 * n, 5 * n - 2) for n in range(1, 301)]  # means of 5 each
