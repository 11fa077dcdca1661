"""Chapter 12, memory and masks."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.algorithms import ppo_lstm, ppo_masked
from yieldrl.networks import Categorical

Cell = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""A step of a recurrent network: from inputs `[n, F]` and memories `[n, M]` to outputs
`[n, H]` and the memories after it, `[n, M]`."""


def walk(cell: Cell, x: Tensor, memory: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs `[T, n, H]` of sequences, and the memory `[n, M]` after them.

    Args:
        cell: A step of the network; call it once for each of the T steps.
        x: Inputs `[T, n, F]`.
        memory: What is remembered from before the first step, `[n, M]`.
        first: Where an episode begins, bool `[T, n]`. Its first input is to be met by
            an empty memory, which is zeros.

    Returns:
        New tensors; the arguments stay as they are.
    """
    outputs: list[Tensor] = []
    # The gap, a loop over time. Whose episode begins with x[t] remembers nothing when
    # the cell sees x[t]; all others go on. Gradients flow back through what is carried.
    # gap: a loop over time: empty where it must be, then a step
    for inputs, begins in zip(x, first, strict=True):
        memory = memory * ~begins.unsqueeze(-1)
        output, memory = cell(inputs, memory)
        outputs.append(output)
    # end
    return torch.stack(outputs), memory


def log_probs(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities `[B, A]` of actions, `-inf` where one is impossible.

    Args:
        logits: What the network says of every action, `[B, A]`.
        mask: Which of them are possible, bool `[B, A]`; at least one in each row.
    """
    # The gap, one line. Those of the possible actions add up to 1, as probabilities,
    # and it must not matter what the network says of the others, were it 10 000.
    # gap: a softmax over the possible actions alone
    return logits.masked_fill(~mask, -torch.inf).log_softmax(-1)
    # end


def entropy(log_p: Tensor) -> Tensor:
    """Entropy `[B]`, in nats, of what `log_probs` gives.

    Args:
        log_p: Log-probabilities `[B, A]`, with `-inf` in some places.
    """
    # The gap. -sum p log p, where 0 log 0 is 0. In floats, 0 times -inf is NaN; and if
    # you put a 0 in its place afterwards, its gradient is still NaN.
    # gap: -sum p log p, over what is possible
    finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 log 0 = 0
    return -(log_p.exp() * finite).sum(-1)
    # end


def predict(logits: Tensor, mask: Tensor) -> Tensor:
    """The most likely action `[B]` that is possible.

    Args:
        logits: What the network says of every action, `[B, A]`.
        mask: Which of them are possible, bool `[B, A]`.
    """
    # The gap, one line: there is no chance in it.
    # gap: the most likely action, of those that are possible
    return logits.masked_fill(~mask, -torch.inf).argmax(-1)
    # end


class Walked(nn.Module):
    """The library's LSTM, through which `walk` leads."""

    def __init__(self, lstm: Any) -> None:
        super().__init__()
        self.lstm, self.memory_size = lstm, lstm.memory_size

    def forward(
        self, x: Tensor, memory: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Outputs `[T, N, H]`, and the memory `[N, M]` after them."""

        def cell(inputs: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
            never = torch.zeros_like(first[:1])
            output, after = self.lstm(inputs[None], before, never)
            return output[0], after

        return walk(cell, x, memory, first)


class RecurrentModel(ppo_lstm.Model):
    """The network of recurrent PPO, with `walk` in it."""

    def __init__(self, observation_space: Any, action_space: Any, config: Any) -> None:
        super().__init__(observation_space, action_space, config)
        self.lstm = Walked(self.lstm)


class Choice(Categorical):
    """A choice whose logits are those of `log_probs`."""

    def entropy(self) -> Tensor:
        """In nats, `[B]`."""
        return entropy(self.logits)


class MaskedModel(ppo_masked.Model):
    """The network of PPO with masks, with the functions above in it."""

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Log-probabilities `[B, A]`."""
        return log_probs(self.actor(features), obs["action_mask"].bool())

    def distribution(self, output: Tensor) -> Choice:
        """What log-probabilities `[B, A]` stand for."""
        return Choice(output)

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B]`."""
        logits = self.actor(self.features(obs))
        return predict(logits, obs["action_mask"].bool())
