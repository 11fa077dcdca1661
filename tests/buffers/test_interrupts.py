"""Ctrl-C may come between any two instructions: no row is torn, none comes twice."""

import os
import sys

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete

from yieldrl import buffers
from yieldrl.buffers import (
    EpisodeBuffer,
    Minibatches,
    PrioritizedReplayBuffer,
    ReplayBuffer,
    RolloutBuffer,
    transitions,
)

SPACE = Dict(a=Box(-np.inf, np.inf, (1,)), b=Discrete(1000))
ENVS = 2
ROOM = os.path.dirname(buffers.__file__)


def step(number, **changes):
    """Every entry says the number of its row."""
    column = np.full(ENVS, number)
    obs = {"a": column[:, None].astype(np.float32), "b": column}
    return {
        "obs": obs,
        "next_obs": obs,
        "action": column,
        "reward": column.astype(np.float64),
        "terminated": np.zeros(ENVS, bool),
        "truncated": np.zeros(ENVS, bool),
        "log_prob": torch.full((ENVS,), float(number)),
        **changes,
    }


def interrupted(after, function, *arguments):
    """Call it, with Ctrl-C at that instruction of the buffers' code, if it gets there.

    Returns:
        Whether it was interrupted.
    """
    left = after

    def trace(frame, event, _):
        nonlocal left
        if os.path.dirname(frame.f_code.co_filename) != ROOM:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # else Python 3.12 tells of none at first
    sys.settrace(trace)
    try:
        function(*arguments)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def buffer_of(kind, rows=4, **options):
    return kind(rows, SPACE, Discrete(1000), num_envs=ENVS, **options)


def ring_of(kind, rows=4, n_step=1):
    return buffer_of(kind, rows * ENVS, gamma=0.9, n_step=n_step)


def whole(batch, expected):
    """Whether the transitions are those rows, and each of one piece."""
    number = batch["action"]
    assert set(number.flatten().tolist()) == set(expected)
    reward = number.float()
    if "discount" in batch.keys():  # noqa: SIM118 - TensorDict iterates over the batch
        later = batch["discount"] < 0.85  # two steps
        reward = torch.where(later, number + 0.9 * (number + 1), reward)
    torch.testing.assert_close(batch["reward"], reward)
    for key in (("obs", "b"), "log_prob"):
        if key in batch.keys(include_nested=True):
            assert torch.equal(batch[key].long(), number)


@pytest.mark.parametrize("kind", [RolloutBuffer, EpisodeBuffer])
def test_a_step_that_was_interrupted_is_not_counted(kind):
    for after in range(0, 100_000, 7):
        buffer = buffer_of(kind)
        buffer.add(step(0))
        hit = interrupted(after, buffer.add, step(99))
        if not hit:
            break
        if len(buffer) == 1:  # else the last instruction was done
            buffer.add(step(1))
            rows = buffer.rollout() if kind is RolloutBuffer else buffer.episodes()
            assert rows["action"][:, 0].tolist() == [0, 1]
            assert rows["obs", "b"][:, 0].tolist() == [0, 1]
    assert after > 100


def test_an_episode_that_was_interrupted_ends_once():
    ends = {"terminated": np.ones(ENVS, bool)}
    for after in range(0, 100_000, 5):
        buffer = buffer_of(EpisodeBuffer, 2)
        hit = interrupted(after, buffer.add, step(0, **ends))
        if len(buffer) == 0:
            assert not buffer.full
            buffer.add(step(0, terminated=np.array([True, False])))
            assert not buffer.full, "the second environment is still playing"
            assert buffer._ended().tolist() == [1, 0]
        else:
            assert buffer.full
        if not hit:
            break


@pytest.mark.parametrize(
    ("kind", "n_step", "rows"),  # part-filled, exactly full, written over
    [
        (ReplayBuffer, 1, 7),
        (ReplayBuffer, 2, 4),
        (PrioritizedReplayBuffer, 1, 2),
        (PrioritizedReplayBuffer, 2, 7),
    ],
)
def test_a_torn_row_of_a_ring_is_never_drawn(kind, n_step, rows):
    ahead = n_step - 1
    for after in range(0, 100_000, 53):
        buffer = ring_of(kind, n_step=n_step)
        for number in range(rows):
            buffer.add(step(number))
        if after % 2:
            buffer.sample(8)
        hit = interrupted(after, buffer.add, step(99))
        if not hit:
            break
        if buffer._written > rows:
            continue
        kept = range(max(0, buffer._begun - 4), rows - ahead)
        whole(buffer.sample(200), kept)
        resumed = ring_of(kind, n_step=n_step)
        resumed.load_state_dict(buffer.state_dict())
        larger = ring_of(kind, rows=6, n_step=n_step)
        larger.load_state_dict(buffer.state_dict())
        for again in (buffer, resumed, larger):
            whole(again.sample(200), kept)
            again.add(step(rows))
            oldest = kept.start if again is larger else max(0, rows - 3)
            whole(again.sample(200), range(oldest, rows + 1 - ahead))
    assert after > 100


def test_priorities_that_were_interrupted_still_sum_up():
    for after in range(0, 100_000, 3):
        buffer = ring_of(PrioritizedReplayBuffer)
        for number in range(4):
            buffer.add(step(number))
        batch = buffer.sample(8)
        errors = batch["index"], batch["reward"]
        hit = interrupted(after, buffer.update_priorities, *errors)
        buffer.sample(4)
        tree = buffer._tree
        torch.testing.assert_close(tree.total(), tree.leaves.sum())
        for below, above in zip(tree._levels, tree._levels[1:], strict=False):
            torch.testing.assert_close(above.view(-1)[: len(below)], below.sum(1))
        if not hit:
            break


def test_passes_go_on_where_they_were_interrupted():
    """A trainer's loop over the buffer, interrupted anywhere, again and again."""

    def train(buffer, seen):
        while not buffer.exhausted:
            if buffer.minibatches is None:
                buffer.minibatches = Minibatches(transitions(buffer.rollout()), 2, 2, 0)
            batch = buffer.minibatches.minibatch()
            seen[buffer.minibatches.position] = batch["action"].tolist()
            buffer.minibatches.advance()

    for after in range(0, 100_000, 131):
        buffer, seen = buffer_of(RolloutBuffer, 3), {}
        for number in range(3):
            buffer.add(step(number))
        hit = interrupted(after, train, buffer, seen)
        train(buffer, seen)
        assert sorted(seen) == [0, 1, 2, 3]
        for epoch in (0, 2):
            assert sorted(seen[epoch] + seen[epoch + 1]) == [0, 0, 1, 1, 2, 2]
        interrupted(after % 9, buffer.clear)
        buffer.clear()
        assert (len(buffer), buffer.minibatches, buffer.exhausted) == (0, None, False)
        if not hit:
            break
    assert after > 300
