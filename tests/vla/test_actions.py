"""How actions of every space are chunks."""

from __future__ import annotations

import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Tuple

from yieldrl.vla import action_layout

LAID_OUT = [
    (Discrete(4), None, (1, 1, (4,))),
    (MultiDiscrete([4] * 8), 8, (8, 1, (4,))),
    (MultiDiscrete([[3, 4]] * 5), None, (5, 2, (3, 4))),
    (MultiBinary(3), None, (1, 3, (2, 2, 2))),
    (Box(-1, 1, (7,)), None, (1, 7, None)),
    (Box(-1, 1, (8, 7)), 8, (8, 7, None)),
    (Box(-1, 1, (3, 4)), 1, (1, 12, None)),
]


@pytest.mark.parametrize(("space", "length", "wanted"), LAID_OUT)
def test_length_size_and_options(space, length, wanted) -> None:
    layout = action_layout(space, length)
    assert (layout.length, layout.size, layout.counts) == wanted
    actions = torch.randn(3, *(space.shape or ()))
    chunks = layout.inside(actions)
    assert chunks.shape == (3, *wanted[:2])
    assert layout.tokens == wanted[0] * wanted[1]
    assert torch.equal(layout.outside(chunks), actions)


def test_what_is_no_chunk_of_that_length_is_refused() -> None:
    for space in (Box(-1, 1, (7,)), Discrete(4), MultiDiscrete([3, 3])):
        with pytest.raises(ValueError, match=r"chunk_length = 4.*ActionChunks"):
            action_layout(space, 4)
    with pytest.raises(ValueError, match="different options"):
        action_layout(MultiDiscrete([3, 4]), 2)
    with pytest.raises(TypeError, match="is not supported"):
        action_layout(Tuple([Discrete(2)]))
