"""Every piece comes once an epoch, in minibatches, wherever it was saved."""

import numpy as np
import pytest
import torch
from factories import saved_and_loaded
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict

from yieldrl.buffers import Minibatches, sequences, transitions

FEW = settings(max_examples=40)


def rollout_of(steps=4, envs=3, valid=None):
    """Every entry says when and where it is: `t + 100 n`."""
    index = torch.arange(steps).unsqueeze(1) + 100 * torch.arange(envs)
    data = {"action": index, "reward": index.float(), "obs": {"a": index, "b": -index}}
    if valid is not None:
        data["valid"] = torch.as_tensor(valid).view(steps, envs)
    return TensorDict(data, [steps, envs])


def passes_of(
    steps=4, envs=3, valid=None, epochs=3, minibatches=2, seed=0, make=transitions
):
    data = make(rollout_of(steps, envs, valid))
    return Minibatches(data, epochs, minibatches, seed, sequences=make is sequences)


def draw(passes):
    """The minibatch that is due, counted as learned from."""
    batch = passes.minibatch()
    passes.advance()
    return batch


def epoch(passes):
    return [draw(passes) for _ in range(passes.num_minibatches)]


@pytest.mark.parametrize("valid", [None, [True, False] * 3])
def test_what_matters_at_the_first_step_is_kept_once(valid):
    """Also in minibatches and checkpoints, of which it would be the larger part."""
    rollout = rollout_of(3, 2, valid)
    rollout["memory"] = torch.randn(3, 2, 50)
    rows = sequences(rollout, starts=["memory"])
    passes = Minibatches(rows, 2, 1, 0, sequences=True)
    again = Minibatches.from_state(saved_and_loaded(passes.state_dict()))
    data = passes.minibatch()
    which = data["action"][0] // 100
    assert data.shape == (3, len(which))
    for step in data["memory"]:
        assert torch.equal(step, rollout["memory"][0, which])
    assert torch.equal(again.minibatch()["memory"], data["memory"])
    if valid is None:
        for each in (passes, again):
            held = each.minibatch()["memory"].untyped_storage()
            assert held.nbytes() == 2 * 50 * 4
    assert not torch.equal(rollout["memory"][0], rollout["memory"][1])  # as it was


def test_environments_that_only_reset_are_left_out():
    valid = [True, False, True, False]
    passes = passes_of(1, 4, valid, minibatches=4, make=sequences)
    assert passes.num_minibatches == 2
    for _ in range(2):
        assert draw(passes)["valid"].tolist() == [[True]]
    assert passes.position == 2


@FEW
@given(
    steps=st.integers(1, 9),
    envs=st.integers(1, 4),
    minibatches=st.integers(1, 7),
    drop=st.sampled_from([0.0, 0.4]),
    seed=st.integers(0, 100),
)
def test_every_transition_is_drawn_once_an_epoch(steps, envs, minibatches, drop, seed):
    valid = np.random.default_rng(seed).random(steps * envs) >= drop
    valid[0] = True
    passes = passes_of(steps, envs, valid if drop else None, 3, minibatches, seed)
    expected = rollout_of(steps, envs)["reward"].flatten()[torch.from_numpy(valid)]
    for _ in range(3):
        assert not passes.exhausted
        batches = epoch(passes)
        drawn = torch.cat([batch["reward"] for batch in batches])
        assert sorted(drawn.tolist()) == sorted(expected.tolist())
        for batch in batches:
            assert torch.equal(batch["obs", "b"], -batch["action"])
            assert torch.equal(batch["reward"], batch["action"].float())
        sizes = [len(batch) for batch in batches]
        assert len(sizes) == min(minibatches, len(expected))
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= 1
    assert passes.exhausted


@FEW
@given(data=st.data(), steps=st.integers(1, 5), envs=st.integers(1, 9))
def test_every_environment_comes_once_an_epoch(data, steps, envs):
    minibatches = data.draw(st.integers(1, envs))
    seed = data.draw(st.integers(0, 99))
    passes = passes_of(steps, envs, None, 3, minibatches, seed, sequences)
    for _ in range(3):
        assert not passes.exhausted
        drawn = epoch(passes)
        sizes = [part.shape[1] for part in drawn]
        assert max(sizes) - min(sizes) <= 1
        whole = torch.cat([part["action"] for part in drawn], dim=1)
        assert whole.shape == (steps, envs)
        number = whole[0] // 100
        assert number.sort().values.tolist() == list(range(envs))
        assert torch.equal(whole, torch.arange(steps).unsqueeze(1) + 100 * number)
        assert all(torch.equal(part["action"], part["obs", "a"]) for part in drawn)
    assert passes.exhausted


def test_an_epochs_order_is_that_of_the_seed_and_its_number():
    passes = passes_of(seed=7, minibatches=1)
    for number in range(3):
        generator = torch.Generator().manual_seed(7 + number)
        order = torch.randperm(12, generator=generator)
        flat = transitions(rollout_of())["reward"]
        assert torch.equal(draw(passes)["reward"], flat[order])


@pytest.mark.parametrize("make", [transitions, sequences])
def test_a_rollout_of_resets_alone_is_exhausted_at_once(make):
    assert passes_of(2, 2, [False] * 4, make=make).exhausted


def test_a_minibatch_is_due_until_it_was_learned_from():
    """Training that stopped within `learn` goes on with the same minibatch."""
    passes, seen = passes_of(epochs=2), []
    for number in range(4):
        assert not passes.exhausted
        batch = passes.minibatch()
        for _ in range(number):
            assert passes.minibatch() is batch
        seen.append(batch["reward"].tolist())
        passes.advance()
    assert passes.exhausted
    everything = sorted(rollout_of()["reward"].flatten().tolist())
    assert sorted(seen[0] + seen[1]) == sorted(seen[2] + seen[3]) == everything
    with pytest.raises(RuntimeError, match=r"2 epochs.*clear\(\) and collect"):
        passes.minibatch()


def test_stop_ends_the_passes():
    passes = passes_of(epochs=9)
    draw(passes)
    assert not passes.exhausted
    for _ in range(2):
        passes.stop()
        assert passes.exhausted
    with pytest.raises(RuntimeError, match=r"stop\(\) was called"):
        passes.minibatch()


@pytest.mark.parametrize("make", [transitions, sequences])
@pytest.mark.parametrize("learned", [0, 2, 5])
def test_it_goes_on_in_the_middle_of_an_epoch(make, learned):
    one = passes_of(minibatches=3, make=make)
    for number in range(learned):
        if number % 2:  # whether it was looked at does not matter
            one.minibatch()
        one.advance()
    if learned == 2:
        one.minibatch()
    other = Minibatches.from_state(saved_and_loaded(one.state_dict()))
    assert other.position == one.position
    while not one.exhausted:
        expected, got = draw(one), draw(other)
        assert expected.shape == got.shape
        assert set(expected.keys()) == set(got.keys())
        assert (expected == got).all()
    assert other.exhausted


def test_minibatches_are_copies():
    rollout = rollout_of()
    batch = Minibatches(transitions(rollout), 1, 1, 0).minibatch()
    before = batch.clone()
    rollout.zero_()
    assert (batch == before).all()
