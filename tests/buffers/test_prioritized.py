"""Prioritized replay: exact probabilities, who may be drawn, and its sum tree."""

import numpy as np
import pytest
import torch
from factories import buffer_of as any_buffer
from factories import saved_and_loaded
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import NoSync

from yieldrl.buffers import PrioritizedReplayBuffer
from yieldrl.buffers.prioritized import SumTree

from .test_replay import fill


def buffer_of(rows=10, num_envs=1, n_step=1, **options):
    options |= {"n_step": n_step, "gamma": 0.9}
    return any_buffer(PrioritizedReplayBuffer, rows, num_envs, **options)


def learn_all(buffer, error_of):
    """Give every transition the priority of its error."""
    batch = buffer.sample(4 * buffer.capacity)  # all are alike still: each in turn
    errors = torch.tensor([error_of(int(n)) for n in batch["reward"]])
    buffer.update_priorities(batch["index"], errors)


def frequencies(buffer, draws=40_000, batch_size=400):
    times = range(draws // batch_size)
    numbers = [buffer.sample(batch_size)["reward"].long() for _ in times]
    counts = torch.bincount(torch.cat(numbers)).double()
    return counts / counts.sum()


@pytest.mark.parametrize(("alpha", "num_envs"), [(0.6, 2), (1.0, 1)])
def test_probabilities_are_those_of_the_paper(alpha, num_envs):
    buffer = buffer_of(12 // num_envs, num_envs, alpha=alpha, epsilon=0.5)
    fill(buffer, 12 // num_envs)
    learn_all(buffer, lambda number: number - 6.0)  # of either sign
    priority = (np.abs(np.arange(12) - 6.0) + 0.5) ** alpha
    exact = priority / priority.sum()
    found = frequencies(buffer).numpy()
    spread = np.sqrt(exact * (1 - exact) / 40_000)  # stratified: less than that
    assert (np.abs(found - exact) < 5 * spread).all()


def test_weights_by_hand():
    buffer = buffer_of(rows=4, alpha=1.0, epsilon=1.0)
    fill(buffer, 4)
    learn_all(buffer, lambda number: float(number))  # p = 1, 2, 3, 4: P = p / 10
    batch = buffer.sample(100, beta=0.5)
    # (N P)^-beta = (4 p / 10)^-1/2; over the largest, that of p = 1, it is p^-1/2.
    torch.testing.assert_close(batch["weight"], (batch["reward"] + 1) ** -0.5)
    assert buffer.sample(100, beta=0.0)["weight"].tolist() == [1.0] * 100
    batch = buffer.sample(100)
    torch.testing.assert_close(batch["weight"], 1 / (batch["reward"] + 1))
    assert batch["weight"].dtype == torch.float32


def test_new_ones_get_the_highest_priority_so_far():
    buffer = buffer_of(alpha=1.0, epsilon=1.0)
    fill(buffer, 4)
    learn_all(buffer, lambda number: [0.0, 5.0, 0.0, 0.0][number])
    fill(buffer, 1, first=4)
    # Priorities 1, 6, 1, 1, and 6 for the new one.
    assert frequencies(buffer).tolist() == pytest.approx(
        [1 / 15, 6 / 15, 1 / 15, 1 / 15, 6 / 15], abs=0.01
    )
    learn_all(buffer, lambda _: 0.0)
    fill(buffer, 1, first=5)
    assert frequencies(buffer)[5] == pytest.approx(6 / 11, abs=0.01)  # of all times


def test_errors_that_are_not_finite_are_refused_and_change_nothing():
    buffer = buffer_of()
    fill(buffer, 10)
    learn_all(buffer, lambda number: float(number))
    before, highest = buffer._tree.leaves.clone(), buffer._highest.clone()
    for wrong in (float("nan"), float("inf"), -float("inf")):
        error = torch.tensor([1.0, wrong, 2.0, wrong])
        with pytest.raises(ValueError, match=r"not finite at \[1, 3\] of 4"):
            buffer.update_priorities(torch.arange(4), error)
    for index, error in ((torch.arange(3), torch.ones(4)), (torch.tensor(1),) * 2):
        with pytest.raises(ValueError, match=r"index \[B\] and td_error \[B\]"):
            buffer.update_priorities(index, error)
    assert torch.equal(buffer._tree.leaves, before)
    assert torch.equal(buffer._highest, highest)


def test_on_a_gpu_errors_that_are_not_finite_count_as_the_largest():
    """Nobody looks there: the sums must stay finite all the same."""
    buffer = buffer_of(alpha=1.0, epsilon=1.0)
    fill(buffer, 4)
    learn_all(buffer, lambda number: float(number))  # p = 1, 2, 3, 4
    buffer._on_cpu = False
    wrong = torch.tensor([float("nan"), float("inf"), 0.5])
    with NoSync():
        buffer.update_priorities(torch.arange(3), wrong)
    assert buffer._tree.leaves[:4].tolist() == [4, 4, 1.5, 4]


def test_late_answers_do_not_reach_what_took_their_place():
    buffer = buffer_of(rows=4, num_envs=2, alpha=1.0, epsilon=1.0)
    fill(buffer, 4)
    batch = buffer.sample(8)
    # Each equal part of the sum gives one.
    assert batch["index"].tolist() == batch["reward"].tolist() == list(range(8))
    fill(buffer, 1, first=4)  # over transitions 0 and 1
    assert torch.equal(buffer.sample(80)["index"].unique(), torch.arange(2, 10))
    buffer.update_priorities(batch["index"], batch["reward"])  # its number
    number = buffer.sample(1)  # what is new has its priority by now
    assert buffer._tree.leaves.tolist() == [1, 1, 3, 4, 5, 6, 7, 8]
    assert number["index"].tolist() == number["reward"].tolist()
    for row in range(5, 40):
        fill(buffer, 1, first=row)
        sample = buffer.sample(8)
        assert sample["index"].tolist() == sample["reward"].tolist()


@pytest.mark.parametrize("n_step", [1, 3])
def test_nothing_waits_for_a_device(n_step):
    buffer = buffer_of(num_envs=2, n_step=n_step)
    buffer._on_cpu = False
    fill(buffer, 12)
    with NoSync():
        batch = buffer.sample(8, 0.5)
        buffer.update_priorities(batch["index"], batch["reward"])
        fill(buffer, 1, first=12)
        buffer.sample(8)
    with pytest.raises(AssertionError), NoSync():
        bool(batch["reward"].any())


def train(buffer, rows, first):
    """Write and learn; what was drawn, and how it was weighted."""
    drawn = []
    for row in range(first, first + rows):
        valid = np.arange(buffer.num_envs) != row % 3
        fill(buffer, 1, first=row, valid=lambda _, valid=valid: valid)
        if row > 2:
            batch = buffer.sample(8, 0.7)
            buffer.update_priorities(batch["index"], batch["reward"].sin())
            drawn.append((batch["reward"].tolist(), batch["weight"].tolist()))
    return drawn


@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize(("adds", "learned"), [(0, False), (5, True), (12, False)])
def test_goes_on_bitwise_wherever_it_was_saved(n_step, adds, learned):
    one, another = (buffer_of(6, 2, n_step, seed=seed) for seed in (1, 2))
    train(one, adds, 0)
    if not learned:  # rows that no sample has met yet
        fill(one, 2, first=adds, valid=lambda _: np.ones(2, bool))
    another.load_state_dict(saved_and_loaded(one.state_dict()))
    again = adds if learned else adds + 2
    assert train(another, 9, again) == train(one, 9, again)


@pytest.mark.parametrize("adds", [3, 9])
def test_a_larger_ring_takes_the_priorities_along(adds):
    one = buffer_of(4, 2, alpha=1.0, epsilon=0.5)
    fill(one, adds)
    learn_all(one, lambda number: float(number % 3))
    another = buffer_of(7, 2, alpha=1.0, epsilon=0.5)
    another.load_state_dict(saved_and_loaded(one.state_dict()))
    numbers = np.arange(2 * max(0, adds - 4), 2 * adds)
    priority = numbers % 3 + 0.5
    found = frequencies(another)[numbers].tolist()
    assert found == pytest.approx(priority / priority.sum(), abs=0.01)


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1)])
def test_another_horizon_opens_and_closes_the_right_rows(before, after):
    one, another = buffer_of(n_step=before), buffer_of(n_step=after)
    fill(one, 8)
    one.sample(4)
    another.load_state_dict(saved_and_loaded(one.state_dict()))
    seen = set(another.sample(200)["obs"][:, 0].int().tolist())
    assert seen == set(range(8 - after + 1))


CPU = torch.device("cpu")
SIZES = st.sampled_from([1, 2, 63, 64, 65, 300, 4096, 4097, 5000])


def tree_of(values):
    tree = SumTree(len(values), CPU)
    tree.fill(torch.tensor(values))
    return tree


@settings(max_examples=60)
@given(size=SIZES, seed=st.integers(0, 1000), writes=st.integers(1, 4))
def test_it_is_an_array_with_its_sum(size, seed, writes):
    rng = np.random.default_rng(seed)
    tree, array = SumTree(size, CPU), np.zeros(size)
    for _ in range(writes):
        index = rng.integers(size, size=rng.integers(1, 2 * size + 2))
        values = rng.random(size) * 10.0 ** rng.integers(-6, 6, size)
        values *= rng.random(size) < 0.7  # some are zero
        array[index] = values[index]  # the same index, the same value
        tree.write(torch.from_numpy(index), torch.from_numpy(values[index]))
    assert np.array_equal(tree.leaves.numpy(), array)
    assert float(tree.total()) == pytest.approx(array.sum(), rel=1e-12)
    rebuilt = tree_of(array)  # every inner node too: a loaded tree goes on bitwise
    for one, another in zip(tree._levels, rebuilt._levels, strict=True):
        assert torch.equal(one, another)


@settings(max_examples=60)
@given(size=SIZES, seed=st.integers(0, 1000))
def test_it_finds_what_the_running_sum_finds(size, seed):
    rng = np.random.default_rng(seed)
    array = rng.integers(0, 4, size).astype(float)  # whole numbers: sums are exact
    array[rng.integers(size)] = 5.0
    value = np.concatenate([rng.random(50) * array.sum(), np.arange(array.sum())[:50]])
    found = tree_of(array).find(torch.from_numpy(value)).numpy()
    expected = np.searchsorted(array.cumsum(), value, side="right")
    assert np.array_equal(found, expected)
    assert (array[found] > 0).all()


@settings(max_examples=60)
@given(size=SIZES, seed=st.integers(0, 1000))
def test_rounding_never_finds_what_has_nothing(size, seed):
    rng = np.random.default_rng(seed)
    array = rng.random(size) * 10.0 ** rng.integers(-12, 12, size)
    array *= rng.random(size) < 0.3
    array[rng.integers(size)] = rng.random() + 1e-9
    total = tree_of(array).total()
    ends = torch.tensor([0.0, 1.0, 1.1], dtype=torch.float64) * total
    value = torch.cat([ends, torch.rand(200, dtype=torch.float64) * total])
    assert (array[tree_of(array).find(value).numpy()] > 0).all()


def test_filling_replaces_everything():
    tree = tree_of([1.0, 2.0, 3.0])
    tree.fill(torch.tensor([5.0]))
    assert tree.leaves.tolist() == [5.0, 0.0, 0.0]
    assert float(tree.total()) == 5.0
