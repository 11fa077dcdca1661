"""What holds of PPO's policy loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.exercises.comparing import expect, expect_close

HINTS = {
    "sign": "the sign is missing: an objective is maximised, a loss is minimised",
    "sum": "the transitions are added up: their mean is needed",
    "unscaled": "advantages count as they are: centre and scale this minibatch's",
    "uncentred": "the mean of the advantages is not subtracted",
    "only centred": "advantages are not divided by their standard deviation",
    "variance": "advantages are divided by their variance, not by its root",
    "inverted": "the ratio is upside down: probability now over probability then",
    "no exp": "a difference of logarithms is the ratio's logarithm: take its exp",
    "quotient": "logarithms are divided: subtract them, and take exp",
    "a2c": "there is no ratio: this is the loss of A2C",
    "no clip": "nothing is clipped: the ratio gains without an end",
    "clip alone": "the minimum is missing: who went the wrong way has no way back",
    "maximum": "the larger of the two counts: it must be the smaller",
    "min of ratios": "the minimum is taken of ratios: a negative advantage turns it",
    "min of means": "the minimum is taken of two means: it is taken of each transition",
    "mean of the rest": "clipped transitions are left out of the mean: they count",
    "clipped log": "the logarithm of the ratio is clipped, not the ratio",
    "from zero": "the ratio is clipped around 0: the interval is around 1",
    "recomputed": "the ratio is always 1: data['log_prob'] is what was stored then",
}
"""Mistake -> what to say of it."""
SCALES: dict[str, Callable[[Tensor], Tensor]] = {
    "unscaled": lambda a: a,
    "uncentred": lambda a: a / a.std(),
    "only centred": lambda a: a - a.mean(),
    "variance": lambda a: (a - a.mean()) / a.var(),
}
"""Mistake -> advantages with it."""


class Case(NamedTuple):
    """A minibatch `[B]`, and what its loss is, rightly or with a known mistake."""

    ratio: Tensor
    old: Tensor  # log-probabilities
    advantage: Tensor
    epsilon: float = 0.2

    @property
    def now(self) -> Tensor:
        """Log-probabilities of the policy that learns."""
        return self.old + self.ratio.log()

    def ask(self, answer: Any) -> Any:
        """What the answer says."""
        return answer.policy_loss(self.now, self.old, self.advantage, self.epsilon)

    def loss_of(self, now: Tensor) -> Tensor:
        """The right loss, with a gradient to log-probabilities `[B]`."""
        return self._replace(ratio=(now - self.old).exp()).loss()

    def loss(self, mistake: str = "") -> Tensor:
        """The loss, 0-dim, with or without one mistake."""
        a = self.advantage
        a = SCALES[mistake](a) if mistake in SCALES else (a - a.mean()) / a.std()
        objective = self.objective(mistake, a)
        if mistake == "mean of the rest":
            objective = objective[(self.ratio - 1).abs() <= self.epsilon]
        if mistake == "sum":
            return -objective.sum()
        return objective.mean() if mistake == "sign" else -objective.mean()

    def objective(self, mistake: str, a: Tensor) -> Tensor:
        """What each transition adds to the objective, `[B]`, with advantages `[B]`."""
        ratio = self.moved(mistake)
        if mistake in ("no clip", "a2c"):
            return ratio * a
        low, high = 1 - self.epsilon, 1 + self.epsilon
        clipped = ratio.clamp(low, high)
        if mistake == "clipped log":
            clipped = ratio.log().clamp(-self.epsilon, self.epsilon).exp()
        if mistake == "from zero":
            clipped = ratio.clamp(-self.epsilon, self.epsilon)
        plain, limited = ratio * a, clipped * a
        chosen = {
            "clip alone": limited,
            "maximum": torch.maximum(plain, limited),
            "min of ratios": torch.minimum(ratio, clipped) * a,
            "min of means": torch.minimum(plain.mean(), limited.mean()),
        }
        return chosen.get(mistake, torch.minimum(plain, limited))

    def moved(self, mistake: str) -> Tensor:
        """What is taken for the ratio, `[B]`."""
        wrong = {
            "inverted": 1 / self.ratio,
            "no exp": self.ratio.log(),
            "quotient": self.now / self.old,
            "a2c": self.now,
        }
        return wrong.get(mistake, self.ratio)


def inside(answer: Any) -> None:
    """Within the interval it is minus the mean of ratio times normalised advantage."""
    mistakes = "sign", "sum", "unscaled", "uncentred", "only centred", "variance"
    mistakes += "inverted", "no exp", "quotient", "a2c", "from zero"
    _expect(answer, [_case(1.15, 0.9, 1.05, 0.85, 1.1, 0.95)], *mistakes)


def alike(answer: Any) -> None:
    """Where all advantages are alike it is 0, and not NaN."""
    case = _case(1.1, 0.9, 1.0, 0.8, 1.3, 1.0)
    loss = case._replace(advantage=torch.full((6,), 2.0)).ask(answer)
    hint = "add 1e-8 to the standard deviation, which may be 0"
    expect_close(loss, torch.tensor(0.0), named="loss", hint=hint)


def smaller(answer: Any) -> None:
    """Of plain and clipped objective the smaller one counts, for each transition."""
    gained, lost = MIXED, _case(0.5, 1.8, 1.7, 0.4, 1.1, 0.9)
    mistakes = "no clip", "clip alone", "maximum", "min of ratios", "min of means"
    mistakes += "clipped log", "mean of the rest"
    _expect(answer, [gained, lost], *mistakes)


def gradient(answer: Any) -> None:
    """Who gained enough gets no gradient; who went the wrong way is brought back."""
    case = MIXED
    now, right = (case.now.requires_grad_() for _ in range(2))
    loss = answer.policy_loss(now, case.old, case.advantage, case.epsilon)
    expect(
        loss.requires_grad,
        "the loss has no gradient",
        "log_prob is detached: it is what learns, and the others are constants",
    )
    loss.backward()
    case.loss_of(right).backward()
    hint = "it is 0 for who has gained enough, and -ratio advantage / B for the others"
    expect_close(now.grad, right.grad, named="gradient", hint=hint)


def constants(answer: Any) -> None:
    """Old log-probabilities and advantages are constants, and stay as they were."""
    case = MIXED
    now, old, advantage = case.now, case.old.clone(), case.advantage.clone()
    answer.policy_loss(now, old, advantage, case.epsilon)
    hint = "the argument was changed in place: work on a copy"
    expect_close(old, case.old, named="old_log_prob", hint=hint)
    expect_close(advantage, case.advantage, named="advantage", hint=hint)
    for part in (now, old, advantage):
        part.requires_grad_()
    answer.policy_loss(now, old, advantage, case.epsilon).backward()
    for name, part in (("old_log_prob", old), ("advantage", advantage)):
        expect(
            part.grad is None or not part.grad.any(),
            f"{name} gets a gradient",
            f"detach {name}: it belongs to the rollout, and nothing of it learns here",
        )


def training(answer: Any) -> None:
    """PPO that uses it has the library's own loss on every minibatch."""

    class Algorithm(answer.Algorithm):
        def surrogate(self, data: TensorDict, log_prob: Tensor) -> Any:
            got, logs = super().surrogate(data, log_prob)
            want, _ = ppo.Algorithm.surrogate(self, data, log_prob)
            unmoved = self.policy_loss(torch.ones_like(log_prob), data["advantage"])
            known = (
                {}
                if torch.isclose(unmoved, want, atol=1e-3)
                else {"recomputed": unmoved}
            )
            mistakes = {HINTS[name]: value for name, value in known.items()}
            expect_close(got, want, named="loss", mistakes=mistakes)
            return got, logs

    class Trainer(answer.Trainer):
        algorithm_class = Algorithm

    config = ppo.Config(
        total_steps=128,
        num_envs=2,
        num_steps=32,
        num_minibatches=2,
        learning_rate=0.01,
        hidden_sizes=(16,),
        eval_every=0,
        seed=10,
    )
    for _ in Trainer(config)():
        pass


def _expect(answer: Any, cases: list[Case], *mistakes: str) -> None:
    """Compare the answer's losses with what is right, and with what mistakes give."""
    got = [case.ask(answer) for case in cases]
    losses = {name: torch.stack([of.loss(name) for of in cases]) for name in mistakes}
    right = torch.stack([case.loss() for case in cases])
    known = {HINTS[name]: loss for name, loss in losses.items()}
    for loss, case in zip(got, cases, strict=True):  # it may be anything
        if not isinstance(loss, Tensor) or loss.shape != ():
            expect_close(loss, case.loss(), named="loss")
    expect_close(torch.stack(got), right, named="loss", mistakes=known)


def _case(*ratio: float) -> Case:
    """Six transitions: good, bad, bad, good, good, bad."""
    old = torch.tensor([-0.5, -1.0, -2.0, -0.25, -1.5, -0.75])
    advantage = torch.tensor([7.0, 1.0, 2.0, 4.5, 5.0, 3.0])
    return Case(torch.tensor(ratio), old, advantage)


MIXED = _case(1.6, 0.5, 1.7, 0.4, 1.1, 0.9)
"""Ratios outside of the interval in the direction that pays, and in the other."""
