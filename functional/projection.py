"""Distributions of returns on fixed atoms."""

import torch
from torch import Tensor


def project(probability: Tensor, returns: Tensor, atoms: Tensor) -> Tensor:
    """Move probability from any returns to evenly spaced atoms, keeping the mean.

    What lies between two atoms is shared between them, the nearer one gets more;
    what lies outside goes to the first or to the last. Equation 7 of arXiv:1707.06887.

    Args:
        probability: Of each return, `[B, K]`.
        returns: `[B, K]`.
        atoms: `[K]`, ascending.

    Returns:
        Probability of each atom, `[B, K]`.

    >>> half = torch.tensor([[0.5, 0.5, 0.0]])
    >>> returns = torch.tensor([[0.25, 7.0, 0.0]])
    >>> project(half, returns, torch.tensor([0.0, 1.0, 2.0]))
    tensor([[0.3750, 0.1250, 0.5000]])
    """
    last = len(atoms) - 1
    place = (returns - atoms[0]) / (atoms[1] - atoms[0])  # b in algorithm 1
    place = place.clamp(0, last)
    # The last atom but one at most: then there is an atom above, and a return that is
    # an atom's own gives all to it, as the shares are 1 and 0.
    below = place.floor().clamp(max=last - 1)
    share = place - below  # of the atom above
    below = below.long()
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below, probability * (1 - share))
    return projected.scatter_add_(1, below + 1, probability * share)
