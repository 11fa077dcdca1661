"""The step buffer: one step at a time, in the same memory."""

import copy

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.buffers import StepBuffer


def buffer_of(num_envs=3):
    return StepBuffer(Discrete(100), Discrete(2), num_envs=num_envs)


def transition(number, num_envs=3, **extras):
    numbers = number + np.arange(num_envs)
    return {
        "obs": numbers,
        "next_obs": numbers + 1,
        "action": numbers % 2,
        "reward": numbers.astype(np.float64),
        "terminated": numbers % 3 == 0,
        "truncated": numbers % 5 == 0,
        **extras,
    }


@settings(max_examples=30)
@given(
    num_envs=st.integers(1, 5),
    numbers=st.lists(st.integers(0, 90), min_size=1, max_size=6),
)
def test_what_comes_out_is_the_latest_step(num_envs, numbers):
    buffer = buffer_of(num_envs)
    for number in numbers:
        buffer.add(transition(number, num_envs))
        data = buffer.transitions()
        assert data.batch_size == (num_envs,)
        for name, value in transition(number, num_envs).items():
            assert data[name].tolist() == value.tolist()
        buffer.clear()


def test_a_step_is_learned_from_before_the_next():
    buffer = buffer_of()
    with pytest.raises(RuntimeError, match="collect first"):
        buffer.transitions()
    assert not buffer.full
    assert len(buffer) == 0
    buffer.add(transition(1))
    assert buffer.full
    assert len(buffer) == 1
    with pytest.raises(RuntimeError, match=r"clear\(\) first"):
        buffer.add(transition(2))


def test_extras_of_the_agent_come_along():
    buffer = buffer_of()
    buffer.add(transition(1, log_prob=torch.tensor([-1.0, -2.0, -3.0])))
    assert buffer.transitions()["log_prob"].tolist() == [-1.0, -2.0, -3.0]
    buffer.clear()
    buffer.add(transition(4, log_prob=torch.tensor([-4.0, -5.0, -6.0])))
    assert buffer.transitions()["log_prob"].tolist() == [-4.0, -5.0, -6.0]
    assert buffer.transitions()["obs"].tolist() == [4, 5, 6]


def test_steps_that_only_reset_are_no_transitions():
    buffer = buffer_of()
    buffer.add(transition(1, valid=np.array([False, False, False])))
    assert not buffer.full
    buffer.add(transition(2, valid=np.array([False, True, False])))
    assert buffer.full
    assert buffer.transitions()["valid"].tolist() == [False, True, False]


def test_nested_observations():
    space = Dict(place=Discrete(4), body=Box(-1, 1, (2,), np.float32))
    buffer = StepBuffer(space, Discrete(2), num_envs=2)
    obs = {"place": np.array([1, 2]), "body": np.ones((2, 2), np.float32)}
    buffer.add(transition(0, 2, obs=obs, next_obs=obs))
    assert buffer.transitions()["obs", "place"].tolist() == [1, 2]
    assert buffer.transitions()["next_obs", "body"].shape == (2, 2)


@pytest.mark.parametrize("waiting", [True, False])
def test_it_goes_on_where_it_was_saved(waiting):
    buffer, other = buffer_of(), buffer_of()
    buffer.add(transition(7, extra=np.array([1.0, 2.0, 3.0], dtype=np.float32)))
    if not waiting:
        buffer.clear()
    other.load_state_dict(buffer.state_dict())
    assert other.full is waiting
    if waiting:
        one, another = buffer.transitions(), other.transitions()
        assert (one == another).all()
        assert another["extra"].tolist() == [1.0, 2.0, 3.0]


def test_a_copy_hands_out_its_own_steps():
    buffer = buffer_of()
    buffer.add(transition(1))
    other = copy.deepcopy(buffer)
    other.clear()
    other.add(transition(4))
    assert buffer.transitions()["obs"].tolist() == [1, 2, 3]
    assert other.transitions()["obs"].tolist() == [4, 5, 6]


def test_a_checkpoint_of_other_environments_is_refused():
    other = StepBuffer(Box(-1, 1, (2,), np.float32), Discrete(2), num_envs=3)
    with pytest.raises(ValueError, match="obs"):
        buffer_of().load_state_dict(other.state_dict())


@pytest.mark.parametrize("saved", [True, False])
def test_a_step_of_another_autoreset_mode_is_kept(saved):
    flags = {"valid": np.array([True, False, True])}
    buffer, other = buffer_of(), buffer_of()
    other.add(transition(3, **({} if saved else flags)))
    buffer.add(transition(7, **(flags if saved else {})))
    other.load_state_dict(buffer.state_dict())
    assert ("valid" in other.transitions().keys()) is saved  # noqa: SIM118
    other.clear()
    other.add(transition(8, **({} if saved else flags)))
    assert ("valid" in other.transitions().keys()) is not saved  # noqa: SIM118
    assert other.transitions()["obs"].tolist() == [8, 9, 10]


def test_a_step_that_does_not_fit_is_not_there():
    buffer = buffer_of()
    with pytest.raises(ValueError, match=r"'reward'.*\(3,\).*\(1,\)"):
        buffer.add(transition(1, reward=np.zeros(1)))
    assert not buffer.full
    buffer.add(transition(2))
    assert buffer.transitions()["obs"].tolist() == [2, 3, 4]
