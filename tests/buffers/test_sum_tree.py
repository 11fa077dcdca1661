"""The sum tree against a plain array."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.buffers.prioritized import SumTree

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
