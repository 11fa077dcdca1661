"""The rollout buffer: filled, learned from, cleared, wherever it is saved."""

import io
from functools import partial

import numpy as np
import pytest
import torch
from factories import VECTOR, saved_and_loaded
from factories import transition as numbered
from gymnasium.spaces import Box, Discrete

from yieldrl.buffers import CircularBuffer, Minibatches, RolloutBuffer, transitions

from .test_minibatches import draw, epoch

CAMERA = Box(0, 255, (3, 6, 6), np.uint8)


def buffer_of(steps=4, num_envs=3):
    return RolloutBuffer(steps, VECTOR, Discrete(2), num_envs=num_envs)


def transition(row, num_envs, **extras):
    """With ends of its own in every row."""
    number = row * num_envs + np.arange(num_envs)
    flags = {"terminated": number % 3 == 0, "truncated": number % 5 == 0}
    return numbered(row, num_envs, **{**flags, **extras})


def fill(buffer, first=0, **extras):
    for row in range(first, first + buffer.num_steps - len(buffer)):
        buffer.add(transition(row, buffer.num_envs, **extras))


def begin(buffer, epochs=3, minibatches=2, seed=0):
    rollout = buffer.rollout()
    rollout["advantage"] = rollout["reward"] * 10
    data = transitions(rollout)
    buffer.minibatches = Minibatches(data, epochs, minibatches, seed)


@pytest.mark.parametrize("kind", [RolloutBuffer, CircularBuffer])
def test_without_next_observations_it_takes_half_of_the_images(kind):
    """uint8 `[T, N, 3, 6, 6]` and the rest of a row, counted."""
    steps, num_envs, image = 4, 3, np.zeros((3, 3, 6, 6), np.uint8)
    for keeps in (True, False):
        buffer = kind(steps, CAMERA, Discrete(2), num_envs=num_envs, next_obs=keeps)
        for row in range(steps):
            buffer.add(transition(row, num_envs, obs=image + row, next_obs=image))
        rollout = buffer.rollout()
        assert ("next_obs" in set(rollout.keys())) == keeps
        entry = (1 + keeps) * 3 * 6 * 6 + 8 + 4 + 1 + 1  # action, reward, flags
        assert sum(leaf.nbytes for leaf in rollout.values()) == steps * num_envs * entry
        assert rollout["obs"][:, 0, 0, 0, 0].tolist() == [0, 1, 2, 3]


def ready(steps=4, num_envs=3, **options):
    buffer = buffer_of(steps, num_envs)
    fill(buffer)
    begin(buffer, **options)
    return buffer


def rewards(buffer):
    """Of one epoch, in order."""
    batches = epoch(buffer.minibatches)
    return sorted(torch.cat([batch["reward"] for batch in batches]).tolist())


def test_memory_is_taken_once_and_shared_with_the_rollout():
    buffer = buffer_of()
    buffer.add(transition(0, 3))
    rollout = buffer.rollout()
    assert rollout.batch_size == (1, 3)
    rollout["reward"][0] = 99
    assert buffer.rollout()["reward"].tolist() == [[99, 99, 99]]
    fill(buffer, first=1)
    begin(buffer)
    place = buffer.rollout()["obs"].data_ptr()
    buffer.clear()
    assert (len(buffer), buffer.exhausted, buffer.minibatches) == (0, False, None)
    fill(buffer, first=100)
    assert buffer.rollout()["obs"].data_ptr() == place
    begin(buffer)
    assert rewards(buffer)[0] == 300


def script(steps, minibatches, valid):
    """Two rollouts, two epochs each, as functions of a buffer."""

    def add(row):
        def act(buffer):
            data = transition(row, 3)
            data["log_prob"] = torch.from_numpy(data["reward"])
            if valid:
                data["valid"] = data["reward"] % 4 != 0
            buffer.add(data)

        return act

    learn = [partial(begin, minibatches=minibatches)]
    learn += [lambda buffer: draw(buffer.minibatches)] * (2 * minibatches)
    acts = []
    for rollout in range(2):
        acts += [add(rollout * steps + row) for row in range(steps)]
        acts += [*learn, RolloutBuffer.clear]
    return acts


@pytest.mark.parametrize("valid", [False, True])
def test_goes_on_bitwise_wherever_it_was_saved(valid):
    steps, minibatches = 3, 2
    acts = script(steps, minibatches, valid)
    for cut in range(len(acts) + 1):
        one, another = (buffer_of(steps) for _ in range(2))
        for act in acts[:cut]:
            act(one)
        another.load_state_dict(saved_and_loaded(one.state_dict()))
        assert len(another) == len(one)
        assert (another.full, another.exhausted) == (one.full, one.exhausted)
        assert (another.minibatches is None) == (one.minibatches is None)
        assert (another.rollout() == one.rollout()).all()
        for act in acts[cut:]:
            expected, got = act(one), act(another)
            if expected is not None:
                assert set(expected.keys()) == set(got.keys())
                assert len(expected) == len(got)
                assert (expected == got).all()


def test_a_longer_rollout_may_take_over_one_that_is_not_learned_from_yet():
    buffer = buffer_of()
    buffer.add(transition(0, 3))
    longer = buffer_of(steps=6)
    longer.load_state_dict(saved_and_loaded(buffer.state_dict()))
    fill(longer, first=1)
    begin(longer)
    assert rewards(longer) == list(range(18))


def test_an_exhausted_rollout_saves_no_rows():
    buffer = ready(steps=400, num_envs=6)
    buffer.minibatches.stop()
    assert buffer.exhausted
    file = io.BytesIO()
    torch.save(buffer.state_dict(), file)
    assert file.tell() < 20_000
    other = ready(steps=400, num_envs=6)
    other.load_state_dict(saved_and_loaded(buffer.state_dict()))
    assert (len(other), other.minibatches, other.exhausted) == (0, None, False)


@pytest.mark.parametrize("loaded", [False, True])
def test_what_follows_abandoned_episodes_begins_anew(loaded):
    """Abandoned before the first row, or while the rollout was learned from."""

    def followed(buffer):
        other = buffer_of()
        other.load_state_dict(saved_and_loaded(buffer.state_dict()))
        return other if loaded else buffer

    buffer = buffer_of()
    buffer.end_episodes()
    buffer = followed(buffer)
    assert not buffer.continues
    fill(buffer)
    buffer.end_episodes()  # within a rollout: truncated says so
    assert buffer.rollout()["truncated"][-1].tolist() == [False, True, True]
    begin(buffer)
    buffer.clear()
    assert followed(buffer).continues
    fill(buffer)
    begin(buffer)
    buffer.end_episodes()  # too late for the passes
    buffer = followed(buffer)
    assert buffer.continues
    buffer.clear()
    buffer = followed(buffer)
    assert not buffer.continues
    buffer.clear()
    assert followed(buffer).continues
