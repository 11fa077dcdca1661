"""Whatever an algorithm does it does on its model's device, and seldom waits for it."""

from collections import Counter

import pytest
import simulated.device
import torch
from factories import trainer_of
from simulated.device import DEVICE, WAITS, SimTensor

BORDER = "to in core/conversion.py:like_input"  # of actions, for NumPy environments
FIRST = "core/conversion.py:as_array"  # what the very first step returned is looked at
EPISODES = "collectors/statistics.py"  # every 128 steps of all environments
ROLLOUT = "nonzero in algorithms/ppo/algorithm.py:next_values"
DIVERGED = "_local_scalar_dense in abstractions.py:minimize"  # every 100 gradient steps


@pytest.fixture(autouse=True)
def none_waited():
    WAITS.clear()


@pytest.mark.parametrize("name", ["ppo", "dqn", "sac", "a2c"])
def test_it_trains_evaluates_saves_and_goes_on_there(name, tmp_path):
    with trainer_of(name, device=str(DEVICE), total_steps=96) as trainer:
        steps = Counter()
        for log in trainer():
            steps[log["log_type"]] += 1
            if log["sample_step"] >= 48:
                break
        assert Counter(WAITS)[BORDER] == steps["collect"]
        path = trainer.save(tmp_path / "run.pt")
        assert trainer.evaluate(1)["logs"]["episodes"] == 1
    with type(trainer).load(path) as again:
        assert [log["sample_step"] for log in again()][-1] == 96
        assert all(isinstance(p, SimTensor) for p in again.model.parameters())


@pytest.mark.parametrize("name", ["ppo", "dqn", "a2c"])
def test_with_worlds_there_a_step_waits_for_nothing(name):
    waits, seen = {}, 0
    world = {"env_id": "yieldrl/CartPole-v1", "total_steps": 512}
    with trainer_of(name, device=str(DEVICE), **world) as trainer:
        WAITS.clear()
        for log in trainer():
            waits.setdefault(log["log_type"], Counter()).update(WAITS[seen:])
            seen = len(WAITS)
            rollouts = log["sample_step"] // 16  # of 8 steps in 2 worlds
    first = [wait for wait in waits["collect"].elements() if FIRST in wait]
    assert len(first) == 3  # reward, terminated, truncated
    assert all(FIRST in wait or EPISODES in wait for wait in waits["collect"])
    assert set(waits["train"]) <= {ROLLOUT, DIVERGED}  # none in a gradient step
    assert waits["train"][ROLLOUT] == (rollouts if name != "dqn" else 0)


def test_mixed_devices_and_waits_are_noticed():
    there = torch.ones(3, device=DEVICE)
    with pytest.raises(RuntimeError, match="one device"):
        there + torch.ones(3)
    assert (there + torch.tensor(1.0)).sum() == 6.0
    simulated.device.wait("nothing")  # not of the package
    assert WAITS == []
