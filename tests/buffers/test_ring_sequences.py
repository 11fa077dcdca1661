"""Sequences of a ring against all that a list of its rows has."""

from collections import Counter

import numpy as np
import pytest
import torch
from factories import buffer_of as replay_of
from factories import transition
from hypothesis import given, settings
from hypothesis import strategies as st

FEW = settings(max_examples=40, deadline=None)


def buffer_of(capacity, num_envs, seed=0):
    rows = capacity // num_envs
    return replay_of(rows=rows, num_envs=num_envs, gamma=0.9, seed=seed)


def step(row, terminated, truncated, valid=None):
    flags = {"terminated": np.array(terminated), "truncated": np.array(truncated)}
    extras = {} if valid is None else {"valid": np.array(valid)}
    return transition(row, len(terminated), **flags, **extras)


def expected(steps, num_envs, rows, length, newest=None):
    """The numbers of all sequences, by looking at every window of what is kept."""
    kept = list(enumerate(steps))[-rows:]
    kept = kept if newest is None else kept[-newest:]
    found = set()
    for begin in range(len(kept) - length + 1):
        window = kept[begin : begin + length]
        for n in range(num_envs):
            ends = [s["terminated"][n] or s["truncated"][n] for _, s in window[:-1]]
            reset = [not s.get("valid", [True] * num_envs)[n] for _, s in window]
            if not any(ends) and not any(reset):
                found.add(tuple(row * num_envs + n for row, _ in window))
    return found


def drawn(buffer, length, size, newest=None):
    reward = buffer.sequences(size, length, newest)["reward"].long()
    return Counter(map(tuple, reward.T.tolist()))


@st.composite
def histories(draw):
    num_envs, rows = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    adds = draw(st.integers(1, 16))
    seed, resets = draw(st.integers(0, 10**6)), draw(st.booleans())
    rng = np.random.default_rng(seed)
    steps = []
    ended = np.zeros(num_envs, bool)
    for row in range(adds):
        terminated, truncated = rng.random((2, num_envs)) < 0.15
        valid = None
        if resets:  # NEXT_STEP autoreset: the step after an end only resets
            valid = ~ended
            terminated, truncated = terminated & valid, truncated & valid
            ended = terminated | truncated
        steps.append(step(row, terminated, truncated, valid))
    return num_envs, rows, steps


def filled(history):
    num_envs, rows, steps = history
    buffer = buffer_of(num_envs * rows, num_envs)
    for each in steps:
        buffer.add(each)
    return buffer


@FEW
@given(histories(), st.integers(1, 5), st.none() | st.integers(1, 8))
def test_exactly_those_of_an_episode_are_drawn(history, length, newest):
    """And alone every step is given once, in order."""
    buffer, (num_envs, rows, steps) = filled(history), history
    numbers = [n for (n,) in expected(steps, num_envs, rows, 1, newest)]
    if numbers:
        data = buffer.every_step(newest)
        given = data["number"].tolist()
        assert given == sorted(numbers) == data["reward"].long().tolist()
    else:
        with pytest.raises(RuntimeError, match="empty"):
            buffer.every_step(newest)
    wanted = expected(steps, num_envs, rows, length, newest)
    if not wanted:
        with pytest.raises(RuntimeError, match="no episode has"):
            buffer.sequences(4, length, newest)
        return
    batch = buffer.sequences(40 * len(wanted) + 40, length, newest)
    number = batch["reward"]
    assert {*map(tuple, number.T.long().tolist())} == wanted
    assert torch.equal(batch["obs"], torch.stack([number, -number], -1))
    assert torch.equal(batch["action"], number.long() % 2)
    assert (batch["discount"] == np.float32(0.9)).all()


def test_all_are_equally_likely_where_few_draws_are_good():
    buffer, steps = buffer_of(600, 2), []
    for row in range(300):
        end = row % 3 == 2  # episodes of three steps: a third of the starts are good
        steps.append(step(row, [end, end and row > 150], [False, False]))
        buffer.add(steps[-1])
    wanted = expected(steps, 2, 300, 3)
    counts = drawn(buffer, 3, 60_000)
    assert counts.keys() == wanted
    found = torch.tensor([*counts.values()], dtype=torch.float64)
    mean = 60_000 / len(wanted)
    freedom = len(wanted) - 1
    statistic = float(((found - mean).square() / mean).sum())
    assert abs(statistic - freedom) < 5 * (2 * freedom) ** 0.5


def test_the_only_one_is_found_at_once():
    """A draw in a thousand is good, so all starts are looked at."""
    buffer = buffer_of(1000, 1)
    for row in range(1000):
        buffer.add(step(row, [row != 500], [False]))
    assert drawn(buffer, 2, 50) == {(500, 501): 50}


def test_an_interrupted_row_is_in_none():
    buffer = buffer_of(4, 1)
    for row in range(6):
        buffer.add(step(row, [False], [False]))
    with pytest.raises(ValueError, match="action"):
        buffer.add({**step(6, [False], [False]), "action": np.zeros(3)})
    # Its row was the oldest, number 2; of the other three nothing is lost.
    assert set(drawn(buffer, 2, 100)) == {(3, 4), (4, 5)}
    buffer.end_episodes()
    buffer.add(step(6, [False], [False]))
    assert set(drawn(buffer, 2, 100)) == {(3, 4), (4, 5)}
    buffer.add(step(7, [False], [False]))
    assert set(drawn(buffer, 2, 100)) == {(4, 5), (6, 7)}


def test_draws_follow_the_seed_alone_and_a_saved_ring_goes_on():
    def ring(seed):
        buffer = buffer_of(12, 2, seed=seed)
        for row in range(9):
            buffer.add(step(row, [row == 4, False], [False] * 2))
        return buffer

    one, two = ring(1), ring(1)
    assert torch.equal(one.sequences(20, 3)["obs"], two.sequences(20, 3)["obs"])
    other = buffer_of(12, 2, seed=9)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one.sequences(20, 3)["obs"], other.sequences(20, 3)["obs"])


def crossing(steps, num_envs, rows, length):
    """The numbers of all sequences over ends: steps that only reset are not there."""
    kept = list(enumerate(steps))[-rows:]
    found = []
    for n in range(num_envs):
        path = [i for i, s in kept if s.get("valid", [True] * num_envs)[n]]
        for begin in range(len(path) - length + 1):
            found.append(tuple(i * num_envs + n for i in path[begin : begin + length]))
    return found


@FEW
@given(histories(), st.integers(1, 5))
def test_those_that_cross_ends_skip_resets_alone(history, length):
    buffer, (num_envs, rows, steps) = filled(history), history
    there = crossing(steps, num_envs, rows, length)
    assert buffer.has_sequences(length) == bool(there)
    if not there:
        with pytest.raises(RuntimeError, match=f"has {length} steps in a row"):
            buffer.sequences(4, length, crossing=True)
        return
    batch = buffer.sequences(40 * len(there) + 40, length, crossing=True)
    reward = batch["reward"].long()
    assert {*map(tuple, reward.T.tolist())} == {*there}
    for name in ("terminated", "truncated", "obs"):
        values = np.stack([s[name] for s in steps])
        expected = torch.from_numpy(values)[reward // num_envs, reward % num_envs]
        assert torch.equal(batch[name], expected)


@pytest.mark.parametrize("episode", [1, 3])
def test_ends_are_drawn_as_often_as_they_happen(episode):
    """Where the step after an end only resets: of all starts, each step is in `L`."""
    buffer, rows, length = buffer_of(400, 2), 200, 4
    for row in range(rows):
        place = row % (episode + 1)  # the last of them resets
        end, valid = place == episode - 1, place < episode
        buffer.add(step(row, [end, False], [False, end], [valid, valid]))
    batch = buffer.sequences(20_000, length, crossing=True)
    ended = (batch["terminated"] | batch["truncated"]).float().mean().item()
    assert ended == pytest.approx(1 / episode, abs=0.01)
    counts = Counter(batch["reward"].long()[0].tolist())
    steps = [{"valid": [r % (episode + 1) < episode] * 2} for r in range(rows)]
    starts = crossing(steps, 2, rows, length)
    assert counts.keys() == {first for first, *_ in starts}
    mean = 20_000 / len(starts)
    statistic = sum((n - mean) ** 2 / mean for n in counts.values())
    assert abs(statistic - len(starts)) < 6 * (2 * len(starts)) ** 0.5
