"""What holds of a memory in a rollout, and of choices among what is possible."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo_lstm, ppo_masked
from yieldrl.exercises.ch12_memory_and_masks import known
from yieldrl.exercises.ch12_memory_and_masks.known import HINTS
from yieldrl.exercises.comparing import expect, expect_close
from yieldrl.networks import LSTM, Categorical


def goes_on(answer: Any) -> None:
    """Within an episode each step gets the memory that the step before it left."""
    mistakes = ("not carried", "backwards", "before", "zeros", "inverted")
    _expect_walk(answer, known.nowhere(), mistakes)


def begins(answer: Any) -> None:
    """Where an episode begins, its first step gets an empty memory."""
    first = known.nowhere()
    first[0] = first[2] = True
    mistakes = ("never", "late", "early", "inverted", "start alone", "half")
    _expect_walk(answer, first, (*mistakes, "output", "not carried"))


def environments(answer: Any) -> None:
    """That empties one environment's memory, and no other's."""
    first = known.nowhere()
    first[3, 1] = first[0, 0] = True
    _expect_walk(answer, first, ("everybody", "late", "never", "half"))


def arguments(answer: Any) -> None:
    """The memory that is given is data: it stays as it is."""
    x, memory, first = known.inputs(), known.memories(), known.nowhere()
    first[0] = True
    answer.walk(known.cell, x, memory, first)
    hint = "the memory was changed in place: make a new tensor"
    expect_close(memory, known.memories(), named="memory", hint=hint)


def through_time(answer: Any) -> None:
    """Gradients flow back through an episode, and not out of it."""
    x, first = known.inputs().requires_grad_(), known.nowhere()
    memory = known.memories().requires_grad_()
    first[2] = True
    output, _ = answer.walk(known.cell, x, memory, first)
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
        HINTS["never"],
    )


def possible(answer: Any) -> None:
    """Probabilities of possible actions add up to 1, and all others are 0."""
    logits, mask = known.choices()
    mistakes = ("no mask", "inverted mask", "after softmax", "zeroed", "penalty")
    _expect_log_probs(answer, logits, mask, (*mistakes, "over batch", "probabilities"))


def whatever_it_says(answer: Any) -> None:
    """What the network says of impossible actions changes nothing, were it 10 000."""
    logits, mask = known.choices()
    logits = torch.where(mask, logits, 10_000.0)
    mistakes = ("no mask", "zeroed", "after softmax")
    _expect_log_probs(answer, logits, mask, mistakes)


def no_gradient(answer: Any) -> None:
    """Logits of impossible actions get no gradient, and others a finite one."""
    logits, mask = known.choices()
    logits.requires_grad_()
    answer.log_probs(logits, mask)[mask].sum().backward()
    _expect_gradient(logits, mask)


def unsure(answer: Any) -> None:
    """Entropy counts possible actions only: among k alike it is log k."""
    logits, mask = known.choices()
    log_p = known.log_probs_of(logits, mask)
    mistakes = ("sign", "mean", "bits", "per action", "floor")
    expect_close(
        answer.entropy(log_p.clone()),
        known.entropy_of(log_p),
        named="entropy",
        hint="-sum p log p over the last axis; 0 times -inf is NaN, and should be 0",
        mistakes={
            HINTS[mistake]: known.entropy_of(log_p, mistake) for mistake in mistakes
        },
    )


def entropy_gradient(answer: Any) -> None:
    """Its gradient is finite, and 0 for what is impossible."""
    logits, mask = known.choices()
    logits.requires_grad_()
    answer.entropy(known.log_probs_of(logits, mask)).sum().backward()
    _expect_gradient(logits, mask)


def sure(answer: Any) -> None:
    """What is predicted is possible, and of that the most likely."""
    logits, mask = known.choices()
    mistakes = ("blind", "zero wins", "least")
    expect_close(
        answer.predict(logits.clone(), mask.clone()),
        known.predicted(logits, mask),
        named="action",
        mistakes={
            HINTS[name]: known.predicted(logits, mask, name) for name in mistakes
        },
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
            expect(
                bool(got[0].isfinite().all()),
                "log_prob is no number after the first gradient step",
                "one NaN in a gradient, and after the step all weights are NaN",
            )
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


def _expect_walk(answer: Any, first: Tensor, mistakes: tuple[str, ...]) -> None:
    """Compare outputs and the last memory with what is right, and with mistakes."""
    got = answer.walk(known.cell, known.inputs(), known.memories(), first.clone())
    expect(
        isinstance(got, tuple) and len(got) == 2,
        f"walk returns a {type(got).__name__}, expected outputs and the last memory",
    )
    want = known.walked(first)
    wrong = {HINTS[name]: known.walked(first, name) for name in mistakes}
    for text, parts in wrong.items():
        if all(torch.allclose(*pair) for pair in zip(parts, want, strict=True)):
            raise ValueError(f"the right walk is also that of the mistake {text!r}")
    for i, named in enumerate(("output", "memory")):
        differ = {
            text: parts[i]
            for text, parts in wrong.items()
            if not torch.allclose(parts[i], want[i])
        }
        expect_close(got[i], want[i], named=named, mistakes=differ)


def _expect_log_probs(
    answer: Any, logits: Tensor, mask: Tensor, mistakes: tuple[str, ...]
) -> None:
    """Compare probabilities with what is right, and the possible ones' logarithms."""
    got = answer.log_probs(logits.clone(), mask.clone())
    want = known.log_probs_of(logits, mask)
    wrong = {HINTS[name]: known.log_probs_of(logits, mask, name) for name in mistakes}
    expect(
        isinstance(got, Tensor) and got.shape == want.shape,
        "log_probs does not give a tensor of the logits' shape",
    )
    expect(not bool(got.isnan().any()), "log_probs has a NaN", HINTS["underflow"])
    if not torch.allclose(got.exp(), want.exp(), atol=1e-4):
        exps = {text: values.exp() for text, values in wrong.items()}
        expect_close(got.exp(), want.exp(), named="exp(log_prob)", mistakes=exps)
    finite = got.masked_fill(~mask, 0), want.masked_fill(~mask, 0)
    hint = "where probabilities are small, take log_softmax and not the log of softmax"
    expect_close(*finite, named="log_prob", hint=hint)


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
