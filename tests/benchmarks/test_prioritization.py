"""The worlds of rare rewards, and the memory that a claim about replay begins with."""

import gymnasium
import pytest
import torch

from yieldrl.benchmarks import worlds
from yieldrl.benchmarks.claims.evidence import prioritization
from yieldrl.benchmarks.registry import CLAIMS


def play(env, actions):
    env.reset(seed=0)
    return [env.step(action) for action in actions]


def test_a_corridor_leads_on_and_back():
    env = worlds.Corridor(4)
    right = env.onward
    steps = play(env, [1 - right[0], right[0], 1 - right[1], *right])
    assert [step[0] for step in steps] == [0, 1, 0, 1, 2, 3, 3]
    assert [step[1] for step in steps] == [0.0] * 6 + [1.0]
    assert [step[2] for step in steps] == [False] * 6 + [True]


def test_a_cliffwalk_ends_with_the_first_wrong_step():
    env = worlds.Cliffwalk(4)
    right = env.onward
    fallen = play(env, [right[0], right[1], 1 - right[2]])[-1]
    assert fallen[:3] == (2, 0.0, True)
    assert play(env, right)[-1][:3] == (3, 1.0, True)


@pytest.mark.parametrize("length", [5, 30])
def test_they_are_registered(length):
    env = gymnasium.make("yieldrl.benchmarks.worlds:Corridor-v0", length=length)
    assert env.observation_space.n == length
    assert set(env.unwrapped.onward.tolist()) == {0, 1}  # no bias solves it


def test_the_memory_holds_every_way_and_one_reward():
    ways = list(prioritization.all_ways(worlds.Cliffwalk(5)))
    assert len(ways) == 2**6 - 2
    assert sum(way["reward"].item() for way in ways) == 1.0
    assert sum(way["terminated"].item() for way in ways) == 2**5


def test_the_true_values_agree_with_themselves():
    env = worlds.Cliffwalk(5)
    truth = prioritization.true_values(env, 0.8)
    for way in prioritization.all_ways(env):
        state, action, following = (
            int(way[key][0]) for key in ("obs", "action", "next_obs")
        )
        future = 0.8 * truth[following].max() * (not way["terminated"][0])
        expected = torch.tensor(way["reward"][0]).float() + future
        torch.testing.assert_close(truth[state, action], expected)


def test_prioritized_replay_has_to_be_faster():
    holds = CLAIMS["evidence"]["prioritized_dqn-cliffwalk"].holds
    assert holds({"updates of dqn": 500, "updates of prioritized_dqn": 450})
    assert not holds({"updates of dqn": 500, "updates of prioritized_dqn": 500})


def test_it_measures_until_the_values_are_right(monkeypatch):
    monkeypatch.setattr(prioritization, "LENGTH", 2)
    monkeypatch.setattr(prioritization, "UPDATES", 400)
    measured = prioritization.in_cliffwalk(1)
    for name in prioritization.ALGORITHMS:
        line = dict(measured[name])
        learned = measured[f"updates of {name}"]
        assert learned < 400
        assert line[learned] < prioritization.LEARNED
        assert all(
            error >= prioritization.LEARNED for u, error in line.items() if u < learned
        )
        assert line[50] > 0.01
