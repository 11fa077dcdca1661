"""What holds of the targets of TD3 and SAC."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from yieldrl.algorithms import sac, td3
from yieldrl.exercises.comparing import expect, expect_close

HINTS = {
    "noise not clipped": "the noise is not clipped: it may not exceed noise_clip",
    "action not clipped": "the sum is not clipped: an action stays in [-1, 1]",
    "sum clipped by noise_clip": "noise_clip limits the noise, not the action",
    "no noise": "the noise is not added",
    "no slope": "the correction of tanh is missing: this is the normal's density",
    "slope added": "the slope of tanh is added: its logarithm is subtracted",
    "slope at mean": "the slope is taken at the mean: it is that where u was drawn",
    "slope at action": "tanh is applied twice in the slope: it is that of tanh at u",
    "no std": "- log std is missing: a narrower normal is a higher one",
    "variance": "z is divided by the variance: (u - mean) / std",
    "no constant": "- log(2 pi) / 2 is missing, in each dimension",
    "one constant": "- log(2 pi) / 2 counts once: each dimension has one",
    "mean over D": "the mean over dimensions is taken: densities multiply, so add",
    "naive": "1 - tanh(u)^2 rounds to 0: take 2 (log 2 - u - softplus(-2 u))",
    "epsilon": "a small number inside of the logarithm is a floor for the slope",
    "max": "the maximum of the critics is taken: the lower one counts",
    "mean": "the mean of the critics is taken: the lower one counts",
    "first": "only the first critic is asked: the lower of them counts",
    "over batch": "the minimum is that of the whole batch: take it over critics",
    "no gamma": "the next value is not discounted: gamma is left out",
    "no future": "the next value is missing, or `terminated` taken for `~terminated`",
    "no entropy": "the entropy is missing: alpha log pi is not subtracted",
    "sign": "alpha log pi is added: that pays for certainty, not for entropy",
    "no alpha": "alpha is left out: it is the price at which log pi counts",
    "entropy now": "the entropy stands outside: gamma and `terminated` hold for it too",
    "bootstrap": "`terminated` is ignored: a terminated step has no future",
    "value alone ends": "after the end neither follows: `terminated` stops both terms",
    "reward lost": "`~terminated` must stop the future alone, not the reward",
    "cut is end": "`truncated` is taken for an end: there the future still counts",
}
"""Mistake -> what to say of it."""


@dataclass(frozen=True)
class Case:
    """Transitions, and what their targets are, rightly or with a known mistake."""

    reward: Tensor
    next_value: Tensor
    log_prob: Tensor
    terminated: Tensor
    truncated: Tensor
    gamma: float = 0.9
    alpha: float = 0.5

    def expect(self, answer: Any, *mistakes: str) -> None:
        """Compare the answer with what is right, and with what mistakes would give."""
        expect_close(
            answer.td_target(*self.parts(), self.gamma, self.alpha),
            self.target(),
            named="td_target",
            mistakes={HINTS[mistake]: self.target(mistake) for mistake in mistakes},
        )

    def parts(self) -> list[Tensor]:
        """Copies of all tensors, in the order of the arguments; nothing is spoilt."""
        numbers = (self.reward, self.next_value, self.log_prob)
        return [part.clone() for part in (*numbers, self.terminated, self.truncated)]

    def target(self, mistake: str = "") -> Tensor:
        """Targets `[B]`, with or without one mistake."""
        price = {"no entropy": 0.0, "sign": -self.alpha, "no alpha": 1.0}
        entropy = -price.get(mistake, self.alpha) * self.log_prob
        goes_on = ~(self.terminated & (mistake != "bootstrap"))
        if mistake == "cut is end":
            goes_on = goes_on & ~self.truncated
        gamma = 1.0 if mistake == "no gamma" else self.gamma
        value = self.critic(mistake) * (mistake != "no future")
        future = gamma * value * goes_on
        if mistake == "entropy now":
            return self.reward + future + entropy
        if mistake != "no future":
            entropy = gamma * entropy
        goes_on = goes_on | (self.terminated & (mistake == "value alone ends"))
        target = self.reward + future + entropy * goes_on * (mistake != "no future")
        return target * ~self.terminated if mistake == "reward lost" else target

    def critic(self, mistake: str) -> Tensor:
        """The lower critic `[B]`, or what may be taken for it."""
        both = self.next_value
        wrong = {
            "max": both.amax(0),
            "mean": both.mean(0),
            "first": both[0],
            "over batch": both.amin().expand(both.shape[1]),
        }
        return wrong.get(mistake, both.amin(0))


def smoothing(answer: Any) -> None:
    """The target action has noise of at most noise_clip, and stays in [-1, 1]."""
    action = torch.tensor([[0.1, -0.9], [0.8, 0.0], [-0.2, 0.6]])
    noise = torch.tensor([[0.1, -0.2], [0.7, -0.9], [0.4, -0.3]])
    limited = noise.clamp(-0.5, 0.5)
    wrong = {
        "noise not clipped": (action + noise).clamp(-1, 1),
        "action not clipped": action + limited,
        "sum clipped by noise_clip": (action + noise).clamp(-0.5, 0.5),
        "no noise": action,
    }
    expect_close(
        answer.smoothed_action(action.clone(), noise.clone(), 0.5),
        (action + limited).clamp(-1, 1),
        named="action",
        mistakes={HINTS[mistake]: values for mistake, values in wrong.items()},
    )


def density(answer: Any) -> None:
    """The density of tanh(u) is the normal's, divided by the slope of tanh at u."""
    normal = torch.tensor([[0.3], [-1.2], [0.9], [2.0]])
    mean = torch.tensor([[0.5], [-1.0], [0.0], [1.4]])
    log_std = torch.tensor([[-0.7], [0.4], [-0.2], [0.1]])
    mistakes = ("no slope", "slope added", "slope at mean", "slope at action")
    mistakes += ("no std", "variance", "no constant")
    _expect_density(answer, (normal, mean, log_std), *mistakes)


def dimensions(answer: Any) -> None:
    """The logarithms of several dimensions are added up, [B, D] to [B]."""
    generator = torch.Generator().manual_seed(11)
    normal, mean, log_std = torch.randn(3, 5, 3, generator=generator)
    parts = (normal, mean, 0.5 * log_std)
    _expect_density(answer, parts, "mean over D", "one constant", "no slope")


def saturation(answer: Any) -> None:
    """It is right for u = 20 as well, where tanh(u) rounds to 1."""
    normal = torch.tensor([[2.0], [7.0], [-12.0], [20.0]])
    parts = (normal, normal - 0.5, torch.zeros(4, 1))
    _expect_density(answer, parts, "naive", "epsilon", "no slope")


def lower_critic(answer: Any) -> None:
    """Without entropy the target is r + gamma min_i Q_i(s', a')."""
    mistakes = ("max", "mean", "first", "over batch", "no gamma", "no future")
    _steps(alpha=0.0).expect(answer, *mistakes, "no alpha")


def entropy(answer: Any) -> None:
    """With it, the future is worth alpha log pi(a'|s') less."""
    _steps().expect(answer, "no entropy", "sign", "no alpha", "entropy now")


def termination(answer: Any) -> None:
    """After a terminated step neither value nor entropy follows."""
    case = _steps(terminated=[1, 3])
    case.expect(answer, "bootstrap", "value alone ends", "reward lost", "entropy now")


def truncation(answer: Any) -> None:
    """A truncated step is no end, and is bootstrapped like any other."""
    case = _steps(terminated=[1], truncated=[0, 2])
    case.expect(answer, "cut is end", "value alone ends")


def constants(answer: Any) -> None:
    """A target is a constant to the loss, and the arguments stay as they were."""
    case = _steps(terminated=[1])
    parts, before = case.parts(), case.parts()
    parts[2].requires_grad_()
    alpha = torch.tensor(case.alpha, requires_grad=True)
    target = answer.td_target(*parts, case.gamma, alpha)
    mistakes = {HINTS[known]: case.target(known) for known in ("value alone ends",)}
    expect_close(target, case.target(), named="td_target", mistakes=mistakes)
    expect(
        not target.requires_grad,
        "the target has a gradient, of the policy and of alpha",
        "detach it: a critic follows its target, never the other way round",
    )
    names = ("reward", "next_value", "log_prob", "terminated", "truncated")
    for name, part, was in zip(names, parts, before, strict=True):
        hint = "the argument was changed in place: make a new tensor"
        expect_close(part.detach(), was, named=name, hint=hint)


def training(answer: Any) -> None:
    """TD3 and SAC that use it take the same steps as the library's own."""
    _train(answer.TD3, td3)
    _train(answer.SAC, sac)


def _expect_density(
    answer: Any, parts: tuple[Tensor, Tensor, Tensor], *mistakes: str
) -> None:
    """Compare `log pi`, `[B]`, with what is right, and with what mistakes give."""
    expect_close(
        answer.squashed_log_prob(*(part.clone() for part in parts)),
        _log_prob(*parts),
        named="log_prob",
        mistakes={HINTS[mistake]: _log_prob(*parts, mistake) for mistake in mistakes},
    )


def _log_prob(
    normal: Tensor, mean: Tensor, log_std: Tensor, mistake: str = ""
) -> Tensor:
    """Log-densities `[B]`, with or without one mistake."""
    power = 2 if mistake == "variance" else 1
    z = (normal - mean) / log_std.exp() ** power
    constant = 0.5 * math.log(2 * math.pi)
    log_normal = -0.5 * z.square() - log_std * (mistake != "no std")
    if mistake == "one constant":
        log_normal[:, 0] -= constant
    elif mistake != "no constant":
        log_normal = log_normal - constant
    at = {"slope at mean": mean, "slope at action": torch.tanh(normal)}
    u = at.get(mistake, normal)
    slope = {
        "no slope": torch.zeros_like(u),
        "naive": (1 - torch.tanh(u).square()).log(),
        "epsilon": (1 - torch.tanh(u).square() + 1e-6).log(),
    }.get(mistake, 2 * (math.log(2) - u - softplus(-2 * u)))
    log_prob = log_normal + slope if mistake == "slope added" else log_normal - slope
    return log_prob.mean(-1) if mistake == "mean over D" else log_prob.sum(-1)


def _train(answer: Any, library: Any) -> None:
    """Train briefly, and compare what both make of the same random numbers."""

    class Algorithm(answer):
        def target_action(self, data: Any) -> Tensor:
            parts = (self, data, answer.target_action, td3.Algorithm.target_action)
            return _agreed("target action", *parts)

        def td_target(self, data: Any) -> Tensor:
            parts = (self, data, answer.td_target, library.Algorithm.td_target)
            return _agreed("td_target", *parts)

    class Trainer(library.Trainer):
        algorithm_class = Algorithm

    config = library.Config(
        env_kwargs={"max_episode_steps": 10},
        num_envs=4,
        total_steps=128,
        learning_starts=96,
        batch_size=32,
        hidden_sizes=(32, 32),
        eval_every=0,
        seed=11,
    )
    for _ in Trainer(config)():
        pass


def _agreed(named: str, algorithm: Any, data: Any, answer: Any, library: Any) -> Tensor:
    """What the answer's method says, if it is what the library's says."""
    state = torch.get_rng_state()
    want = library(algorithm, data)
    torch.set_rng_state(state)
    got = answer(algorithm, data)
    expect_close(got, want, named=named)
    return got


def _steps(
    terminated: list[int] | None = None,
    truncated: list[int] | None = None,
    alpha: float = 0.5,
) -> Case:
    """Four transitions; some may end an episode, or be where it is cut."""
    flags = torch.zeros(2, 4, dtype=torch.bool)
    for flag, steps in zip(flags, (terminated or [], truncated or []), strict=True):
        flag[steps] = True
    return Case(
        reward=torch.tensor([0.5, -1.0, 2.0, 1.0]),
        next_value=torch.tensor([[3.0, 8.0, -2.0, 6.0], [5.0, 4.0, -1.0, 7.0]]),
        log_prob=torch.tensor([-0.7, 1.3, 0.4, -2.0]),
        terminated=flags[0],
        truncated=flags[1],
        alpha=alpha,
    )
