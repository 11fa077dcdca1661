"""What chapter 6 says of the four runs of its figure was measured."""

from __future__ import annotations

import statistics

import pytest
from site_logic import DOCS

from yieldrl.benchmarks import results
from yieldrl.docs._site import course

FOUR = ("both", "no target network", "no replay", "neither")


@pytest.fixture(scope="module")
def runs():
    return results.load(results.FOLDER / "dqn-stability.json")["runs"]


@pytest.fixture(scope="module")
def text():
    return " ".join((DOCS / "course" / "06-dqn.md").read_text("utf-8").split())


def late(run, name):
    """Values of the second half."""
    line = run["series"][name]
    return [value for _, value in line[len(line) // 2 :]]


def test_what_the_page_says_of_the_values_was_measured(runs, text):
    assert "on every seed they pass what is possible" in text
    assert all(run["numbers"]["upright, no target network"] > 100 for run in runs)
    assert "more than half of what an upright one is" in text
    for run in runs:
        upright, falling = (
            {name: statistics.mean(late(run, f"{name}, {state}")) for name in FOUR}
            for state in ("upright", "falling")
        )
        assert falling["no replay"] > 0.5 * upright["no replay"]
        assert falling["both"] < 0.35 * upright["both"]
    assert "missed by some points, on seed 4 by many" in text
    missed = [run["numbers"]["falling, both"] - 1 for run in runs]
    assert missed.index(max(missed)) == 3
    assert missed[3] > 2 * sorted(missed)[-2]


def test_what_the_page_says_of_the_clock_was_measured(runs, text):
    ends = {
        name: [run["series"][f"{name}, upright"][-1][1] for run in runs]
        for name in ("no replay", "both")
    }
    for name, said in (("no replay", "end at {} to {}."), ("both", "end at {} to {},")):
        lowest, highest = round(min(ends[name])), round(max(ends[name]))
        assert said.format(lowest, highest) in text


def test_what_the_page_says_of_the_episodes_was_measured(runs, text):
    lengths = {
        name: [run["numbers"][f"episode, {name}"] for run in runs] for name in FOUR
    }
    mean = {name: statistics.mean(of) for name, of in lengths.items()}
    assert "lasts 229 steps on average" in text
    assert round(mean["both"]) == 229
    assert "Without replay they are fewest" in text
    assert min(mean, key=mean.__getitem__) == "no replay"
    assert "about as many as with both" in text
    assert mean["no target network"] == pytest.approx(mean["both"], rel=0.05)
    assert "one of the five runs that had *neither* balanced for 500 steps" in text
    assert lengths["neither"].count(500) == 1


def test_the_figure_has_every_line_of_every_seed(runs):
    names = course.load("replay_and_target")
    figure = names["figure"]()
    assert list(names["LOOKS"]) == list(FOUR)
    for run, (upright, falling, said) in zip(runs, figure["frames"], strict=True):
        assert len({*upright, *falling}) == 2 * len(FOUR)
        highest = run["numbers"]["upright, no target network"]
        assert f"no target network: {highest:.0f} and" in said
