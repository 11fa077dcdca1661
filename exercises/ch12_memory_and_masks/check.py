"""What holds of a memory in a rollout, and of choices among what is possible."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo_lstm, ppo_masked
from yieldrl.exercises.checking import expect, expect_close
from yieldrl.networks import LSTM, Categorical

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


def goes_on(answer: Any) -> None:
    """Within an episode each step gets the memory that the step before it left."""
    mistakes = ("not carried", "backwards", "before", "zeros", "inverted")
    _expect_walk(answer, _nowhere(), mistakes)


def begins(answer: Any) -> None:
    """Where an episode begins, its first step gets an empty memory."""
    first = _nowhere()
    first[0] = first[2] = True
    mistakes = ("never", "late", "early", "inverted", "start alone", "half")
    _expect_walk(answer, first, (*mistakes, "output", "not carried"))


def environments(answer: Any) -> None:
    """That empties one environment's memory, and no other's."""
    first = _nowhere()
    first[3, 1] = first[0, 0] = True
    _expect_walk(answer, first, ("everybody", "late", "never", "half"))


def arguments(answer: Any) -> None:
    """The memory that is given is data: it stays as it is."""
    x, memory, first = _inputs(), _memory(), _nowhere()
    first[0] = True
    answer.walk(_cell, x, memory, first)
    hint = "the memory was changed in place: make a new tensor"
    expect_close(memory, _memory(), named="memory", hint=hint)


def through_time(answer: Any) -> None:
    """Gradients flow back through an episode, and not out of it."""
    x, memory, first = _inputs(), _memory().requires_grad_(), _nowhere()
    x.requires_grad_()
    first[2] = True
    output, _ = answer.walk(_cell, x, memory, first)
    output[-1].sum().backward()
    expect(
        x.grad is not None and bool(x.grad[2:].ne(0).any(-1).all()),
        "what was seen at the beginning of the episode has no gradient",
        "do not detach the memory between steps, nor empty it in between",
    )
    before = [x.grad[:2], memory.grad if memory.grad is not None else 0 * memory]
    expect(
        all(bool((part == 0).all()) for part in before),
        "what was seen before the episode has a gradient",
        HINTS["never"],
    )


def possible(answer: Any) -> None:
    """Probabilities of possible actions add up to 1, and all others are 0."""
    logits, mask = _choices()
    mistakes = ("no mask", "inverted mask", "after softmax", "zeroed", "penalty")
    _expect_log_probs(answer, logits, mask, (*mistakes, "over batch", "probabilities"))


def whatever_it_says(answer: Any) -> None:
    """What the network says of impossible actions changes nothing, were it 10 000."""
    logits, mask = _choices()
    logits = torch.where(mask, logits, 10_000.0)
    mistakes = ("no mask", "zeroed", "after softmax")
    _expect_log_probs(answer, logits, mask, mistakes)


def no_gradient(answer: Any) -> None:
    """Logits of impossible actions get no gradient, and others a finite one."""
    logits, mask = _choices()
    logits.requires_grad_()
    answer.log_probs(logits, mask)[mask].sum().backward()
    _expect_gradient(logits, mask)


def unsure(answer: Any) -> None:
    """Entropy counts possible actions only: among k alike it is log k."""
    logits, mask = _choices()
    log_p = _log_probs(logits, mask)
    mistakes = ("sign", "mean", "bits", "per action", "floor")
    expect_close(
        answer.entropy(log_p.clone()),
        _entropy(log_p),
        named="entropy",
        hint="-sum p log p over the last axis; 0 times -inf is NaN, and should be 0",
        mistakes={HINTS[mistake]: _entropy(log_p, mistake) for mistake in mistakes},
    )


def entropy_gradient(answer: Any) -> None:
    """Its gradient is finite, and 0 for what is impossible."""
    logits, mask = _choices()
    logits.requires_grad_()
    answer.entropy(_log_probs(logits, mask)).sum().backward()
    _expect_gradient(logits, mask)


def sure(answer: Any) -> None:
    """What is predicted is possible, and of that the most likely."""
    logits, mask = _choices()
    mistakes = ("blind", "zero wins", "least")
    expect_close(
        answer.predict(logits.clone(), mask.clone()),
        _predict(logits, mask),
        named="action",
        mistakes={HINTS[name]: _predict(logits, mask, name) for name in mistakes},
    )


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
            policy = Categorical(logits)
            expect_close(got[0], policy.log_prob(action), named="log_prob")
            expect_close(got[1], policy.entropy(), named="entropy")
            expect_close(self.predict(obs), policy.mode(), named="action")
            return got

    _train(answer.RecurrentTrainer, Recurrent, ppo_lstm.Config, "yieldrl/TMaze-v1")
    _train(answer.MaskedTrainer, Masked, ppo_masked.Config, "Taxi-v4")


def _train(trainer: Any, model: Any, config: Any, env_id: str) -> None:
    """One rollout, and what is learned from it."""
    trainer_class = type("Trainer", (trainer,), {"model_class": model})
    small = {"num_envs": 4, "num_steps": 16, "total_steps": 64, "num_epochs": 1}
    for _ in trainer_class(config(env_id=env_id, **small, eval_every=0, seed=12))():
        pass


def _cell(x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Both halves of the memory matter to the output, and to the memory after it."""
    h, c = memory.chunk(2, dim=-1)
    c = 0.5 * c + x
    h = torch.tanh(0.7 * h + c)
    return h, torch.cat([h, c], dim=-1)


def _inputs() -> Tensor:
    """Five steps of two environments, `[5, 2, 1]`."""
    return torch.tensor([[1.0, -2], [0.5, 1], [-1, 0.3], [2, -0.4], [0.7, 0.9]])[
        ..., None
    ]


def _memory() -> Tensor:
    return torch.tensor([[0.6, -1.5], [-0.8, 2.5]])


def _nowhere() -> Tensor:
    return torch.zeros(5, 2, dtype=torch.bool)


def _expect_walk(answer: Any, first: Tensor, mistakes: tuple[str, ...]) -> None:
    """Compare outputs and the last memory with what is right, and with mistakes."""
    got = answer.walk(_cell, _inputs(), _memory(), first.clone())
    expect(
        isinstance(got, tuple) and len(got) == 2,
        f"walk returns a {type(got).__name__}, expected outputs and the last memory",
    )
    want = _walk(first)
    known = {HINTS[name]: _walk(first, name) for name in mistakes}
    for text, parts in known.items():
        if all(torch.allclose(*pair) for pair in zip(parts, want, strict=True)):
            raise ValueError(f"the right walk is also that of the mistake {text!r}")
    for i, named in enumerate(("output", "memory")):
        differ = {
            text: parts[i]
            for text, parts in known.items()
            if not torch.allclose(parts[i], want[i])
        }
        expect_close(got[i], want[i], named=named, mistakes=differ)


def _walk(first: Tensor, mistake: str = "") -> tuple[Tensor, Tensor]:
    """Outputs and the last memory, with or without one mistake."""
    x, memory = _inputs(), _memory()
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
        output, memory = _cell(x[t], before * ~empties[t])
        outputs.append(output * ~first[t, :, None] if mistake == "output" else output)
    return torch.stack(outputs), given if mistake == "before" else memory


def _choices() -> tuple[Tensor, Tensor]:
    """Logits and masks `[4, 4]`; what the network likes best is often impossible."""
    logits = torch.tensor(
        [[2.0, -1, 0.5, 3], [-2, -1, 4, 1.5], [-0.5, -3, -1, 1], [0.7, 0.7, 0.7, 0.7]]
    )
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]])
    return logits, mask.bool()


def _expect_log_probs(
    answer: Any, logits: Tensor, mask: Tensor, mistakes: tuple[str, ...]
) -> None:
    """Compare probabilities with what is right, and the possible ones' logarithms."""
    got = answer.log_probs(logits.clone(), mask.clone())
    want = _log_probs(logits, mask)
    known = {HINTS[name]: _log_probs(logits, mask, name) for name in mistakes}
    expect(
        isinstance(got, Tensor) and got.shape == want.shape,
        "log_probs does not give a tensor of the logits' shape",
    )
    expect(not bool(got.isnan().any()), "log_probs has a NaN", HINTS["underflow"])
    if not torch.allclose(got.exp(), want.exp(), atol=1e-4):
        exps = {text: values.exp() for text, values in known.items()}
        expect_close(got.exp(), want.exp(), named="exp(log_prob)", mistakes=exps)
    finite = got.masked_fill(~mask, 0), want.masked_fill(~mask, 0)
    hint = "where probabilities are small, take log_softmax and not the log of softmax"
    expect_close(*finite, named="log_prob", hint=hint)


def _log_probs(logits: Tensor, mask: Tensor, mistake: str = "") -> Tensor:
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


def _entropy(log_p: Tensor, mistake: str = "") -> Tensor:
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


def _predict(logits: Tensor, mask: Tensor, mistake: str = "") -> Tensor:
    """Actions `[B]`, with or without one mistake."""
    wrong = {
        "blind": logits.argmax(-1),
        "zero wins": (logits * mask).argmax(-1),
        "least": logits.masked_fill(~mask, torch.inf).argmin(-1),
    }
    return wrong.get(mistake, logits.masked_fill(~mask, -torch.inf).argmax(-1))


def _expect_gradient(logits: Tensor, mask: Tensor) -> None:
    """Finite everywhere, 0 where the mask says impossible, and not 0 everywhere."""
    gradient = logits.grad
    expect(gradient is not None, "no gradient arrives at the logits")
    assert gradient is not None
    expect(
        bool(gradient.isfinite().all()),
        "the gradient is NaN",
        "0 times -inf is NaN in the gradient as well: keep -inf out of the product",
    )
    expect(
        bool((gradient[~mask] == 0).all()),
        "an impossible action's logit has a gradient",
        "it must not matter what the network says of an impossible action",
    )
    expect(bool((gradient[mask] != 0).any()), "all gradients are 0")
