"""The figures of chapter 15, and what its page says of them and of measurements."""

from __future__ import annotations

import re
import statistics

import numpy as np
import pytest
from site_logic import DOCS

from yieldrl.benchmarks import results
from yieldrl.benchmarks.claims.collecting import lag, overhead, overlap
from yieldrl.benchmarks.scores import iqm
from yieldrl.docs._site import course
from yieldrl.exercises.ch15_rollout_and_training import check
from yieldrl.exercises.checking import properties, statement

PAGE = (DOCS / "course" / "15-rollout-and-training.md").read_text("utf-8")
TEXT = " ".join(PAGE.split())
SIDES = "training", "held_out"


def runs_of(name):
    return results.load(results.FOLDER / f"{name}.json")["runs"]


@pytest.fixture(scope="module")
def timeline():
    return course.load("timeline")


@pytest.fixture(scope="module")
def recurrence():
    """The ten lines of the page."""
    block = re.search(r"^```python\n(import numpy.*?)^```", PAGE, re.M | re.S)
    assert block is not None
    names: dict = {}
    exec(block[1], names)
    return names["side_by_side"]


def score(runs, who, side):
    """Somebody's returns, of every seed."""
    return [run["returns"][who][side] for run in runs if who in run["returns"]]


def played(timeline, kind, most):
    return timeline["SideBySide"](timeline["WORKS"][kind], most).play()


def updates(timeline, of):
    return sum(piece.end <= timeline["TICKS"] for piece in of.learned)


@pytest.mark.parametrize("kind", ["1 : 3", "1 : 1", "3 : 1", "uneven"])
@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_the_ring_waits_as_the_ten_lines_say(timeline, recurrence, kind, most):
    """Two ways to one timeline: the library's bookkeeping, and a recurrence."""
    works = timeline["WORKS"][kind]
    collect = [timeline["ROWS"] * step for step in works.step]
    ends, lags = recurrence(collect, works.learn, most)
    learned = played(timeline, kind, most).learned
    assert [piece.end for piece in learned] == list(ends[: len(learned)])
    # The ten lines look for weights before a rollout, the ring before each of its rows.
    assert all(piece.number <= old for piece, old in zip(learned, lags, strict=False))


@pytest.mark.parametrize("kind", ["1 : 3", "1 : 1", "3 : 1", "uneven"])
def test_a_bound_of_0_is_collecting_in_turn(timeline, kind):
    turn, beside = (
        timeline["in_turn"](timeline["WORKS"][kind]),
        played(timeline, kind, 0),
    )
    count = len(beside.learned)
    assert beside.learned == turn.learned[:count]
    assert beside.collected[:count] == turn.collected[:count]


def test_what_the_page_says_of_the_timeline_is_what_it_shows(timeline):
    assert "In turn, six rollouts are learned from" in TEXT
    assert "side by side, eleven" in TEXT
    even = played(timeline, "1 : 1", 1)
    assert updates(timeline, timeline["in_turn"](timeline["WORKS"]["1 : 1"])) == 6
    assert updates(timeline, even) == 11
    assert [piece.number for piece in even.learned[:4]] == [0, 1, 1, 1]
    assert "At 2, 3, 4 nothing changes." in TEXT
    assert all(played(timeline, "1 : 1", most) == even for most in (2, 3, 4, 5))
    assert "learns from rollouts that are up to five updates old" in TEXT
    near, far = (played(timeline, "1 : 3", most) for most in (1, 5))
    assert (near.oldest, far.oldest) == (1, 5)
    assert [p.end for p in near.learned] == [p.end for p in far.learned]
    assert "Choose *uneven*, and a larger bound is worth something" in TEXT
    done = [
        updates(timeline, played(timeline, "uneven", most)) for most in (0, 1, 2, 3)
    ]
    assert done == sorted(set(done))
    assert "the lag of *3 : 1* is smaller, 0.3" in TEXT
    slow = played(timeline, "3 : 1", 1).learned[1:]
    assert statistics.mean(piece.number for piece in slow) == pytest.approx(
        0.3, abs=0.05
    )


def test_the_bound_holds_in_every_frame(timeline):
    for kind in timeline["WORKS"]:
        for most in timeline["LAGS"]:
            assert played(timeline, kind, most).oldest <= most


def test_the_first_frame_shows_the_price(timeline):
    figure = course.load("side_by_side")["figure"]()
    most, kind = figure["start"]
    said = figure["frames"][most * len(timeline["WORKS"]) + kind][-1]
    assert "max_policy_lag = 1: 11 updates, and 6 in turn" in said


def test_what_the_page_says_of_a_lag_was_measured():
    runs = runs_of("collecting-lag")
    means = {
        (name, old, along): statistics.mean(lag.of(runs, name, old, along=along))
        for name in lag.CORRECTIONS
        for old in lag.LAGS
        for along in (False, True)
    }
    early = [means[name, old, False] for name in lag.CORRECTIONS for old in (0, 1, 2)]
    assert "Up to a lag of 2 all but one of twelve means are 500 in the end" in TEXT
    assert sorted(mean > 499 for mean in early) == [False] + [True] * 11
    assert "At 8, `none` ends at 207 and `vtrace` at 143" in TEXT
    assert round(means["none", 8, False]) == 207
    assert round(means["vtrace", 8, False]) == 143
    assert min((means[name, 8, False], name) for name in lag.CORRECTIONS)[1] == "vtrace"
    assert "its mean return falls from 446 to 429" in TEXT
    assert [round(means["clip", old, True]) for old in (0, 8)] == [446, 429]
    assert means["clip", 8, False] == 500
    result = results.load(results.FOLDER / "collecting-lag.json")
    assert result["command"] in TEXT
    assert len(runs) == 5 * len(lag.LAGS) * len(lag.CORRECTIONS)


def test_the_figure_shows_every_seed_of_every_lag():
    figure = course.load("lag_return")["figure"]()
    parts = [part for part, _ in figure["parts"]]
    names = course.load("lag_return")
    runs = runs_of("collecting-lag")
    for at, frame in enumerate(figure["frames"]):
        name = lag.CORRECTIONS[at // 2]
        heights = frame[parts.index(".seed") + 1]
        along = bool(at % 2)
        wanted = [
            names["up"](y)
            for old in lag.LAGS
            for y in lag.of(runs, name, old, along=along)
        ]
        assert heights == wanted
        assert frame[0].count("") == 1  # the chosen one is not drawn twice
        assert frame[-1].startswith(f"{name}: ")


def test_what_the_page_says_of_time_was_measured():
    assert "side by side was [1.9 times as fast]" in TEXT
    gain = statistics.median(overlap.gains(runs_of("collecting-overlap"), "1:1"))
    assert round(gain, 1) == 1.9
    runs = runs_of("collecting-overhead")
    assert "it took 1.5 times as *long*" in TEXT
    assert round(statistics.median(overhead.ratios(runs, "W1")), 1) == 1.5
    assert "learning is 63 % of the time in turn" in TEXT
    shares = [run["learner's share"] for run in runs if run["work"] == "W1"]
    assert round(100 * statistics.mean(shares)) == 63


def test_at_a_lag_of_1_another_correction_was_the_best_in_the_maze():
    runs = runs_of("collecting-corrections-tmaze")
    ends = {
        side: statistics.mean(run["final"] for run in runs if run["side"] == side)
        for side in lag.CORRECTIONS
    }
    assert "with an LSTM in the T-maze, [`none` was]" in TEXT
    assert max(ends, key=lambda side: ends[side]) == "none"


def test_what_the_page_says_of_teachers_was_measured():
    """Half of the worlds is 250: those who stand in one half alone are below 300."""
    runs = runs_of("adaptation-cartpole")
    found = {
        who: score(runs, who, "training")
        for who in ("blind", "lstm", "oracle", "teacher", "student, finetune")
    }
    assert all(200 < x < 300 for x in found["blind"])
    assert "it ended where blind PPO did, in every seed" in TEXT
    assert all(200 < x < 300 for x in found["lstm"])
    assert "made use of them in one of five seeds" in TEXT
    assert sum(x > 400 for x in found["oracle"]) == 1
    assert "teachers, which have an encoder for them, did in four" in TEXT
    assert sum(x > 400 for x in found["teacher"]) == 4
    assert "every student ends where its teacher does" in TEXT
    ends = found["student, finetune"]
    assert ends == pytest.approx(found["teacher"], abs=6)
    assert "what fine-tuning gains in the worlds of training, it loses in those" in TEXT
    after, before = (
        [iqm(np.array(score(runs, f"student, {phase}", side))) for side in SIDES]
        for phase in ("finetune", "adapt")
    )
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_the_page_lists_what_the_check_asks_for():
    said = [statement(holds) for holds in properties(check)]
    assert len(said) == 9
    assert all(text in PAGE for text in said)  # in the output of the notebook's check
