"""The replay buffer against a list, its draws against chance, its file against it."""

import io
from collections import deque

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.buffers import (
    NStepReplayBuffer,
    PrioritizedReplayBuffer,
    ReplayBuffer,
)

FEW = settings(max_examples=40)
VECTOR = Box(-np.inf, np.inf, (2,))
IMAGE = Box(0, 255, (84, 84, 4), np.uint8)


def buffer_of(capacity=12, num_envs=3, gamma=0.9, seed=0, space=VECTOR):
    return ReplayBuffer(
        capacity, space, Discrete(2), num_envs=num_envs, gamma=gamma, seed=seed
    )


def transition(row, num_envs, **extras):
    number = (row * num_envs + np.arange(num_envs)).astype(np.float32)
    return {
        "obs": np.stack([number, -number], axis=1),
        "next_obs": np.stack([number + 1, -number], axis=1),
        "action": (number % 2).astype(np.int64),
        "reward": number.astype(np.float64),
        "terminated": number % 3 == 0,
        "truncated": number % 5 == 0,
        **extras,
    }


def fill(buffer, rows, first=0, valid=None):
    for row in range(first, first + rows):
        extras = {} if valid is None else {"valid": valid(row)}
        buffer.add(transition(row, buffer.num_envs, **extras))


def seen(buffer):
    """The numbers of all transitions that it can give (missing one: e^-60)."""
    size = 60 * max(1, buffer.capacity)
    return set(buffer.sample(size)["reward"].int().tolist())


@FEW
@given(num_envs=st.integers(1, 4), capacity=st.integers(1, 20), adds=st.integers(1, 30))
def test_keeps_the_latest_rows_like_a_list(num_envs, capacity, adds):
    capacity = max(capacity, num_envs)
    buffer = buffer_of(capacity, num_envs)
    model = deque(maxlen=capacity // num_envs)
    assert buffer.capacity == num_envs * (capacity // num_envs)
    for row in range(adds):
        buffer.add(transition(row, num_envs))
        model.append(range(row * num_envs, (row + 1) * num_envs))
        assert len(buffer) == sum(map(len, model))
    assert seen(buffer) == {number for row in model for number in row}


def test_entries_of_a_transition_stay_together():
    buffer = buffer_of()
    fill(buffer, 7)
    batch = buffer.sample(500)
    number = batch["reward"]
    assert torch.equal(batch["obs"], torch.stack([number, -number], 1))
    assert torch.equal(batch["next_obs"], torch.stack([number + 1, -number], 1))
    assert torch.equal(batch["action"], number.long() % 2)
    assert torch.equal(batch["terminated"], number.long() % 3 == 0)
    assert torch.equal(batch["truncated"], number.long() % 5 == 0)


def test_a_sample_is_a_copy_with_a_discount():
    buffer = buffer_of(gamma=0.75)
    fill(buffer, 2)
    batch = buffer.sample(32)
    assert batch.batch_size == (32,)
    assert batch["discount"].tolist() == [0.75] * 32
    assert batch["discount"].dtype == torch.float32
    batch["obs"].fill_(-1)
    assert (buffer.sample(32)["obs"][:, 0] >= 0).all()


def chi_square(counts):
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("adds", [10, 25, 31])  # part-filled, exactly full, wrapped
def test_every_transition_is_equally_likely(adds):
    buffer = buffer_of(capacity=50, num_envs=2, seed=3)
    fill(buffer, adds)
    numbers = buffer.sample(50_000)["reward"].long()
    counts = torch.bincount(numbers - numbers.min())
    assert len(counts) == len(buffer)
    # Mean n - 1, standard deviation sqrt(2 n): five of those above is rare (10^-5).
    freedom = len(counts) - 1
    assert chi_square(counts.float()) < freedom + 5 * (2 * freedom) ** 0.5


def test_with_replacement():
    buffer = buffer_of()
    fill(buffer, 1)
    assert len(buffer.sample(100)) == 100


def test_sampling_follows_its_seed_alone():
    def draw(seed):
        buffer = buffer_of(seed=seed)
        fill(buffer, 4)
        return buffer.sample(20)["reward"].tolist()

    torch.manual_seed(1)
    one = draw(1)
    torch.manual_seed(2)
    assert draw(1) == one
    assert draw(2) != one


@FEW
@given(
    num_envs=st.integers(1, 3),
    rows=st.integers(2, 8),
    adds=st.integers(1, 20),
    seed=st.integers(0, 100),
)
def test_steps_that_only_reset_are_never_sampled(num_envs, rows, adds, seed):
    flags = np.random.default_rng(seed).random((adds, num_envs)) < 0.5
    flags[-1, 0] = True  # there is always something to sample
    buffer = buffer_of(rows * num_envs, num_envs, seed=seed)
    fill(buffer, adds, valid=lambda row: flags[row])
    kept = np.arange(adds * num_envs).reshape(adds, num_envs)[-rows:]
    assert seen(buffer) == set(kept[flags[-rows:]].tolist())


def test_valid_ones_are_equally_likely():
    buffer = buffer_of(capacity=40, num_envs=2)
    fill(buffer, 20, valid=lambda row: np.array([True, row % 4 == 0]))
    numbers = buffer.sample(50_000)["reward"].long()
    counts = torch.bincount(numbers)
    counts = counts[counts > 0]
    assert len(counts) == 25
    assert chi_square(counts.float()) < 24 + 5 * 48**0.5


def test_nothing_valid_is_an_error_and_not_an_endless_loop():
    buffer = buffer_of(capacity=1, num_envs=1)
    fill(buffer, 1, valid=lambda _: np.array([False]))
    with pytest.raises(RuntimeError, match="reset"):
        buffer.sample(4)


def test_an_empty_buffer_says_so():
    with pytest.raises(RuntimeError, match="empty: collect first"):
        buffer_of().sample(1)


def test_capacity_must_hold_one_step():
    with pytest.raises(ValueError, match=r"capacity = 2.*3 environments.*buffer_size"):
        buffer_of(capacity=2, num_envs=3)


def test_absurd_capacity_is_refused_before_memory_is_taken(monkeypatch):
    def never(*_, **__):
        raise AssertionError("allocated")

    monkeypatch.setattr(torch, "zeros", never)
    with pytest.raises(MemoryError, match=r"at most [0-9,]+ transitions would fit"):
        buffer_of(capacity=10**9, num_envs=8, space=IMAGE)


def test_images_stay_bytes():
    buffer = buffer_of(capacity=2, num_envs=1, space=IMAGE)
    image = np.arange(84 * 84 * 4, dtype=np.uint8).reshape(1, 84, 84, 4)
    buffer.add({**transition(0, 1), "obs": image, "next_obs": image})
    batch = buffer.sample(3)
    assert batch["obs"].dtype == torch.uint8
    assert torch.equal(batch["obs"][2], torch.from_numpy(image[0]))


def test_nested_observations():
    space = Dict(a=VECTOR, b=Dict(c=Discrete(9)))
    buffer = buffer_of(capacity=4, num_envs=2, space=space)
    for row in range(3):
        number = 2 * row + np.arange(2)
        obs = {"a": np.stack([number, number], 1), "b": {"c": number}}
        buffer.add({**transition(row, 2), "obs": obs, "next_obs": obs})
    batch = buffer.sample(50)
    assert torch.equal(batch["obs", "b", "c"], batch["reward"].long())
    assert torch.equal(batch["next_obs", "a"][:, 1], batch["reward"])


def test_extras_are_sampled_too():
    buffer = buffer_of()
    for row in range(3):
        extra = torch.full((3,), float(row))
        buffer.add(transition(row, 3, log_prob=extra))
    batch = buffer.sample(40)
    assert torch.equal(batch["log_prob"], batch["reward"] // 3)


# ------------------------------------------------------------------------- checkpoints


def saved_and_loaded(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("adds", [0, 1, 3, 4, 5, 8, 9])
def test_goes_on_bitwise_wherever_it_was_saved(adds):
    one, another = buffer_of(seed=1), buffer_of(seed=2)
    fill(one, adds, valid=lambda row: np.array([True, row % 2 == 0, True]))
    if adds:
        one.sample(5)
    another.load_state_dict(saved_and_loaded(one.state_dict()))
    assert len(another) == len(one)
    for row in range(adds, adds + 6):
        for buffer in (one, another):
            fill(buffer, 1, first=row, valid=lambda _: np.ones(3, bool))
        assert (one.sample(9) == another.sample(9)).all()


def test_a_part_filled_ring_saves_only_its_part():
    buffer = buffer_of(capacity=3 * 100_000)
    fill(buffer, 2)
    file = io.BytesIO()
    torch.save(buffer.state_dict(), file)
    assert file.tell() < 30_000


def test_more_room_may_take_over_a_ring_that_is_not_full():
    buffer, larger = buffer_of(capacity=12), buffer_of(capacity=30)
    fill(buffer, 3)
    larger.load_state_dict(saved_and_loaded(buffer.state_dict()))
    fill(larger, 4, first=3)
    assert seen(larger) == set(range(21))


@pytest.mark.parametrize("adds", [4, 6, 9])
@pytest.mark.parametrize("capacity", [30, 33])
def test_a_larger_ring_never_gives_what_was_never_written(adds, capacity):
    """Resumed with a larger buffer_size, a full ring must not be read past its end."""
    buffer, larger = buffer_of(capacity=12), buffer_of(capacity=capacity)
    fill(buffer, adds)
    larger.load_state_dict(saved_and_loaded(buffer.state_dict()))
    kept = set(range(3 * (adds - 4), 3 * adds))
    assert seen(larger) == kept
    rows = capacity // 3
    fill(larger, rows - 4, first=adds)
    assert seen(larger) == kept | set(range(3 * adds, 3 * (adds + rows - 4)))
    fill(larger, 1, first=adds + rows - 4)
    latest = 3 * (adds + rows - 3)
    assert seen(larger) == set(range(latest - 3 * rows, latest)), "the oldest goes"


@pytest.mark.parametrize(
    "other", [{"capacity": 6}, {"num_envs": 2}, {"space": Box(-1, 1, (3,))}]
)
def test_wrong_shapes_are_refused(other):
    buffer = buffer_of()
    fill(buffer, 4)
    state = saved_and_loaded(buffer.state_dict())
    with pytest.raises(ValueError, match="differs"):
        buffer_of(**other).load_state_dict(state)


KINDS = [ReplayBuffer, NStepReplayBuffer, PrioritizedReplayBuffer]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adds", [3, 6])  # part-filled, wrapped
@pytest.mark.parametrize("saved", [True, False])
def test_rows_of_another_autoreset_mode_are_kept(kind, adds, saved):
    """A checkpoint of NEXT_STEP goes on in SAME_STEP, and the other way round."""

    def ring():
        options = {"n_step": 1} if kind is NStepReplayBuffer else {}
        space = VECTOR, Discrete(2)
        return kind(12, *space, num_envs=3, gamma=0.9, **options)

    def flags(row):
        return np.array([True, row % 2 == 0, False])

    def drawn(rows, with_flags):
        numbers = {(row, n) for row in rows for n in range(3)}
        hidden = {(row, n) for row, n in numbers if not flags(row)[n]}
        return {3 * row + n for row, n in numbers - (hidden if with_flags else set())}

    buffer, other = ring(), ring()
    fill(other, 4, valid=None if saved else lambda _: np.zeros(3, bool))
    fill(buffer, adds, valid=flags if saved else None)
    other.load_state_dict(saved_and_loaded(buffer.state_dict()))
    before = range(max(0, adds - 4), adds)
    assert seen(other) == drawn(before, saved)
    for row in range(adds, adds + 6):
        fill(other, 1, first=row, valid=None if saved else flags)
        old = range(max(0, row - 3), adds)
        new = range(max(adds, row - 3), row + 1)
        assert seen(other) == drawn(old, saved) | drawn(new, not saved)


@pytest.mark.parametrize("late", [True, False])
def test_extras_must_come_with_every_row(late):
    buffer, extra = buffer_of(), {"log_prob": torch.zeros(3)}
    buffer.add(transition(0, 3, **({} if late else extra)))
    with pytest.raises(ValueError, match=r"'log_prob'.*the same extras"):
        buffer.add(transition(1, 3, **(extra if late else {})))
    assert len(buffer) == 3
