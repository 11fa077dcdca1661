"""The figures of chapter 4: their walks and tables, and what its page says of them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from site_logic import DOCS

from yieldrl.benchmarks import results
from yieldrl.docs._site import course
from yieldrl.envs import policy_evaluation, value_iteration


@pytest.fixture(scope="module")
def cliff():
    names = course.load("cliff_walks")
    return names, gymnasium.make("CliffWalking-v1").unwrapped.P


def test_sarsas_walk_turns_away_from_the_edge(cliff):
    names, world = cliff
    lengths = []
    for epsilon in names["EPSILONS"]:
        states = names["walk"](world, names["sarsa_table"](world, epsilon))
        lengths.append(len(states) - 1)
    assert lengths == sorted(lengths)
    assert [lengths[0], lengths[names["EPSILONS"].index(0.1)], lengths[-1]] == [
        13,
        15,
        17,
    ]


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_sarsas_table_is_that_of_the_policy_that_it_follows(cliff, epsilon):
    """`Q(s, a) = r + E Q(s', a')`, where a' is drawn as the table says."""
    names, world = cliff
    q_value = names["sarsa_table"](world, epsilon)
    policy = names["exploring"](q_value, epsilon)
    follow = (policy * q_value).sum(1)
    for state, actions in world.items():
        for action, [(_, after, reward, ended)] in actions.items():
            target = reward + follow[after] * (not ended)
            assert q_value[state, action] == pytest.approx(target)
    assert names["value"](world, q_value, epsilon) == pytest.approx(follow[36])
    bold = names["exploring"](names["q_learning_table"](world), epsilon)
    assert follow[36] > policy_evaluation(world, bold, gamma=1.0)[36]


def test_the_last_arrows_that_are_wrong_are_nearly_right():
    names = course.load("lake_table")
    world = gymnasium.make("FrozenLake-v1").unwrapped.P
    _, best = value_iteration(world, names["GAMMA"])
    *_, (_, table) = names["tables"]()
    lost = (best.max(1) - best[np.arange(16), table.argmax(1)])[names["FIELDS"]]
    assert (lost > 1e-6).sum() == 2  # "two arrows are still dashed"
    assert lost.max() < 0.05  # "by a few hundredths"
    dashes = names["look"](table, best)["shaft stroke-dasharray"]
    assert [dash != "none" for dash in dashes] == (lost > 1e-6).tolist()


def test_what_the_page_says_of_the_curves_was_measured():
    page = next((DOCS / "course").glob("04-*.md"))
    text = " ".join(page.read_text("utf-8").split())
    assert "In 11 of the 45 evaluations from 4 000 steps on" in text
    assert "a hundred episodes" in text
    assert "off by about 0.04, its *standard error*" in text
    sarsa = results.load(results.FOLDER / "sarsa-cliffwalking.json")
    earned = [
        point["episode_return"]
        for run in sarsa["runs"]
        for point in run["curve"]
        if point["sample_step"] >= 4_000
    ]
    assert (earned.count(-200), len(earned)) == (11, 45)
    lake = results.load(results.FOLDER / "q_learning-frozenlake.json")
    assert lake["whole_config"]["eval_episodes"] == 100
    assert pytest.approx(0.04, abs=0.005) == (0.74 * 0.26 / 100) ** 0.5
