"""What comes out of chapter 12's functions, rightly or with a known mistake."""

from __future__ import annotations

import torch
from torch import Tensor

HINTS = {
    "never": "`first` is ignored: the memory of the last episode is in the next one",
    "late": "emptied one step late: the first observation of an episode is forgotten",
    "early": "emptied one step early: the last step of an episode has no memory",
    "everybody": "all environments are emptied: only those whose episode begins",
    "inverted": "emptied where episodes go on: `first` is where one begins",
    "zeros": "it begins with zeros: the memory from before the sequence is given",
    "start alone": "emptied at the first row alone: an episode may begin in any",
    "half": "half of the memory is emptied: an LSTM's output and its cell are in it",
    "output": "the output is emptied, not the memory that the cell gets",
    "before": "the memory from before the sequence comes back, not the one after it",
    "not carried": "every step begins with the same memory: carry it on",
    "backwards": "it walks backwards in time",
    "no mask": "the mask is not used",
    "inverted mask": "impossible actions are left and possible ones taken away",
    "after softmax": "masked after the softmax: what is left does not add up to 1",
    "zeroed": "a logit of 0 is not impossible: exp(0) is 1, and -inf is needed",
    "penalty": "a penalty makes actions less likely, not impossible: -inf does",
    "underflow": "mask first: of a softmax over all actions nothing may be left",
    "over batch": "the softmax runs over the batch: the last axis is that of actions",
    "probabilities": "these are probabilities: their logarithms are asked for",
    "sign": "the sign: log p is negative, and entropy is not",
    "mean": "the mean over actions is taken: it is a sum",
    "bits": "these are bits, of the logarithm to base 2: nats are asked for",
    "per action": "divided by the entropy of all actions: nats are asked for",
    "floor": "impossible actions add to the entropy: 0 log 0 is 0",
    "blind": "predict ignores the mask",
    "zero wins": "a logit of 0 wins where all possible ones are negative: -inf loses",
    "least": "this is the least likely action",
}
"""Mistake -> what to say of it."""


def cell(x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Both halves of the memory matter to the output, and to the memory after it."""
    h, c = memory.chunk(2, dim=-1)
    c = 0.5 * c + x
    h = torch.tanh(0.7 * h + c)
    return h, torch.cat([h, c], dim=-1)


def inputs() -> Tensor:
    """Five steps of two environments, `[5, 2, 1]`."""
    seen = [[1.0, -2], [0.5, 1], [-1, 0.3], [2, -0.4], [0.7, 0.9]]
    return torch.tensor(seen).unsqueeze(-1)


def memories() -> Tensor:
    """From before the first step, `[2, 2]`."""
    return torch.tensor([[0.6, -1.5], [-0.8, 2.5]])


def nowhere() -> Tensor:
    """No episode begins, `[5, 2]`."""
    return torch.zeros(5, 2, dtype=torch.bool)


def walked(first: Tensor, mistake: str = "") -> tuple[Tensor, Tensor]:
    """Outputs and the last memory, with or without one mistake."""
    x, memory = inputs(), memories()
    empties = first.unsqueeze(-1)
    if mistake == "inverted":
        empties = ~empties
    if mistake == "everybody":
        empties = empties.any(1, keepdim=True).expand_as(empties)
    if mistake in ("never", "output"):
        empties = empties & False
    if mistake in ("late", "early"):
        rolled = empties.roll(1 if mistake == "late" else -1, 0)
        rolled[0 if mistake == "late" else -1] = False
        empties = rolled
    if mistake == "start alone":
        empties = torch.cat([empties[:1], empties[1:] & False])
    if mistake == "zeros":
        memory = 0 * memory
    if mistake == "half":
        empties = torch.cat([empties, empties & False], dim=-1)
    steps = reversed(range(len(x))) if mistake == "backwards" else range(len(x))
    outputs, given = [], memory
    for t in steps:
        before = given if mistake == "not carried" else memory
        output, memory = cell(x[t], before * ~empties[t])
        outputs.append(output * ~first[t, :, None] if mistake == "output" else output)
    return torch.stack(outputs), given if mistake == "before" else memory


def choices() -> tuple[Tensor, Tensor]:
    """Logits and masks `[4, 4]`; what the network likes best is often impossible."""
    logits = torch.tensor(
        [[2.0, -1, 0.5, 3], [-2, -1, 4, 1.5], [-0.5, -3, -1, 1], [0.7, 0.7, 0.7, 0.7]]
    )
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]])
    return logits, mask.bool()


def log_probs_of(logits: Tensor, mask: Tensor, mistake: str = "") -> Tensor:
    """Log-probabilities `[B, A]`, with or without one mistake."""
    masked = logits.masked_fill(~mask, -torch.inf)
    p = logits.softmax(-1)
    wrong = {
        "no mask": lambda: logits.log_softmax(-1),
        "inverted mask": lambda: logits.masked_fill(mask, -torch.inf).log_softmax(-1),
        "after softmax": lambda: (p * mask).log(),
        "zeroed": lambda: (logits * mask).log_softmax(-1),
        "penalty": lambda: (logits - ~mask * 1.0).log_softmax(-1),
        "over batch": lambda: masked.log_softmax(0),
        "probabilities": lambda: masked.softmax(-1),
    }
    return wrong[mistake]() if mistake else masked.log_softmax(-1)


def entropy_of(log_p: Tensor, mistake: str = "") -> Tensor:
    """Entropies `[B]`, with or without one mistake."""
    parts = torch.special.entr(log_p.exp())  # -p log p, and 0 for p = 0
    total, count = parts.sum(-1), log_p.shape[-1]
    low = log_p.clamp(min=-3)
    wrong = {
        "sign": -total,
        "mean": total / count,
        "bits": total / torch.tensor(2.0).log(),
        "per action": total / torch.tensor(float(count)).log(),
        "floor": -(low.exp() * low).sum(-1),
    }
    return wrong.get(mistake, total)


def predicted(logits: Tensor, mask: Tensor, mistake: str = "") -> Tensor:
    """Actions `[B]`, with or without one mistake."""
    wrong = {
        "blind": logits.argmax(-1),
        "zero wins": (logits * mask).argmax(-1),
        "least": logits.masked_fill(~mask, torch.inf).argmin(-1),
    }
    return wrong.get(mistake, logits.masked_fill(~mask, -torch.inf).argmax(-1))
