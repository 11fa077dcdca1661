"""A memory that begins with its episode, and choices among what is possible."""

import torch
from torch import Tensor

from yieldrl.exercises.ch12_memory_and_masks.exercise import Cell


def walk(cell: Cell, x: Tensor, memory: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs `[T, n, H]` of sequences, and the memory `[n, M]` after them."""
    outputs = []
    for inputs, begins in zip(x, first, strict=True):
        memory = memory * ~begins.unsqueeze(-1)
        output, memory = cell(inputs, memory)
        outputs.append(output)
    return torch.stack(outputs), memory


def log_probs(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities `[B, A]` of actions, `-inf` where one is impossible."""
    return logits.masked_fill(~mask, -torch.inf).log_softmax(-1)


def entropy(log_p: Tensor) -> Tensor:
    """Entropy `[B]`, in nats, of what `log_probs` gives."""
    finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 log 0 = 0
    return -(log_p.exp() * finite).sum(-1)


def predict(logits: Tensor, mask: Tensor) -> Tensor:
    """The most likely action `[B]` that is possible."""
    return logits.masked_fill(~mask, -torch.inf).argmax(-1)
