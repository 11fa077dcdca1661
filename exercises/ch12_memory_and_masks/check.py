"""What holds of a memory in a rollout, and of choices among what is possible."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo_lstm, ppo_masked
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import expect

MEMORY = torch.tensor([[0.6, -1.5], [-0.8, 2.5]])
# what the network likes best is often impossible
LOGITS = torch.tensor(
    [[2.0, -1, 0.5, 3], [-2, -1, 4, 1.5], [-0.5, -3, -1, 1], [0.7, 0.7, 0.7, 0.7]]
)
MASK = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]).bool()


def _cell(x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    h, c = memory.chunk(2, dim=-1)
    c = 0.5 * c + x
    h = torch.tanh(0.7 * h + c)
    return h, torch.cat([h, c], dim=-1)


def _walk(*begins: tuple[int, int]) -> list[Any]:
    """Arguments of `walk`: five steps of two environments."""
    x = torch.tensor([[1.0, -2], [0.5, 1], [-1, 0.3], [2, -0.4], [0.7, 0.9]])
    first = torch.tensor([[(t, n) in begins for n in range(2)] for t in range(5)])
    return [_cell, x.unsqueeze(-1), MEMORY, first]


def through_time(answer: Any) -> tuple[Tensor, ...]:
    """Gradients of the last output, for all that was seen and the memory before it."""
    cell, x, memory, first = _walk((2, 0), (2, 1))
    inputs = [x.requires_grad_(), memory.clone().requires_grad_()]
    output, _ = answer.walk(cell, *inputs, first)
    return torch.autograd.grad(output[-1].sum(), inputs, materialize_grads=True)


def _log_probs(answer: Any, logits: Tensor) -> tuple[Any, Any]:
    got = answer.log_probs(logits, MASK.clone())
    complete = isinstance(got, Tensor) and got.shape == logits.shape
    expect(complete, "log_probs does not give a tensor of the logits' shape")
    return got.exp(), got.masked_fill(~MASK, 0)


def _possible(answer: Any, logits: Tensor) -> Tensor:
    return answer.log_probs(logits, MASK)[MASK]


def _entropy(answer: Any, logits: Tensor) -> Tensor:
    return answer.entropy(CHAPTER.solution.right.log_probs(logits, MASK))


SETTINGS = {"num_envs": 4, "num_steps": 16, "total_steps": 64, "num_epochs": 1}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "walk",
    "Within an episode each step gets the memory that the step before it left",
    _walk(),
    "Where an episode begins, its first step gets an empty memory",
    _walk((0, 0), (0, 1), (2, 0), (2, 1)),
    "That empties one environment's memory, and no other's",
    _walk((3, 1), (0, 0)),
    named=("output", "memory"),
)
CHAPTER.constant(
    "The memory that is given is data: it stays as it is",
    ("walk", _walk((0, 0), (0, 1))),
)
CHAPTER.same(
    through_time,
    "Gradients flow back through an episode, and not out of it",
    (),
    named=("gradient of x", "gradient of the memory"),
)
CHAPTER.same(
    _log_probs,
    "Probabilities of possible actions add up to 1, and all others are 0",
    (LOGITS,),
    "What the network says of impossible actions changes nothing, were it 10 000",
    (LOGITS.where(MASK, 10_000.0),),
    named=("exp(log_prob)", "log_prob"),
)
CHAPTER.gradient(
    "Logits of impossible actions get no gradient, and others a finite one",
    _possible,
    (LOGITS,),
)
CHAPTER.same(
    "entropy",
    "Entropy counts possible actions only: among k alike it is log k",
    (LOGITS.masked_fill(~MASK, -torch.inf).log_softmax(-1),),
)
CHAPTER.gradient(
    "Its gradient is finite, and 0 for what is impossible", _entropy, (LOGITS,)
)
CHAPTER.same(
    "predict",
    "What is predicted is possible, and of that the most likely",
    (LOGITS, MASK),
    named="action",
)
CHAPTER.trains(
    "PPO that uses them learns from what the library's own says",
    {**SETTINGS, "seed": 12},
    RecurrentModel=ppo_lstm,
    MaskedModel=ppo_masked,
)
