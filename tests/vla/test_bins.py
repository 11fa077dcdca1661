"""Bins of [-1, 1]: how far off they are, and which entries they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from yieldrl.vla import ActionBins

COUNTS = st.integers(2, 2**16)


@given(COUNTS, st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=20))
def test_what_is_decoded_is_off_by_half_a_bin_at_most(count, values) -> None:
    bins, action = ActionBins(count), torch.tensor(values)
    ids = bins.encode(action)
    assert ids.dtype == torch.int64
    assert ids.min() >= 0
    assert ids.max() < count
    rounding = 2e-7  # of float32 near 1
    assert (bins.decode(ids) - action).abs().max() <= bins.error_bound + rounding


@given(COUNTS)
def test_every_bin_is_that_of_its_centre(count) -> None:
    ids, bins = torch.arange(count), ActionBins(count)
    torch.testing.assert_close(bins.encode(bins.decode(ids)), ids, rtol=0, atol=0)


def test_numbers_beyond_are_in_the_outermost_bins() -> None:
    bins = ActionBins(8)
    ids = bins.encode(torch.tensor([-5.0, -1.0, 1.0, 5.0]))
    assert ids.tolist() == [0, 0, 7, 7]
    assert bins.decode(ids).tolist() == [-0.875, -0.875, 0.875, 0.875]


@pytest.mark.parametrize("descending", [False, True])
def test_they_are_the_last_entries_of_the_vocabulary(descending) -> None:
    bins = ActionBins(3, descending=descending)
    entries = bins.entries(torch.arange(3), vocab_size=10)
    assert entries.tolist() == ([9, 8, 7] if descending else [7, 8, 9])
    logits = torch.arange(12.0).expand(2, 5, 12)  # two more than entries
    assert bins.of_vocabulary(logits, 10)[0, 0].tolist() == entries.tolist()


def test_none_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="count = 0"):
        ActionBins(0)
    with pytest.raises(ValueError, match="at least 2 edges"):
        ActionBins(1, edges=True)


@pytest.mark.parametrize(
    ("count", "dtype"), [(2, np.float32), (33, np.float64), (256, np.float32)]
)
def test_with_edges_they_are_those_of_numpy_digitize(count, dtype) -> None:
    """OpenVLA's ActionTokenizer, in its own words."""
    edges = np.linspace(-1, 1, count)
    centres = (edges[1:] + edges[:-1]) / 2
    beside = np.nextafter(edges, 2), np.nextafter(edges, -2)
    numbers = [np.linspace(-1.2, 1.2, 10_001), edges, centres, *beside]
    action = np.concatenate(numbers).astype(dtype)
    digit = np.digitize(np.clip(action, -1, 1), edges)
    bins = ActionBins(count, descending=True, edges=True)
    ids = bins.encode(torch.from_numpy(action))
    assert ids.dtype == torch.int64
    assert ids.tolist() == (digit - 1).tolist()
    entries = bins.entries(ids, vocab_size=32_000)
    assert entries.tolist() == (32_000 - digit).tolist()
    decoded = centres[np.clip(32_000 - entries.numpy() - 1, 0, count - 2)]
    np.testing.assert_allclose(bins.decode(ids), decoded, rtol=0, atol=2e-7)
    inside = np.abs(action) <= 1
    error = np.abs(bins.decode(ids).numpy() - action)[inside].max()
    assert error <= bins.error_bound + 2e-7
