"""The corridor of many actions: its steps, its true values, and what is measured."""

import torch
from gymnasium.spaces import Discrete

from yieldrl.benchmarks.claims.evidence import redundancy
from yieldrl.benchmarks.worlds import Corridor


def test_true_values_agree_with_one_more_step_of_value_iteration():
    env = Corridor(4, idle=2)
    values = redundancy.true_values(env, 0.5)
    assert values.max(1).values.tolist() == [0.125, 0.25, 0.5, 1.0]
    backed_up = torch.empty_like(values)
    for step in redundancy.all_steps(env):
        room, action = int(step["obs"][0]), int(step["action"][0])
        future = values[int(step["next_obs"][0])].max() * ~step["terminated"][0]
        backed_up[room, action] = float(step["reward"][0]) + 0.5 * future
    assert torch.equal(backed_up, values)


def test_idle_actions_lead_nowhere():
    env = Corridor(4, reward=100.0, idle=2)
    assert env.action_space == Discrete(4)
    env.room = 3
    assert env.step(2) == (3, 0.0, False, False, {})
    assert env.step(3) == (3, 0.0, False, False, {})
    assert env.step(int(env.onward[3])) == (3, 100.0, True, False, {})


def test_both_start_wrong_and_become_less_so(monkeypatch):
    monkeypatch.setattr(redundancy, "UPDATES", 200)
    monkeypatch.setattr(redundancy, "JUDGED_AT", 200)
    measured = redundancy.in_corridor(seed=1)
    for name in redundancy.ALGORITHMS:
        updates, errors = zip(*measured[name], strict=True)
        assert updates == (50, 100, 150, 200)
        assert measured[f"error of {name}"] == errors[-1] < errors[0]
