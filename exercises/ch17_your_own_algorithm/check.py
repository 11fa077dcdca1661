"""What holds of Munchausen DQN's target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.exercises.comparing import expect, expect_close

HINTS = {
    "online": "the network that learns is asked: the target network speaks here, of"
    " the policy and of the next state",
    "online bonus": "the bonus is of the network that learns: the target network's"
    " policy is meant",
    "hard maximum": "the next state counts with its best action: its soft value is"
    " meant, the mean over pi of Q' - tau log pi",
    "no entropy": "the soft value lacks - tau log pi",
    "entropy sign": "the sign of tau log pi is wrong: log pi is negative, and being"
    " undecided pays",
    "entropy unscaled": "log pi counts tau times in the soft value, not once",
    "no temperature": "the policy is the softmax of Q' / tau, not of Q'",
    "no bonus": "the bonus is missing: alpha tau log pi(a | s) is added to the reward",
    "bonus unscaled": "the bonus is alpha log pi: tau is missing",
    "no coef": "alpha is missing: only a share of tau log pi is added",
    "bonus sign": "the bonus has the wrong sign: it is negative, and what was unlikely"
    " costs",
    "next bonus": "the bonus speaks of the next state: it is of `obs`, in which the"
    " action was done",
    "greedy bonus": "the bonus is of the likeliest action: it is of the one taken,"
    " data['action']",
    "no clip": "the bonus is not clipped: tau log pi counts as l_0 where it is lower",
    "clip whole": "alpha tau log pi is clipped: clip tau log pi, then take alpha of it",
    "clip log": "log pi is clipped, and then scaled: clip tau log pi",
    "bootstrap": "the future ignores `terminated`: nothing follows an end",
    "cut is end": "`truncated` is taken for an end: there the soft value still counts",
    "bonus lost": "the bonus is lost where the episode ends: only the future is",
    "gamma": "the discount is that of the config: data['discount'] is each"
    " transition's, gamma^n",
}
"""Mistake -> what to say of it."""
OVERFLOW = "exp(Q / tau) is beyond all numbers: take log_softmax, which is not"
NO_GRAD = "the target has a gradient: `@torch.no_grad()`, it is a constant to the loss"
IN_PLACE = "the batch was changed in place: make new tensors"

ONLINE = torch.tensor([[0.5, 2, 1.0], [3, 1.5, 0.0], [1, 0.2, 2.2], [2, 2.5, 0.0]])
"""`Q`, four states and three actions."""
TARGET = torch.tensor([[1.0, 0, 2.0], [0.5, 1.2, 0.3], [2, 2.4, 0.9], [0, 1, 3.0]])
"""`Q'`; it prefers other actions than `Q`."""


class Table(nn.Module):
    """`Q(s, .)` as a table, in the place of a network."""

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        self.values = nn.Parameter(values.clone())

    def value(self, obs: Tensor, action: Tensor | None = None) -> Tensor:
        """`[B, A]`; with actions `[B]` their values, `[B]`."""
        rows = self.values[obs]
        return rows if action is None else rows.gather(1, action[:, None])[:, 0]


@dataclass(frozen=True)
class Case:
    """Four transitions, and what their targets are, rightly or with a mistake."""

    coef: float = 0.9
    clip: float = -100.0
    tau: float = 0.5
    scale: float = 1.0  # of all values
    terminated: tuple[int, ...] = ()
    truncated: tuple[int, ...] = ()
    discount: tuple[float, ...] = (0.8, 0.8, 0.8, 0.8)

    def batch(self) -> TensorDict:
        """New tensors `[4]`."""
        flags = torch.zeros(2, 4, dtype=torch.bool)
        flags[0, list(self.terminated)] = True
        flags[1, list(self.truncated)] = True
        return TensorDict(
            {
                "obs": torch.tensor([0, 1, 2, 3]),
                "action": torch.tensor([1, 2, 1, 0]),
                "reward": torch.tensor([1.0, -0.5, 2.0, 0.25]),
                "next_obs": torch.tensor([1, 2, 3, 0]),
                "discount": torch.tensor(self.discount),
                "terminated": flags[0],
                "truncated": flags[1],
            },
            [4],
        )

    def algorithm(self, answer: Any) -> Any:
        """The answer's, with tables for networks."""
        config = answer.Config(
            temperature=self.tau,
            munchausen_coef=self.coef,
            munchausen_clip=self.clip,
            gamma=0.8,
            device="cpu",
            speed="eager",
        )
        algorithm = answer.Algorithm(cast("Any", Table(self.scale * ONLINE)), config)
        with torch.no_grad():
            algorithm.target_model.values.copy_(self.scale * TARGET)
        return algorithm

    def expect(self, answer: Any, *mistakes: str, hint: str = "") -> None:
        """Compare the answer's target with what is right, and what mistakes give."""
        got = self.algorithm(answer).td_target(self.batch())
        if isinstance(got, Tensor):
            got = got.detach()
        known = {HINTS[mistake]: self.target(mistake) for mistake in mistakes}
        right = self.target()
        expect_close(got, right, named="td_target", mistakes=known, hint=hint)

    def target(self, mistake: str = "") -> Tensor:
        """Targets `[4]`, with or without one mistake."""
        data = self.batch()
        stops = data["terminated"] & (mistake != "bootstrap")
        if mistake == "cut is end":
            stops = stops | data["truncated"]
        bonus = self.bonus(mistake, data)
        if mistake == "bonus lost":
            bonus = bonus * ~stops
        discount = 0.8 if mistake == "gamma" else data["discount"]
        return data["reward"] + bonus + discount * self.soft(mistake) * ~stops

    def soft(self, mistake: str) -> Tensor:
        """Soft values of the next states, `[4]`."""
        q_value = self.scale * (ONLINE if mistake == "online" else TARGET)
        q_value = q_value[self.batch()["next_obs"]]
        tau = 1.0 if mistake == "no temperature" else self.tau
        log_policy = (q_value / tau).log_softmax(1)
        scales = {"no entropy": 0.0, "entropy sign": -tau, "entropy unscaled": 1.0}
        soft = q_value - scales.get(mistake, self.tau) * log_policy
        if mistake == "hard maximum":
            return q_value.amax(1)
        return (log_policy.exp() * soft).sum(1)

    def bonus(self, mistake: str, data: TensorDict) -> Tensor:
        """What is added to the reward, `[4]`."""
        tables = {"online": ONLINE, "online bonus": ONLINE}
        rows = data["next_obs" if mistake == "next bonus" else "obs"]
        tau = 1.0 if mistake == "no temperature" else self.tau
        scaled = self.scale * tables.get(mistake, TARGET)[rows] / tau
        taken = scaled.log_softmax(1).gather(1, data["action"][:, None])[:, 0]
        if mistake == "greedy bonus":
            taken = scaled.log_softmax(1).amax(1)
        coefs = {"no bonus": 0.0, "no coef": 1.0, "bonus sign": -self.coef}
        coef = coefs.get(mistake, self.coef)
        if mistake == "clip whole":
            return (coef * self.tau * taken).clamp(min=self.clip)
        if mistake == "clip log":
            return coef * self.tau * taken.clamp(min=self.clip)
        lowest = -math.inf if mistake == "no clip" else self.clip
        scale = 1.0 if mistake == "bonus unscaled" else self.tau
        return coef * (scale * taken).clamp(min=lowest)


def soft_value(answer: Any) -> None:
    """Without a bonus it is reward and discounted soft value of the next state."""
    mistakes = "online", "hard maximum", "no entropy", "entropy sign", "no coef"
    Case(coef=0.0).expect(answer, *mistakes, "entropy unscaled", "no temperature")


def bonus(answer: Any) -> None:
    """The bonus is alpha tau log pi(a | s), of the action that was taken."""
    mistakes = "no bonus", "bonus unscaled", "no coef", "bonus sign"
    others = "online bonus", "next bonus", "greedy bonus"
    Case().expect(answer, *mistakes, *others)


def clipping(answer: Any) -> None:
    """Where tau log pi is below l_0, l_0 counts, and alpha of it is taken."""
    Case(clip=-0.8).expect(answer, "no clip", "clip whole", "clip log")


def ends(answer: Any) -> None:
    """Only a termination ends the future, and the bonus stays."""
    case = Case(terminated=(1, 3), truncated=(0,))
    case.expect(answer, "bootstrap", "cut is end", "bonus lost")


def discounts(answer: Any) -> None:
    """What follows is discounted as the transition says: after n steps by gamma^n."""
    Case(discount=(0.8, 0.64, 0.512, 0.8)).expect(answer, "gamma")


def large_values(answer: Any) -> None:
    """Values of hundreds and the paper's temperature give finite numbers."""
    case = Case(tau=0.03, clip=-1.0, scale=200.0)
    case.expect(answer, "no clip", hint=OVERFLOW)


def constant(answer: Any) -> None:
    """The target is a constant to the loss, and the batch stays as it was."""
    case = Case()
    data, algorithm = case.batch(), case.algorithm(answer)
    algorithm.target_model.values.requires_grad_()
    expect(not algorithm.td_target(data).requires_grad, "it has a gradient", NO_GRAD)
    for name, was in case.batch().items():
        expect_close(data[name], was, named=f"data[{name!r}]", hint=IN_PLACE)


def learned(answer: Any) -> None:
    """It learns what a world of two like actions is worth to it, which is known."""

    class Trainer(answer.Trainer):
        algorithm_class = answer.Algorithm

    gamma, alpha, tau = 0.5, 0.9, 0.5
    config = answer.Config(
        env_id="yieldrl/ProbeCut-v1",
        gamma=gamma,
        munchausen_coef=alpha,
        temperature=tau,
        total_steps=500,
        learning_starts=50,
        train_every=1,
        batch_size=32,
        tau=0.05,
        learning_rate=0.01,
        hidden_sizes=(16,),
        eval_every=0,
        device="cpu",
        speed="eager",
        seed=17,
    )
    with Trainer(config) as trainer:
        for _ in trainer():
            pass
        found = trainer.model.value(torch.zeros(1, 1)).mean()
    worth = (1 + (gamma - alpha) * tau * math.log(2)) / (1 - gamma)
    expect_close(float(found.detach()), worth, named="value", tolerance=0.03)
