"""What holds of a memory in a rollout, and of choices among what is possible."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo_lstm, ppo_masked
from yieldrl.exercises.calls import train, variant
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import expect, expect_close
from yieldrl.networks import LSTM, Categorical

MEMORY = torch.tensor([[0.6, -1.5], [-0.8, 2.5]])
# what the network likes best is often impossible
LOGITS = torch.tensor(
    [[2.0, -1, 0.5, 3], [-2, -1, 4, 1.5], [-0.5, -3, -1, 1], [0.7, 0.7, 0.7, 0.7]]
)
MASK = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]).bool()
LEARNS = "the result must depend on the logits: do not detach them"


def _cell(x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    h, c = memory.chunk(2, dim=-1)
    c = 0.5 * c + x
    h = torch.tanh(0.7 * h + c)
    return h, torch.cat([h, c], dim=-1)


def _walk(*begins: tuple[int, int]) -> list[Any]:
    """Arguments of `walk`: five steps of two environments."""
    x = torch.tensor([[1.0, -2], [0.5, 1], [-1, 0.3], [2, -0.4], [0.7, 0.9]])
    first = torch.zeros(5, 2, dtype=torch.bool)
    for step, env in begins:
        first[step, env] = True
    return [_cell, x.unsqueeze(-1), MEMORY, first]


def through_time(answer: Any) -> None:
    """Gradients flow back through an episode, and not out of it."""
    cell, x, memory, first = _walk((2, 0), (2, 1))
    x, memory = x.requires_grad_(), memory.clone().requires_grad_()
    output, _ = answer.walk(cell, x, memory, first)
    output[-1].sum().backward()
    gradient = torch.zeros_like(x) if x.grad is None else x.grad
    expect(
        bool(gradient[2:].ne(0).any(-1).all()),
        "what was seen at the beginning of the episode has no gradient",
        "do not detach the memory between steps, nor empty it in between",
    )
    given = torch.zeros_like(memory) if memory.grad is None else memory.grad
    expect(
        bool((gradient[:2] == 0).all() and (given == 0).all()),
        "what was seen before the episode has a gradient",
        "where `first` is set nothing of the memory before may be left",
    )


def _log_probs(answer: Any, logits: Tensor) -> tuple[Any, Any]:
    got = answer.log_probs(logits, MASK.clone())
    complete = isinstance(got, Tensor) and got.shape == logits.shape
    expect(complete, "log_probs does not give a tensor of the logits' shape")
    return got.exp(), got.masked_fill(~MASK, 0)


def _possible(answer: Any, logits: Tensor) -> Tensor:
    return answer.log_probs(logits, MASK)[MASK]


def _entropy(answer: Any, logits: Tensor) -> Tensor:
    return answer.entropy(CHAPTER.solution.right.log_probs(logits, MASK))


def training(answer: Any) -> None:
    """PPO that uses them learns from what the library's own says."""

    class Recurrent(answer.RecurrentModel):
        def features(self, obs: Any) -> Tensor:
            got = super().features(obs)
            own, self.lstm.forward = self.lstm.forward, self._librarys
            want = super().features(obs)
            self.lstm.forward = own
            expect_close(got, want, named="output of the LSTM")
            return got

        def _librarys(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
            return LSTM.forward(self.lstm, *inputs)

    class Masked(answer.MaskedModel):
        def evaluate_actions(self, obs: Any, action: Tensor) -> Any:
            got = super().evaluate_actions(obs, action)
            logits = ppo_masked.Model.actor_output(self, self.features(obs), obs)
            policy, finite = Categorical(logits), bool(got[0].isfinite().all())
            expect(finite, "log_prob is no number after the first gradient step")
            expect_close(got[0], policy.log_prob(action), named="log_prob")
            expect_close(got[1], policy.entropy(), named="entropy")
            expect_close(self.predict(obs), policy.mode(), named="action")
            return got

    small: dict[str, Any] = {"num_envs": 4, "num_steps": 16, "total_steps": 64}
    small |= {"num_epochs": 1, "eval_every": 0, "seed": 12}
    config = ppo_lstm.Config(env_id="yieldrl/TMaze-v1", **small)
    train(variant(answer.RecurrentTrainer, model_class=Recurrent)(config))
    config = ppo_masked.Config(env_id="Taxi-v4", **small)
    train(variant(answer.MaskedTrainer, model_class=Masked)(config))


CHAPTER = Chapter(__name__)
PROPERTIES = [
    *CHAPTER.same(
        "walk",
        "Within an episode each step gets the memory that the step before it left",
        _walk(),
        "Where an episode begins, its first step gets an empty memory",
        _walk((0, 0), (0, 1), (2, 0), (2, 1)),
        "That empties one environment's memory, and no other's",
        _walk((3, 1), (0, 0)),
        named=("output", "memory"),
    ),
    CHAPTER.constant(
        "The memory that is given is data: it stays as it is",
        ("walk", _walk((0, 0), (0, 1))),
        in_place="the memory was changed in place: make a new tensor",
    ),
    through_time,
    *CHAPTER.same(
        _log_probs,
        "Probabilities of possible actions add up to 1, and all others are 0",
        (LOGITS,),
        "What the network says of impossible actions changes nothing, were it 10 000",
        (LOGITS.where(MASK, 10_000.0),),
        named=("exp(log_prob)", "log_prob"),
    ),
    CHAPTER.gradient(
        "Logits of impossible actions get no gradient, and others a finite one",
        _possible,
        (LOGITS,),
        of=0,
        hint=LEARNS,
    ),
    *CHAPTER.same(
        "entropy",
        "Entropy counts possible actions only: among k alike it is log k",
        (LOGITS.masked_fill(~MASK, -torch.inf).log_softmax(-1),),
    ),
    CHAPTER.gradient(
        "Its gradient is finite, and 0 for what is impossible",
        _entropy,
        (LOGITS,),
        of=0,
        hint=LEARNS,
    ),
    *CHAPTER.same(
        "predict",
        "What is predicted is possible, and of that the most likely",
        (LOGITS, MASK),
        named="action",
    ),
    training,
]
