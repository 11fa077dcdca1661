"""Chance: distinct numbers, and kinds of objects of which one may be named."""

from __future__ import annotations

import torch
from torch import Tensor


def distinct(noise: Tensor, options: int) -> Tensor:
    """Draw `k` of 0 ... `options` - 1 without repetition, from noise `[k, N]`.

    The i-th takes one of the `options - i` that are left, each as likely as any other,
    counted past those that are gone.
    """
    drawn: list[Tensor] = []
    for i, u in enumerate(noise):
        number = (u * (options - i)).long().clamp(max=options - i - 1)
        if drawn:
            for gone in torch.stack(drawn).sort(0).values:
                number = number + (number >= gone)
        drawn.append(number)
    return torch.stack(drawn)


def distinct_with_goal(
    noise: Tensor, options: int, goal: Tensor, nameable: Tensor
) -> Tensor:
    """Distinct numbers of which the one at `goal` is nameable, the others any.

    Args:
        noise: Uniform in [0, 1), `[K, N]`.
        options: Numbers are from 0 to `options` - 1.
        goal: Which of the K is to be nameable, int64 `[N]`.
        nameable: The numbers that are, int64 `[M]`; each is as likely as any other.

    Returns:
        Int64 `[K, N]`.
    """
    (choice,) = distinct(noise[:1], len(nameable))
    named = nameable[choice]
    if len(noise) == 1:
        return named.unsqueeze(0)
    others = distinct(noise[1:], options - 1)
    others = others + (others >= named)  # counted past the one that is gone
    place = torch.arange(len(noise), device=goal.device).unsqueeze(1)
    # The first one of the others goes to the end that the named one leaves free.
    source = (place - (place > goal).long()).clamp(max=len(noise) - 2)
    return torch.where(place == goal, named, others.gather(0, source))
