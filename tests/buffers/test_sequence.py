"""Sequences stay whole, in order of time; each environment comes once an epoch."""

import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict

from yieldrl.buffers import SequenceBuffer

NESTED = Dict({"a": Box(-1, 1, (2,)), "b": Discrete(3)})


def buffer_of(steps, envs, minibatches, space=Discrete(9), seed=0):  # noqa: B008
    return SequenceBuffer(
        steps,
        space,
        Discrete(2),
        num_envs=envs,
        num_epochs=3,
        num_minibatches=minibatches,
        seed=seed,
    )


def draw(buffer):
    """The minibatch that is due, counted as learned from."""
    batch = buffer.minibatch()
    buffer.advance()
    return batch


def rollout_of(steps, envs):
    """Every entry says when and where it is: `t + 100 n`."""
    index = torch.arange(steps).unsqueeze(1) + 100 * torch.arange(envs)
    return TensorDict({"action": index, "obs": {"a": index}}, [steps, envs])


@settings(max_examples=50, deadline=None)
@given(data=st.data(), steps=st.integers(1, 5), envs=st.integers(1, 9))
def test_every_environment_comes_once_an_epoch(data, steps, envs):
    minibatches = data.draw(st.integers(1, envs))
    buffer = buffer_of(steps, envs, minibatches, seed=data.draw(st.integers(0, 99)))
    buffer.prepare(rollout_of(steps, envs))
    for _ in range(3):
        assert not buffer.exhausted
        drawn = [draw(buffer) for _ in range(minibatches)]
        sizes = [part.shape[1] for part in drawn]
        assert max(sizes) - min(sizes) <= 1
        whole = torch.cat([part["action"] for part in drawn], dim=1)
        assert whole.shape == (steps, envs)
        number = whole[0] // 100
        assert number.sort().values.tolist() == list(range(envs))
        assert torch.equal(whole, torch.arange(steps).unsqueeze(1) + 100 * number)
        assert all(torch.equal(part["action"], part["obs", "a"]) for part in drawn)
    assert buffer.exhausted


def test_steps_that_only_reset_stay_in_their_places():
    buffer, rollout = buffer_of(3, 2, 1), rollout_of(3, 2)
    rollout["valid"] = torch.tensor([[1, 0], [0, 1], [1, 1]]).bool()
    buffer.prepare(rollout)
    data = buffer.minibatch()
    assert data.shape == (3, 2)
    assert data["valid"].sum() == 4


def test_environments_that_only_reset_are_left_out():
    buffer, rollout = buffer_of(1, 4, 4), rollout_of(1, 4)
    rollout["valid"] = torch.tensor([[True, False, True, False]])
    buffer.prepare(rollout)
    for _ in range(2):
        assert buffer.minibatch()["valid"].tolist() == [[True]]
        buffer.advance()
    assert buffer._passes().learned == 2
    assert buffer._passes().num_minibatches == 2


@pytest.mark.parametrize("learned", [0, 1, 2, 5])
def test_it_goes_on_in_the_middle_of_an_epoch(learned):
    one, other = buffer_of(2, 4, 3, NESTED), buffer_of(2, 4, 3, NESTED, seed=5)
    one.prepare(rollout_of(2, 4))
    for _ in range(learned):
        draw(one)
    other.load_state_dict(one.state_dict())
    for _ in range(4):
        assert (draw(one) == draw(other)).all()


def test_more_minibatches_than_environments_are_refused():
    with pytest.raises(ValueError, match=r"sequences of 3 env.*num_minibatches = 4"):
        buffer_of(128, 3, 4)
