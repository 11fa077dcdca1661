"""What holds of V-trace, and of PPO beside a collector in the background."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.exercises.ch15_rollout_and_training.cases import HINTS, Case, case, rows
from yieldrl.exercises.comparing import expect, expect_close

NAMES = "advantage", "target"


def fresh(answer: Any) -> None:
    """Where the policy that acted is the one that learns, it is GAE, and v is A + V."""
    mistakes = "no exp", "no gamma", "no lambda", "forwards", "own delta"
    mistakes += "no baseline", "no future"
    _expect(answer, case(1.0, 1.0, 1.0, 1.0), *mistakes)


def weighed(answer: Any) -> None:
    """A step counts by its probability now over then, and at most rho_bar times."""
    mistakes = "upside down", "always 1", "no limit", "both sides", "from below"
    mistakes += "unweighted", "c for rho"
    wide = case(0.3, 2.5, 1.4, 0.8).last(1, by=rows(0.3, 2.5, 1.4, 0.8).T)
    _expect(answer, wide._replace(rho_bar=2.0), *mistakes)


def passed_back(answer: Any) -> None:
    """What follows a step is passed back to the target by c, at most c_bar times."""
    mistakes = "rho for c", "c without limit", "c for rho", "difference", "c twice"
    mistakes += "no c", "own delta"
    _expect(answer, case(0.5, 3.0, 0.8, 2.5)._replace(rho_bar=2.0), *mistakes)


def terminated(answer: Any) -> None:
    """A terminated step has no future, and nothing is passed back through it."""
    ended = case(0.5, 1.5, 0.8, 1.0)._replace(terminated=rows(0, 1, 0, 0) > 0)
    _expect(answer, ended, "bootstrap", "through end")


def truncated(answer: Any) -> None:
    """A truncated step passes nothing back, and still has V(s') for its future."""
    cut = case(0.5, 1.5, 0.8, 1.0)._replace(truncated=rows(0, 1, 0, 0) > 0)
    _expect(answer, cut, "cut is end", "through cut")


def side_by_side(answer: Any) -> None:
    """Environments side by side do not touch each other."""
    generator = torch.Generator().manual_seed(15)
    one = case(1.0, 1.0, 1.0, 1.0)
    names = one._fields[:7]
    drawn = {name: torch.randn(6, 3, generator=generator) for name in names}
    for name in ("terminated", "truncated"):
        drawn[name] = drawn[name] > 0.8
    _expect(answer, one._replace(**drawn), "across")


def constants(answer: Any) -> None:
    """Neither result has a gradient, and the arguments stay as they were."""
    one = case(0.5, 3.0, 0.8, 2.5)
    given = one.tensors()
    one.ask(answer, given)
    hint = "the argument was changed in place: work on a copy"
    for name, part, before in zip(one._fields, given, one.tensors(), strict=False):
        expect_close(part, before, named=name, hint=hint)
    for part in given[:5]:
        part.requires_grad_()
    hint = "detach: a ratio, a value or a log_prob brings its gradient along"
    for name, found in zip(NAMES, _pair(one.ask(answer, given)), strict=True):
        expect(not found.requires_grad, f"{name} has a gradient", hint)


def stale(answer: Any) -> None:
    """PPO that uses it corrects a rollout of older weights as the library's own."""
    with answer.Trainer(_config()) as trainer:
        algorithm, agent = trainer.algorithm, trainer.agent
        agent.records_policy = True
        seen = trainer.collector.collect(16)
        rollout = seen.exclude("value", "advantage", "returns", "entropy")
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for p in algorithm.model.actor.parameters():  # as if it had learned
                p.add_(torch.randn(p.shape, generator=generator), alpha=0.3)
        algorithm.prepare(rollout)
        with torch.no_grad():
            now = algorithm.remember_policy(rollout.exclude("log_prob"))
        mistakes = {
            HINTS["roles"]: _right(algorithm, rollout, rollout["log_prob"], now),
            HINTS["unread"]: _right(algorithm, rollout, now, now),
        }
        want = _right(algorithm, rollout, now, rollout["log_prob"])
        got = rollout["advantage"]
        expect_close(got, want, named="advantage", mistakes=mistakes)


def background(answer: Any) -> None:
    """PPO that collects in the background learns from it as with the library's own."""
    seen: list[Tensor] = []

    class Algorithm(answer.Algorithm):
        def advantages(self, rollout: TensorDict) -> Tensor:
            got = super().advantages(rollout)
            want = _right(self, rollout, rollout["start"], rollout["log_prob"])
            expect_close(got, want, named="advantage")
            seen.append(rollout["policy_version"])
            return got

    class Trainer(answer.Trainer):
        algorithm_class = Algorithm

    with Trainer(_config(collection="async")) as trainer:
        for _ in trainer():
            pass
    expect(len(seen) == 4, f"it learned from {len(seen)} rollouts of 4")
    behind = max(k - int(version.min()) for k, version in enumerate(seen))
    expect(behind <= 1, f"a policy {behind} updates old acted, and 1 is the limit")


def _right(algorithm: Any, rollout: TensorDict, now: Tensor, then: Tensor) -> Tensor:
    """The library's advantages, of whatever is taken for either log-probability."""
    own, rollout = algorithm.correction, rollout.copy()
    try:
        algorithm.correction = ppo.Algorithm.corrections["vtrace"](algorithm.config)
        rollout.update({"start": now, "log_prob": then})
        with torch.no_grad():
            return ppo.Algorithm.advantages(algorithm, rollout)
    finally:
        algorithm.correction = own


def _config(**settings: Any) -> ppo.Config:
    return ppo.Config(
        total_steps=128,
        num_envs=2,
        num_steps=16,
        num_minibatches=2,
        learning_rate=0.01,
        hidden_sizes=(16,),
        correction="vtrace",
        eval_every=0,
        seed=15,
        **settings,
    )


def _pair(got: Any) -> tuple[Any, Any]:
    """Two results, or what else it is."""
    two = isinstance(got, tuple) and len(got) == 2
    hint = "return advantage, target"
    expect(two, f"it returned {type(got).__name__}, expected two tensors", hint)
    return got


def _expect(answer: Any, asked: Case, *mistakes: str) -> None:
    """Compare both results with what is right, and with what mistakes give."""
    got, right = _pair(asked.ask(answer)), asked.result()
    for name, one, want in zip(NAMES, got, right, strict=True):
        if not isinstance(one, Tensor) or one.shape != want.shape:
            expect_close(one, want, named=name)
    known = {HINTS[name]: torch.stack(asked.result(name)) for name in mistakes}
    both = torch.stack(right)
    named = f"({', '.join(NAMES)})"
    expect_close(torch.stack(list(got)), both, named=named, mistakes=known)
