"""Distributions of returns on fixed atoms."""

import torch
from torch import Tensor


def project(probability: Tensor, returns: Tensor, atoms: Tensor) -> Tensor:
    """Move probability from any returns to evenly spaced atoms, keeping the mean.

    Probability between two atoms is split between them, more to the nearer one;
    outside it goes to the first or last atom. Equation 7 of arXiv:1707.06887.

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
    # At most the second to last, so that an atom above exists. A return equal to an
    # atom gives it everything: the shares are 1 and 0.
    below = place.floor().clamp(max=last - 1)
    share = place - below  # of the atom above
    below = below.long()
    projected = torch.zeros_like(probability)
    projected.scatter_add_(1, below, probability * (1 - share))
    return projected.scatter_add_(1, below + 1, probability * share)
