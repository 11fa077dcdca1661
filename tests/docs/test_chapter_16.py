"""What chapter 16 says was measured, and its figure shows what the page says."""

from __future__ import annotations

import re
import statistics
from typing import Any

import numpy as np
import pytest
from site_logic import DOCS

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks import results
from yieldrl.docs._site import course
from yieldrl.envs.grid_world import HELD_OUT, GoToVectorEnv

PAGE = next((DOCS / "course").glob("16-*.md")).read_text("utf-8")
TEXT = " ".join(PAGE.split())


def runs_of(trial, side=None):
    runs = results.load(results.FOLDER / f"vla-{trial}.json")["runs"]
    return [run for run in runs if side in (None, run.get("side"))]


def mean(runs, when, what):
    return statistics.mean(run[when][what] for run in runs)


def test_what_the_page_says_of_obedience_was_measured():
    vla = runs_of("goto", "vla")
    assert "succeeds in 64 % of the grids, misled in 36 %" in TEXT
    assert "it reaches in 11 % of the grids" in TEXT
    shares = [mean(vla, "improved", told) for told in ("seen", "misled", "unseen")]
    assert [round(100 * share) for share in shares] == [64, 36, 11]
    assert "gained less than two hundredths" in TEXT
    assert 0 < mean(vla, "improved", "seen") - mean(vla, "cloned", "seen") < 0.02
    assert "less often than who guesses" in TEXT
    assert "may hope for 0.44" in TEXT
    assert round(GoToVectorEnv(1, goals="seen").deaf_return, 2) == 0.44
    assert "one of its five seeds, with 0.41, is not" in TEXT
    seeds = sorted(run["improved"]["seen"] for run in vla)
    assert (len(seeds), round(seeds[0], 2)) == (5, 0.41)
    assert seeds[1] > 0.44
    for side in ("cnn", "mlp"):
        assert mean(runs_of("goto", side), "improved", "seen") < 1 / 3


def test_the_trial_took_as_many_steps_as_the_page_says():
    settings = results.load(results.FOLDER / "vla-goto.json")["settings"]
    assert not {"total_steps", "demonstration_steps"} & set(settings)  # the defaults
    config = vla_ppo.Config()
    assert "cloned from 20 000 steps of the expert" in TEXT
    assert "40 000 steps of PPO" in TEXT
    assert config.demonstration_steps == 20_000
    assert config.total_steps - config.demonstration_steps == 40_000


def test_what_the_page_says_of_chunks_was_measured():
    assert "succeeds in 71 % of the grids if it looks after every move" in TEXT
    assert "it is 55 %, with 1.5 looks an episode instead of 4.9" in TEXT
    for side, success, looks in (("1", 71, 4.9), ("4, chunk", 55, 1.5)):
        of = runs_of("chunks", side)
        assert round(100 * mean(of, "improved", "success")) == success
        assert round(mean(of, "improved", "looks"), 1) == looks


def test_what_the_page_says_of_waiting_was_measured():
    result = results.load(results.FOLDER / "vla-elsewhere.json")
    assert "38 to 44 seconds instead of 72 to 77" in TEXT
    for way, said in (("async", (38, 44)), ("sync", (72, 77))):
        seconds = [run[way]["seconds"] for run in result["runs"]]
        assert (round(min(seconds)), round(max(seconds))) == said
    assert result["settings"]["look_seconds"] == 0.1


@pytest.fixture(scope="module")
def figure():
    names = course.load("two_sentences")
    shape = [len(names[of]) for of in ("WALKERS", "ASKED", "STEPS")]
    frames = names["figure"]()["frames"]
    at = {
        (walker, asked, steps): frames[np.ravel_multi_index((i, j, k), shape)]
        for i, walker in enumerate(names["WALKERS"])
        for j, asked in enumerate(names["ASKED"])
        for k, steps in enumerate(names["STEPS"])
    }
    return names, at


def arrives(frame):
    return [end.startswith("there after") for end in frame[3]]


def test_things_that_were_never_named_are_the_held_out_ones(figure):
    names, _ = figure
    for asked, held_out in (("named in training", False), ("never named", True)):
        for goal in names["ASKED"][asked]:
            assert (names["thing"](goal) in HELD_OUT) == held_out


def test_who_reads_words_arrives_everywhere_and_who_does_not_where_it_was_shown(figure):
    names, at = figure
    words, whole, expert = names["WALKERS"]
    for (walker, asked, steps), frame in at.items():
        if walker == expert or (walker == words and steps >= 10):
            assert arrives(frame) == [True, True]
        if steps == 0 and walker != expert:
            assert arrives(frame) == [False, False]
        if walker == whole:
            knows = asked == "named in training" and steps >= 100
            assert arrives(frame) == [knows, knows]


def test_the_blue_is_the_attention(figure):
    _, at = figure
    words = "reads word by word", "named in training"
    blind, late = (
        np.array(at[(*words, steps)][0]).reshape(2, 36) for steps in (0, 300)
    )
    assert (blind == blind[0, 0]).all()
    assert late.sum(1) == pytest.approx([0.85, 0.85], abs=0.03)
    for looks, cell in zip(late, (10, 30), strict=True):  # of what is named
        assert looks.argmax() == cell
        assert looks.max() > 0.6


def test_the_figure_is_drawn_by_the_ten_lines_of_the_page():
    block = re.search(r"^```python\n(import numpy.*?)^```", PAGE, re.M | re.S)
    assert block is not None
    page: dict[str, Any] = {}
    exec(block[1], page)
    listener = course.load("listener")
    shown = [column[:256] for column in listener["demonstrated"]()]
    both = []
    for names in (page, listener):
        meaning = np.zeros((12, 7))
        for _ in range(3):
            names["clone"](meaning, *shown)
        both.append(meaning)
    assert np.abs(both[0]).max() > 0.1
    assert both[0] == pytest.approx(both[1])
