"""What chapter 17 says of its forty runs was measured, and its table of seams is so."""

from __future__ import annotations

import importlib
import math
import re

import numpy as np
import pytest
from site_logic import DOCS

from yieldrl.algorithms import dqn
from yieldrl.benchmarks import results
from yieldrl.benchmarks.claims.comparing import munchausen
from yieldrl.benchmarks.scores import difference
from yieldrl.docs._site import course
from yieldrl.exercises.ch17_your_own_algorithm import solution

PAGE = (DOCS / "course" / "17-your-own-algorithm.md").read_text("utf-8")
TEXT = " ".join(PAGE.split())


@pytest.fixture(scope="module")
def runs():
    return results.load(results.FOLDER / "comparing-munchausen.json")["runs"]


@pytest.fixture(scope="module")
def said():
    """Sentences of the figure by number of seeds and group."""
    names = course.load("mine_and_ours")
    frames = iter(names["figure"]()["frames"])
    counts, groups = names["COUNTS"], range(len(names["GROUPS"]))
    return {(count, group): next(frames)[-1] for count in counts for group in groups}


def test_the_first_seed_is_the_one_that_the_figure_begins_with(runs, said):
    scores = next(run["scores"] for run in runs if run["seed"] == 5)
    assert f"| DQN | {scores['dqn']:.0f} |" in PAGE
    assert f"| mine | {scores['munchausen']:.0f} |" in PAGE
    assert scores["munchausen"] / scores["dqn"] == pytest.approx(1.25, abs=0.02)
    assert "Munchausen DQN 335, DQN 266, difference +70;" in said[1, 0]
    assert "With one seed it is 70 ahead." in TEXT


def test_three_seeds_give_three_answers_and_twenty_one(said):
    minus = "\N{MINUS SIGN}"
    for group, (apart, answer) in enumerate(
        [("+6", "not decided"), (f"{minus}63", "worse"), (f"{minus}41", "worse")]
    ):
        assert f"difference {apart}," in said[3, group]
        assert said[3, group].endswith(f": {answer}.")
    assert "it is 6 ahead" in TEXT
    assert "it is 63 behind, and in *a third* 41" in TEXT
    for count in (10, 20):
        for group in range(3):
            assert f"difference {minus}" in said[count, group]
            assert said[count, group].endswith("not decided.")
    assert len({said[20, group].partition(": ")[2] for group in range(3)}) == 1


def test_what_may_be_said_is_what_the_interval_says(runs):
    sides = (munchausen.scores(runs, side) for side in ("munchausen", "dqn"))
    apart, low, high = map(float, difference(*sides))
    assert munchausen.decision(low, high) == "not decided"
    assert (round(apart), round(low), round(high)) == (-26, -50, 5)
    assert (
        "not ahead of DQN by more than 5 points, and may be behind by as many as 50"
        in (TEXT)
    )
    heads = sum(math.comb(20, k) for k in range(15, 21)) / 2**19
    assert f"fair coin in {heads:.0%} of all cases".replace("%", " %") in TEXT


def test_the_runs_kept_to_the_rules():
    result = results.load(results.FOLDER / "comparing-munchausen.json")
    assert result["seeds"] == list(range(1, munchausen.SEEDS + 1))
    assert not result["revision"].endswith("-dirty")
    settings = {**munchausen.SETTINGS, "episodes": munchausen.EPISODES}
    assert result["settings"] == settings
    for run in result["runs"]:
        for points in run["curves"].values():
            assert points[-1][0] == munchausen.SETTINGS["total_steps"]
    assert dqn.Config().total_steps == 150_000  # what its defaults were made for
    config = solution.Config()
    paper = config.temperature, config.munchausen_coef, config.munchausen_clip
    assert paper == (0.03, 0.9, -1.0)


FOLDERS = {
    "Double DQN": "double_dqn",
    "C51": "c51",
    "prioritized replay": "prioritized_dqn",
    "TD3": "td3",
}


def test_seams_are_methods_of_the_root_and_are_replaced_by_whom_the_table_names():
    rows = re.findall(r"^\| (\w*) *\| (`.+?`) \| .+? \| (.+?) \|$", PAGE, re.MULTILINE)
    assert [root for root, *_ in rows if root] == ["DQN", "PPO", "DDPG", "all"]
    root, seen = "", 0
    for family, names, by in rows:
        root = family.lower() or root
        if root == "all":
            continue
        children = [FOLDERS[name] for name in FOLDERS if re.search(rf"\b{name}\b", by)]
        for name in re.findall(r"`(\w+)`", names):
            assert hasattr(algorithm(root), name)
            owners = [name in vars(algorithm(child)) for child in children]
            assert all(owners)
            seen += len(owners)
    assert seen >= 7


def algorithm(folder):
    return importlib.import_module(f"yieldrl.algorithms.{folder}").Algorithm


def test_the_gap_between_actions_is_widened_as_the_page_says():
    """Fixed point of one step that pays 1 or costs 1, clipped and not."""
    alpha = solution.Config().munchausen_coef
    clipped, free = 2.0, 2.0
    for _ in range(300):
        clipped = 2 + alpha * min(1.0, clipped)
        free = 2 + alpha * free
    assert f"one of {clipped:.1f}" in TEXT
    assert free == pytest.approx(2 / (1 - alpha))
    assert np.isclose(clipped, 2.9)
