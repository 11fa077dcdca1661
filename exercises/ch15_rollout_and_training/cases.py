"""Rollouts for the check, and what V-trace makes of them, with or without a mistake."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

HINTS = {
    "no exp": "a difference of logarithms is the ratio's logarithm: take its exp",
    "upside down": "the ratio is upside down: pi, which learns, over mu, which acted",
    "always 1": "the ratio is always 1: behaviour_log_prob is that of who acted",
    "no limit": "rho is not limited: a step counts at most rho_bar times",
    "both sides": "small ratios are raised: only large ones are limited",
    "from below": "rho is limited from below: the smaller of the two counts",
    "unweighted": "rho is missing before the advantage: rho (delta + what follows)",
    "c for rho": "c stands where rho belongs: a step itself is weighed by rho",
    "rho for c": "rho stands where c belongs: what follows is passed back by c",
    "c without limit": "c is not limited: what follows counts at most c_bar times",
    "no c": "what follows is passed back without c",
    "c twice": "what follows counts with c in the advantage: c is for the target alone",
    "difference": "v - V is taken for the advantage: with c in the place of rho",
    "own delta": "an advantage is only its own delta: what follows is missing",
    "no gamma": "what follows is passed back without gamma",
    "no lambda": "what follows is passed back without lambda",
    "no baseline": "V(s_t) is not subtracted in delta",
    "no future": "V(s_{t+1}) is missing in delta, or not discounted",
    "forwards": "the loop runs forwards in time: what follows is needed first",
    "bootstrap": "the bootstrap ignores `terminated`: V(s_{t+1}) counts after the end",
    "through end": "the sum runs through `terminated`, into the next episode",
    "cut is end": "`truncated` is taken for an end: there V(s_{t+1}) still counts",
    "through cut": "the sum runs through `truncated`, into the next episode",
    "across": "the sum runs over environments: the first axis is time",
    "roles": "`start` and `log_prob` have changed places: who learns, and who acted?",
    "unread": "what was written down when acting is not used: rollout['log_prob']",
}
"""Mistake -> what to say of it."""


class Case(NamedTuple):
    """A rollout `[T, N]`, and what comes out of it."""

    log_prob: Tensor
    behaviour_log_prob: Tensor
    reward: Tensor
    value: Tensor
    next_value: Tensor
    terminated: Tensor
    truncated: Tensor
    gamma: float = 0.9
    gae_lambda: float = 0.8
    rho_bar: float = 1.0
    c_bar: float = 1.0

    def tensors(self) -> list[Tensor]:
        """Copies of all tensors, in the order of the arguments."""
        return [part.clone() for part in self[:7]]

    def ask(self, answer: Any, tensors: list[Tensor] | None = None) -> Any:
        """What the answer says; it gets copies, so that it can spoil nothing."""
        return answer.vtrace(*(tensors or self.tensors()), *self[7:])

    def last(self, steps: int, by: Tensor) -> Case:
        """The last steps alone, in as many environments as `by` has ratios `[1, N]`."""
        names = self._fields[:7]
        parts = {n: getattr(self, n)[-steps:].expand(steps, by.shape[1]) for n in names}
        now = parts["behaviour_log_prob"] + by.log()
        return self._replace(**{**parts, "log_prob": now})

    def result(self, mistake: str = "") -> tuple[Tensor, Tensor]:
        """Advantage and target `[T, N]`, with or without one mistake."""
        if mistake == "across":
            turned = self._replace(**{n: getattr(self, n).T for n in self._fields[:7]})
            advantage, target = turned.result()
            return advantage.T, target.T
        rho, c = self.weights(mistake)
        delta, carry = self.delta(mistake), self.carry(mistake)
        advantage, target = torch.zeros_like(delta), torch.zeros_like(delta)
        own = c if mistake == "c for rho" else rho
        back = {"rho for c": rho, "no c": torch.ones_like(c)}.get(mistake, c)
        times, later = range(len(delta)), torch.zeros_like(delta[0])
        for t in times if mistake == "forwards" else reversed(times):
            follows = carry[t] * later
            after = own[t] * delta[t] + back[t] * follows
            advantage[t] = {
                "unweighted": delta[t] + follows,
                "own delta": own[t] * delta[t],
                "difference": after,
                "c twice": own[t] * (delta[t] + c[t] * follows),
            }.get(mistake, own[t] * (delta[t] + follows))
            later = after
            target[t] = self.value[t] + later
        return advantage, target

    def weights(self, mistake: str) -> tuple[Tensor, Tensor]:
        """Rho and c, `[T, N]`."""
        log_ratio = self.log_prob - self.behaviour_log_prob
        ratio = {
            "no exp": log_ratio,
            "upside down": (-log_ratio).exp(),
            "always 1": torch.ones_like(log_ratio),
        }.get(mistake, log_ratio.exp())
        rho = {
            "no limit": ratio,
            "both sides": ratio.clamp(1 / self.rho_bar, self.rho_bar),
            "from below": ratio.clamp(min=self.rho_bar),
        }.get(mistake, ratio.clamp(max=self.rho_bar))
        limited = mistake != "c without limit"
        return rho, ratio.clamp(max=self.c_bar) if limited else ratio

    def delta(self, mistake: str) -> Tensor:
        """TD errors `[T, N]`."""
        over = self.terminated
        if mistake == "bootstrap":
            over = torch.zeros_like(over)
        if mistake == "cut is end":
            over = self.terminated | self.truncated
        future = self.gamma * self.next_value * ~over
        future = 0 * future if mistake == "no future" else future
        return self.reward + future - self.value * (mistake != "no baseline")

    def carry(self, mistake: str) -> Tensor:
        """What of the steps that follow is passed back, before c, `[T, N]`."""
        ended = self.terminated | self.truncated
        ended = {"through end": self.truncated, "through cut": self.terminated}.get(
            mistake, ended
        )
        gamma = 1.0 if mistake == "no gamma" else self.gamma
        return gamma * (1.0 if mistake == "no lambda" else self.gae_lambda) * ~ended


def case(*ratio: float) -> Case:
    """Four steps in one environment; nothing ends."""
    then = rows(-0.7, -1.2, -0.3, -2.0)
    value, after = rows(2.0, -1.0, 0.5, 3.0), rows(-1.0, 0.5, 3.0, 1.5)
    never = torch.zeros(4, 1, dtype=torch.bool)
    reward = rows(1.0, -2.0, 0.5, 4.0)
    now = then + rows(*ratio).log()
    return Case(now, then, reward, value, after, never, never)


def rows(*numbers: float) -> Tensor:
    """Numbers as a column `[T, 1]`."""
    return torch.tensor(numbers, dtype=torch.float32).unsqueeze(1)
