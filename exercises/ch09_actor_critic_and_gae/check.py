"""What holds of generalized advantage estimation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import a2c
from yieldrl.buffers import gae
from yieldrl.exercises.comparing import expect, expect_close

HINTS = {
    "no value": "V(s_t) is not subtracted: these are returns, not advantages",
    "no discount": "the next value is not discounted: gamma V(s_{t+1})",
    "no future": "the next value is missing, or counts as zero",
    "bootstrap": "the bootstrap ignores `terminated`: V(s_{t+1}) counts after the end",
    "through end": "the sum runs through `terminated`, into the next episode",
    "cut is end": "`truncated` is taken for an end: there V(s_{t+1}) still counts",
    "through cut": "the sum runs through `truncated`, into the next episode",
    "next row": "value[t + 1] is taken for next_value[t]: at a cut, another episode's",
    "no gamma": "the sum is discounted with lambda alone: gamma is missing",
    "no lambda": "the sum is discounted with gamma alone: lambda is missing",
    "forwards": "the sum runs forwards in time: A_t needs A_{t+1}, not A_{t-1}",
    "own delta": "only two TD errors are added: A_{t+1} is needed, not delta_{t+1}",
    "across": "the sum runs over environments: the first axis is time",
}
"""Mistake -> what to say of it."""


@dataclass(frozen=True)
class Case:
    """A rollout, and what comes out of it, rightly or with a known mistake."""

    reward: Tensor
    value: Tensor
    next_value: Tensor
    terminated: Tensor
    truncated: Tensor
    gamma: float
    gae_lambda: float

    def ask(self, answer: Any) -> Any:
        """What the answer says; it gets copies, so that it can spoil nothing."""
        parts = self.parts()
        return answer.gae(*parts, self.gamma, self.gae_lambda)

    def parts(self) -> list[Tensor]:
        """Copies of all tensors, in the order of the arguments."""
        tensors = (self.reward, self.value, self.next_value)
        return [part.clone() for part in (*tensors, self.terminated, self.truncated)]

    def expect(self, answer: Any, *mistakes: str) -> None:
        """Compare the answer with what is right, and with what mistakes would give."""
        expect_close(
            self.ask(answer),
            self.advantage(),
            named="advantage",
            mistakes={HINTS[mistake]: self.advantage(mistake) for mistake in mistakes},
        )

    def advantage(self, mistake: str = "") -> Tensor:
        """Advantages `[T, N]`, with or without one mistake."""
        carry = self.carry(mistake)
        delta, axis = self.delta(mistake), 1 if mistake == "across" else 0
        rows, factors = list(delta.unbind(axis)), carry.unbind(axis)
        steps = list(range(len(rows) - 1))
        for t in steps if mistake == "own delta" else reversed(steps):
            rows[t] = rows[t] + factors[t] * rows[t + 1]
        if mistake == "forwards":
            rows = list(delta.unbind())
            for t in steps:
                rows[t + 1] = rows[t + 1] + factors[t + 1] * rows[t]
        return torch.stack(rows, axis)

    def delta(self, mistake: str) -> Tensor:
        """TD errors `[T, N]`."""
        future = self.next_value.clone()
        if mistake == "next row":
            future[:-1] = self.value[1:]
        if mistake == "no future":
            future = 0 * future
        if mistake != "bootstrap":
            future = future * ~self.terminated
        if mistake == "cut is end":
            future = future * ~self.truncated
        gamma = 1.0 if mistake == "no discount" else self.gamma
        base = 0 * self.value if mistake == "no value" else self.value
        return self.reward + gamma * future - base

    def carry(self, mistake: str) -> Tensor:
        """By how much the following advantage counts, `[T, N]`."""
        stops = self.terminated & (mistake != "through end")
        stops = stops | self.truncated & (mistake != "through cut")
        gamma = 1.0 if mistake == "no gamma" else self.gamma
        return gamma * (1.0 if mistake == "no lambda" else self.gae_lambda) * ~stops


def one_step(answer: Any) -> None:
    """With lambda = 0 an advantage is the TD error r + gamma V(s') - V(s)."""
    case = _walk(gae_lambda=0.0)
    case.expect(answer, "no value", "no discount", "no future", "no lambda")


def whole_sum(answer: Any) -> None:
    """With lambda = 1 it is the discounted sum of all that follows, less V(s)."""
    _walk(gae_lambda=1.0).expect(answer, "no gamma", "forwards", "own delta")


def between(answer: Any) -> None:
    """In between, later TD errors count by powers of gamma lambda."""
    _walk(gae_lambda=0.5).expect(answer, "no lambda", "no gamma", "forwards")


def termination(answer: Any) -> None:
    """A terminated step has no future, and ends the sum."""
    case = _walk(gae_lambda=0.9, terminated=[2])
    case.expect(answer, "bootstrap", "through end", "no future")


def truncation(answer: Any) -> None:
    """A truncated step ends the sum, and is still bootstrapped from V(s')."""
    case = _walk(gae_lambda=0.9, truncated=[2])
    case.expect(answer, "cut is end", "through cut", "next row")


def environments(answer: Any) -> None:
    """Environments side by side do not touch each other."""
    generator = torch.Generator().manual_seed(9)
    reward, value, next_value = torch.randn(3, 6, 4, generator=generator)
    terminated, truncated = torch.rand(2, 6, 4, generator=generator) < 0.2
    truncated = truncated & ~terminated
    parts = reward, value, next_value, terminated, truncated
    case = Case(*parts, gamma=0.9, gae_lambda=0.8)
    case.expect(answer, "across", "bootstrap", "cut is end")


def constants(answer: Any) -> None:
    """An advantage is a constant to the loss, and the arguments stay as they were."""
    case = _walk(gae_lambda=0.9, terminated=[2])
    parts, before = case.parts(), case.parts()
    value = parts[1].requires_grad_()
    advantage = answer.gae(*parts, case.gamma, case.gae_lambda)
    expect_close(advantage, case.advantage(), named="advantage")
    expect(
        not advantage.requires_grad,
        "the advantage has a gradient, of the critic",
        "detach it: else the actor's loss also moves the critic",
    )
    names = ("reward", "value", "next_value", "terminated", "truncated")
    for name, part, was in zip(
        names, (parts[0], value, *parts[2:]), before, strict=True
    ):
        hint = "the argument was changed in place: work on a copy"
        expect_close(part.detach(), was, named=name, hint=hint)


def training(answer: Any) -> None:
    """A2C that uses it takes the same steps as with the library's own."""

    class Algorithm(answer.Algorithm):
        def advantages(self, rollout: Any) -> Tensor:
            config, next_value = self.config, self.next_values(rollout)
            got = super().advantages(rollout)
            want = gae(
                rollout["reward"],
                rollout["value"],
                next_value,
                rollout["terminated"],
                rollout["truncated"],
                config.gamma,
                config.gae_lambda,
            )
            expect_close(got, want, named="advantage", tolerance=1e-3)
            return got

    class Trainer(answer.Trainer):
        algorithm_class = Algorithm

    config = a2c.Config(total_steps=512, gae_lambda=0.9, eval_every=0, seed=9)
    for _ in Trainer(config)():
        pass


def _walk(
    gae_lambda: float,
    terminated: list[int] | None = None,
    truncated: list[int] | None = None,
) -> Case:
    """Five steps of one environment; an episode may end or be cut at one of them."""
    reward = torch.tensor([[1.0], [0.0], [2.0], [0.0], [4.0]])
    value = torch.tensor([[3.0], [5.0], [1.0], [4.0], [2.0]])
    last = torch.tensor([[6.0]])
    next_value = torch.cat([value[1:], last])
    flags = torch.zeros(2, 5, 1, dtype=torch.bool)
    for flag, steps in zip(flags, (terminated or [], truncated or []), strict=True):
        flag[steps] = True
        next_value[steps] = 7.0  # of the last state, which is in no row of its own
    return Case(reward, value, next_value, *flags, gamma=0.9, gae_lambda=gae_lambda)
