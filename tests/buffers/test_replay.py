"""The replay buffer against a list, its draws against chance, its file against it."""

import io

import numpy as np
import pytest
import torch
from factories import buffer_of, saved_and_loaded, transition
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.buffers import PrioritizedReplayBuffer, ReplayBuffer

FEW = settings(max_examples=40)


def replay(rows=4, num_envs=3, kind=ReplayBuffer, **options):
    return buffer_of(kind, rows, num_envs, **{"gamma": 0.9, **options})


def fill(buffer, rows, first=0, valid=None):
    """The reward of every transition is its number."""
    for row in range(first, first + rows):
        extras = {} if valid is None else {"valid": valid(row)}
        buffer.add(transition(row, buffer.num_envs, **extras))


def seen(buffer):
    """The numbers of all transitions that it can give (missing one: e^-60)."""
    size = 60 * max(1, buffer.capacity)
    return set(buffer.sample(size)["reward"].int().tolist())


def test_a_sample_is_a_copy_of_whole_transitions_with_a_discount():
    buffer = replay(gamma=0.75)
    for row in range(7):
        number = 3 * row + np.arange(3)
        flags = {"terminated": number % 3 == 0, "truncated": number % 5 == 0}
        buffer.add(transition(row, **flags, log_prob=torch.from_numpy(number / 2)))
    batch = buffer.sample(500)
    number = batch["reward"]
    assert torch.equal(batch["obs"], torch.stack([number, -number], 1))
    assert torch.equal(batch["next_obs"], torch.stack([number + 1, -number - 1], 1))
    assert torch.equal(batch["action"], number.long() % 2)
    assert torch.equal(batch["terminated"], number.long() % 3 == 0)
    assert torch.equal(batch["truncated"], number.long() % 5 == 0)
    assert torch.equal(batch["log_prob"], number / 2)
    assert torch.equal(batch["discount"], torch.full((500,), 0.75))
    batch["obs"].fill_(-1)
    assert (buffer.sample(32)["obs"][:, 0] >= 0).all()


@pytest.mark.parametrize("with_resets", [False, True])
def test_every_transition_is_equally_likely(with_resets):
    """Of a ring that is written over, and of the steps that do not only reset."""
    buffer = replay(20, 2, seed=3)
    valid = (lambda row: np.array([True, row % 4 == 0])) if with_resets else None
    fill(buffer, 24, valid=valid)
    numbers = buffer.sample(50_000)["reward"].long()
    counts = torch.bincount(numbers)
    counts = counts[counts > 0]
    assert len(counts) == (25 if with_resets else 40)
    # Mean n - 1, standard deviation sqrt(2 n): five of those above is rare (10^-5).
    freedom = len(counts) - 1
    mean = counts.sum() / len(counts)
    chi_square = ((counts - mean) ** 2 / mean).sum()
    assert chi_square < freedom + 5 * (2 * freedom) ** 0.5


@FEW
@given(
    kind=st.sampled_from([ReplayBuffer, PrioritizedReplayBuffer]),
    num_envs=st.integers(1, 4),
    rows=st.integers(1, 8),
    adds=st.integers(1, 30),
    share=st.sampled_from([0.5, 1.0]),
    every=st.integers(1, 5),
    seed=st.integers(0, 100),
)
def test_the_latest_rows_are_kept_and_resets_never_drawn(
    kind, num_envs, rows, adds, share, every, seed
):
    flags = np.random.default_rng(seed).random((adds, num_envs)) < share
    flags[-1, 0] = flags[0, 0] = True  # there is always something to draw
    flags[::rows, 0] = True
    buffer = replay(rows, num_envs, kind, seed=seed)
    assert buffer.capacity == num_envs * rows
    for row in range(adds):
        valid = None if share == 1 else lambda row: flags[row]
        fill(buffer, 1, first=row, valid=valid)
        assert len(buffer) == num_envs * min(row + 1, rows)
        if row % every == 0 and kind is PrioritizedReplayBuffer:
            batch = buffer.sample(8)
            buffer.update_priorities(batch["index"], 0.5 + torch.rand(8))
            latest = num_envs * row + np.arange(num_envs)  # whether drawn or not
            buffer.update_priorities(torch.from_numpy(latest), torch.ones(num_envs))
    kept = np.arange(adds * num_envs).reshape(adds, num_envs)[-rows:]
    assert seen(buffer) == set(kept[flags[-rows:]].tolist())


def test_draws_follow_the_seed_alone():
    one, same, other = replay(seed=1), replay(seed=1), replay(seed=2)
    for buffer in (one, same, other):
        fill(buffer, 4)
    drawn = one.sample(20)["reward"].tolist()
    torch.manual_seed(3)
    assert same.sample(20)["reward"].tolist() == drawn
    assert other.sample(20)["reward"].tolist() != drawn


@pytest.mark.parametrize("adds", [0, 3, 9])
def test_goes_on_bitwise_wherever_it_was_saved(adds):
    one, another = replay(seed=1), replay(seed=2)
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
    buffer = replay(100_000)
    fill(buffer, 2)
    file = io.BytesIO()
    torch.save(buffer.state_dict(), file)
    assert file.tell() < 30_000


@pytest.mark.parametrize("adds", [3, 4, 6, 9])
def test_a_larger_ring_never_gives_what_was_never_written(adds):
    """Resumed with a larger buffer_size, a full ring must not be read past its end."""
    buffer, larger, rows = replay(4), replay(11), 11
    fill(buffer, adds)
    larger.load_state_dict(saved_and_loaded(buffer.state_dict()))
    kept = set(range(3 * max(0, adds - 4), 3 * adds))
    assert seen(larger) == kept
    free = rows - len(kept) // 3
    fill(larger, free, first=adds)
    assert seen(larger) == kept | set(range(3 * adds, 3 * (adds + free)))
    fill(larger, 1, first=adds + free)
    latest = 3 * (adds + free + 1)
    assert seen(larger) == set(range(latest - 3 * rows, latest)), "the oldest goes"


@pytest.mark.parametrize("kind", [ReplayBuffer, PrioritizedReplayBuffer])
@pytest.mark.parametrize("saved", [True, False])
def test_rows_of_another_autoreset_mode_are_kept(kind, saved):
    """A checkpoint of NEXT_STEP goes on in SAME_STEP, and the other way round."""

    def flags(row):
        return np.array([True, True, False])

    def drawn(rows):  # the last environment's, of the rows without flags
        return {3 * r + n for r in rows for n in range(2 if (r < 6) == saved else 3)}

    buffer, other = replay(kind=kind), replay(kind=kind)
    fill(other, 4, valid=None if saved else lambda _: np.zeros(3, bool))
    fill(buffer, 6, valid=flags if saved else None)
    other.load_state_dict(saved_and_loaded(buffer.state_dict()))
    assert seen(other) == drawn(range(2, 6))
    for row in range(6, 12):
        fill(other, 1, first=row, valid=None if saved else flags)
        assert seen(other) == drawn(range(row - 3, row + 1))
