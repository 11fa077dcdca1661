"""The figures of chapter 10, and what its page says of them and of measurements."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from site_logic import DOCS

from yieldrl.benchmarks import results
from yieldrl.docs._site import course


@pytest.fixture(scope="module")
def steps():
    names = course.load("ppo_steps")
    data, found = names["played"]()
    return names, data, found


def test_the_gradient_ends_only_where_leaving_the_interval_pays():
    names = course.load("ppo_clip")
    good, bad = names["PANELS"]
    ratio = np.array(names["RATIOS"])
    for epsilon in names["EPSILONS"]:
        asked = [names["surrogate"](names["RATIOS"], epsilon, p) for p in (good, bad)]
        (up, rises), (down, falls) = map(np.array, asked)
        assert up == pytest.approx(np.minimum(ratio, 1 + epsilon))
        assert down == pytest.approx(-np.maximum(ratio, 1 - epsilon))
        assert (rises == (ratio < 1 + epsilon + 1e-9)).all()
        assert (-falls == (ratio > 1 - epsilon - 1e-9)).all()


def test_an_arrow_stands_where_there_is_a_gradient_and_a_ring_where_none():
    names = course.load("ppo_clip")
    for ratio, seen in ((0.5, [False, True]), (1.0, [False] * 2), (1.5, [True, False])):
        frame = names["frame"](ratio, 0.2)
        rings, arrows = frame["ring visibility"], frame["push d"]
        assert [ring == "visible" for ring in rings] == seen
        assert [arrow == "" for arrow in arrows] == seen


def test_a_rollouts_promise_grows_while_its_policy_gets_worse(steps):
    names, _, found = steps
    free, clipped = found["none"], found["ε = 0.2"]
    for moments in (free, clipped):
        assert moments[0].ratio == pytest.approx(1)
        assert moments[0].worth == pytest.approx(0.187, abs=0.001)
    promised = [moment.promise for moment in free]
    assert promised == sorted(promised)
    at = names["STEPS"].index(30)
    assert free[at].worth < 0.1 < clipped[at].worth
    assert promised[at] > 4 * clipped[at].promise


def test_the_clip_is_no_fence(steps):
    _, _, found = steps
    last = found["ε = 0.2"][-1]
    assert last.ratio.max() > 3  # "one is above 3"
    assert last.worth == pytest.approx(0.187, abs=0.02)  # "about where they began"
    assert 0.1 < np.mean(np.abs(last.ratio - 1) > 0.2) < 0.5


def test_a_dots_transitions_have_one_ratio_and_one_sign(steps):
    names, data, found = steps
    groups = names["grouped"](data)
    assert sum(group.size for group in groups) == len(data.action)
    ratio = found["none"][-1].ratio
    pairs = (4 * data.state + data.action).numpy()
    for group in groups:
        same = (pairs == pairs[group.first]) & (
            (data.advantage > 0).numpy() == group.good
        )
        assert same.sum() == group.size
        assert ratio[same] == pytest.approx(ratio[group.first])


def test_what_the_page_says_of_cartpole_was_measured():
    page = next((DOCS / "course").glob("10-*.md"))
    text = " ".join(page.read_text("utf-8").split())
    assert "after 10 000 to 40 000 steps, 24 000 on average" in text
    assert "after 20 000 to 50 000, on average 36 000" in text
    assert "looked at every 10 000 steps" in text
    for name, said in (("ppo", (10, 24, 40)), ("a2c", (20, 36, 50))):
        result = results.load(results.FOLDER / f"{name}-cartpole.json")
        first = [
            next(
                point["sample_step"] / 1000
                for point in run["curve"]
                if point["episode_return"] >= 475
            )
            for run in result["runs"]
        ]
        assert (min(first), statistics.mean(first), max(first)) == said
        assert result["whole_config"]["eval_every"] == 10_000
        assert result["command"] in text or name == "a2c"
