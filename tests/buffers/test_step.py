"""The step buffer: one step at a time, in the same memory."""

import copy

import numpy as np
import pytest
from factories import VECTOR, transition
from gymnasium.spaces import Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.buffers import StepBuffer


def buffer_of(num_envs=3):
    return StepBuffer(VECTOR, Discrete(2), num_envs=num_envs)


def test_steps_that_only_reset_are_no_transitions():
    buffer = buffer_of()
    buffer.add(transition(1, valid=np.array([False, False, False])))
    assert not buffer.full
    buffer.add(transition(2, valid=np.array([False, True, False])))
    assert buffer.full
    assert buffer.transitions()["valid"].tolist() == [False, True, False]


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
    assert buffer.transitions()["reward"].tolist() == [3, 4, 5]
    other = copy.deepcopy(buffer)
    other.clear()
    other.add(transition(4))
    assert buffer.transitions()["reward"].tolist() == [3, 4, 5]
    assert other.transitions()["reward"].tolist() == [12, 13, 14]
