"""What holds of the sums of a chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.exercises.comparing import expect, expect_close

PARTS = ("reward", "discount", "num_steps")
HINTS = {
    "plain": "the rewards are summed without a discount: r_i counts gamma^i",
    "late": "the first reward is discounted too: r_0 counts gamma^0 = 1",
    "flat": "all rewards but the first count gamma: r_i counts gamma^i",
    "backwards": "the powers are the wrong way round: r_0 counts 1, r_1 gamma, ...",
    "one step": "the discount is that of one step: after k steps it is gamma^k",
    "one less": "the discount is gamma^(k - 1): what follows is k steps away",
    "after end": "rewards after the episode's end count: that is another episode",
    "frozen": "rewards after the end count: only what is `running` may be added",
    "to the end": "the step that ends the episode is left out: it was taken",
    "whole": "the discount is gamma^L: of this chunk only k actions were taken",
    "k is L": "steps after the episode's end are counted as taken",
    "ends twice": "`terminated` says already that nothing follows: discount is gamma^k",
    "no bootstrap": "0 where the episode was cut: V(s') still counts, by gamma^k",
    "cut runs on": "`truncated` ends an episode as well: the sum must stop there",
    "starts again": "it goes on two rows after the end: who is done stays done",
    "anybody": "one episode's end stops all environments: each has its own",
}
"""Mistake -> what to say of it."""


@dataclass(frozen=True)
class Case:
    """The steps of a chunk `[L, N]`, and what it came to, rightly or with a mistake."""

    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    gamma: float = 0.5

    def ask(self, answer: Any) -> dict[str, Any]:
        """What the answer says, by name; it gets copies, so that it can spoil nothing.

        Raises:
            Wrong: If that are not three results.
        """
        parts = self.reward, self.terminated, self.truncated
        return _named(answer.chunk_sums(*(of.clone() for of in parts), self.gamma))

    def expect(self, answer: Any, part: str, *mistakes: str) -> None:
        """Compare a part of the answer with what is right, and with known mistakes."""
        known = {HINTS[name]: self.sums(name)[part] for name in mistakes}
        got, want = self.ask(answer)[part], self.sums()[part]
        expect_close(got, want, named=part, mistakes=known)

    def sums(self, mistake: str = "") -> dict[str, Tensor]:
        """What the chunks came to, with or without one mistake."""
        counts, length = self.counted(mistake), len(self.reward)
        power = torch.arange(length).float().unsqueeze(1)
        powers = {
            "plain": 0 * power,
            "flat": power.clamp(max=1),
            "backwards": power.flip(0),
            "frozen": power.minimum(counts.sum(0)),
            "starts again": counts.cumsum(0) - 1.0,
        }
        power = powers.get(mistake, power)
        power = power + int(mistake == "late")
        everything = mistake in ("after end", "frozen")
        paid = torch.ones_like(counts) if everything else counts
        k = counts.sum(0)
        exponent = {"one step": k.clamp(max=1), "whole": 0 * k + length}
        exponent = exponent.get(mistake, k - int(mistake == "one less"))
        zero = {"ends twice": self.terminated, "no bootstrap": self.truncated}
        nothing = (zero.get(mistake, 0 * counts) * counts).any(0)
        total = (self.gamma**power * self.reward * paid).sum(0)
        discount = (self.gamma ** exponent.float()).where(~nothing, 0.0)
        return {"reward": total, "discount": discount, "num_steps": k}

    def counted(self, mistake: str) -> Tensor:
        """Which steps are of the episode that the chunk began in, bool `[L, N]`."""
        ended = self.terminated | self.truncated
        if mistake == "cut runs on":
            ended = self.terminated
        if mistake == "k is L":
            ended = torch.zeros_like(ended)
        if mistake == "anybody":
            ended = ended.any(1, keepdim=True).expand_as(ended)
        before = torch.zeros_like(ended)
        before[1:] = ended[:-1]
        if mistake == "starts again":
            return ~before
        past = ended if mistake == "to the end" else before
        return past.cumsum(0) == 0


def rewards(answer: Any) -> None:
    """Within a chunk the reward r_i counts gamma^i: the first as it is."""
    _chunk().expect(answer, "reward", "plain", "late", "flat", "backwards")


def what_follows(answer: Any) -> None:
    """What comes after k steps counts gamma^k."""
    _chunk().expect(answer, "discount", "one step", "one less")
    _chunk().expect(answer, "num_steps")


def the_end(answer: Any) -> None:
    """The step that ends an episode counts, and no step after it does."""
    case = _chunk(terminated=[1])
    others = "after end", "frozen", "starts again"
    case.expect(answer, "reward", "to the end", *others)
    case.expect(answer, "num_steps", "k is L")


def after_the_end(answer: Any) -> None:
    """After an episode that ended in mid-chunk, too, the discount is gamma^k."""
    case = _chunk(terminated=[1])
    case.expect(answer, "discount", "whole", "one less", "ends twice")


def a_cut(answer: Any) -> None:
    """An episode that was cut is over, and what would have followed counts gamma^k."""
    case = _chunk(truncated=[2])
    case.expect(answer, "reward", "cut runs on", "after end")
    case.expect(answer, "discount", "no bootstrap", "whole")


def nobody_sees(answer: Any) -> None:
    """Whoever is done stays done, whatever the rows below say."""
    _chunk(terminated=[0], truncated=[2]).expect(answer, "reward", "starts again")
    _chunk(terminated=[0, 2]).expect(answer, "num_steps", "starts again")


def environments(answer: Any) -> None:
    """Environments side by side do not touch each other."""
    generator = torch.Generator().manual_seed(16)
    reward = torch.randn(5, 7, generator=generator)
    terminated, truncated = torch.rand(2, 5, 7, generator=generator) < 0.15
    case = Case(reward, terminated, truncated & ~terminated, gamma=0.9)
    case.expect(answer, "reward", "anybody", "after end")
    case.expect(answer, "discount", "anybody", "whole")
    case.expect(answer, "num_steps", "anybody", "k is L")


def whole_episodes(answer: Any) -> None:
    """Chunk by chunk an episode's return is what it is step by step."""
    reward, gamma, total, weight = torch.arange(1.0, 8.0), 0.5, 0.0, 1.0
    ended = torch.zeros(8, dtype=torch.bool)
    ended[6] = True  # the last chunk has a row that is another episode's
    rows = torch.cat([reward, torch.tensor([100.0])])
    for start in (0, 4):
        chunk = slice(start, start + 4)
        parts = (rows[chunk, None], ended[chunk, None], 0 * ended[chunk, None] > 0)
        sums = Case(*parts, gamma=gamma).ask(answer)
        total += weight * float(sums["reward"])
        weight *= float(sums["discount"])
    want = float((gamma ** torch.arange(7) * reward).sum())
    expect_close(total, want, named="R_1 + gamma^4 R_2")
    expect_close(weight, gamma**7, named="both discounts together")


def arguments(answer: Any) -> None:
    """The arguments stay as they were."""
    case = _chunk(terminated=[1], truncated=[3])
    names = ("reward", "terminated", "truncated")
    given = {name: getattr(case, name).clone() for name in names}
    answer.chunk_sums(*given.values(), case.gamma)
    for name, part in given.items():
        hint = "the argument was changed in place: work on a copy"
        expect_close(part, getattr(case, name), named=name, hint=hint)


def training(answer: Any) -> None:
    """PPO that uses it collects chunks with the library's own sums."""
    seen: list[Tensor] = []

    class Chunks(answer.Chunks):
        def advance(self, actions: Any) -> Any:
            step, steps = super().advance(actions), self.noted.steps
            columns = ("reward", "terminated", "truncated")
            rows = [torch.stack([getattr(of, k) for of in steps]) for k in columns]
            want = Case(*rows, gamma=self.gamma).sums()
            for name in PARTS:
                expect_close(step.info[name], want[name], named=name)
            seen.append(step.ended & (want["num_steps"] < self.length))
            return step

    class Trainer(answer.Trainer):
        def wrap_envs(self, envs: Any) -> Any:
            return Chunks(envs, self.config.chunk_length, self.config.gamma)

    fields = {"chunk_length": 4, "num_steps": 16, "total_steps": 128, "eval_every": 0}
    with Trainer(answer.config(**fields), model=ppo.Model) as trainer:
        for _ in trainer():
            pass
    expect(bool(torch.stack(seen).any()), "no episode ended in mid-chunk")


def _named(sums: Any) -> dict[str, Any]:
    """Three results by their names."""
    three = isinstance(sums, tuple) and len(sums) == 3
    hint = "return reward, discount and num_steps, in this order"
    expect(three, f"chunk_sums returns {type(sums).__name__}, expected three", hint)
    return dict(zip(PARTS, sums, strict=True))


def _chunk(
    terminated: list[int] | None = None, truncated: list[int] | None = None
) -> Case:
    """Four steps of one environment; an episode may end or be cut at some of them."""
    reward = torch.tensor([[1.0], [3.0], [2.0], [6.0]])
    flags = torch.zeros(2, 4, 1, dtype=torch.bool)
    for flag, steps in zip(flags, (terminated or [], truncated or []), strict=True):
        flag[steps] = True
    return Case(reward, flags[0], flags[1])
