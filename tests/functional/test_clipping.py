"""The clipped surrogate by hand."""

import torch

from yieldrl.functional.clipping import clipped_surrogate


def test_each_bound_holds_on_its_side():
    """A positive advantage gains up to 1 + high, a negative one down to 1 - low."""
    ratio = torch.tensor([0.5, 0.5, 1.5, 1.5, 5.0])
    advantage = torch.tensor([2.0, -2.0, 2.0, -2.0, -2.0])
    gain = clipped_surrogate(ratio, advantage, 0.25, 0.125)
    assert gain.tolist() == [1.0, -1.5, 2.25, -3.0, -10.0]
    bounded = clipped_surrogate(ratio, advantage, 0.25, 0.125, dual=2.0)
    assert bounded.tolist() == [1.0, -1.5, 2.25, -3.0, -4.0]
