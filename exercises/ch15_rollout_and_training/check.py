"""What holds of V-trace, and of PPO beside a collector in the background."""

from collections.abc import Sequence
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import appo
from yieldrl.exercises.calls import flags, train
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import expect, expect_close

ROLES = (
    "`start` and `log_prob` have changed places: which policy learns, and which acted?"
)
UNREAD = "what was written down when acting is not used: rollout['log_prob']"
CONSTANT = "detach: a ratio, a value or a log_prob brings its gradient along"
WIDE = 0.3, 2.5, 1.4, 0.8


def _steps(
    ratio: Sequence[float],
    terminated: Sequence[int] = (),
    truncated: Sequence[int] = (),
    rho_bar: float = 1.0,
) -> list[Any]:
    """Arguments of `vtrace`: four steps in one environment."""
    behaviour = torch.tensor([-0.7, -1.2, -0.3, -2.0])
    log_prob = behaviour + torch.tensor(ratio).log()
    reward = torch.tensor([1.0, -2.0, 0.5, 4.0])
    value, after = torch.tensor([[2.0, -1.0, 0.5, 3.0], [-1.0, 0.5, 3.0, 1.5]])
    numbers = log_prob, behaviour, reward, value, after
    tensors = [*numbers, *flags(4, terminated, truncated)]
    return [*(of[:, None] for of in tensors), 0.9, 0.8, rho_bar, 1.0]


def _last_step() -> list[Any]:
    *tensors, gamma, gae_lambda, _, c_bar = _steps(WIDE)
    tensors = [of[-1:].expand(1, 4).clone() for of in tensors]
    tensors[0] = tensors[1] + torch.tensor([WIDE]).log()
    return [*tensors, gamma, gae_lambda, 2.0, c_bar]


def _side_by_side() -> list[Any]:
    numbers = torch.randn(7, 6, 3, generator=torch.Generator().manual_seed(15))
    return [*numbers[:5], *(numbers[5:] > 0.8), 0.9, 0.8, 1.0, 1.0]


def vtrace(answer: Any, *given: Any) -> Tensor:
    """Advantage and target, `[2, T, N]`."""
    got = answer.vtrace(*given)
    two = isinstance(got, tuple) and len(got) == 2
    message = f"it returned {type(got).__name__}, expected two tensors"
    expect(two, message, "return advantage, target")
    for name, one in zip(("advantage", "target"), got, strict=True):
        if not isinstance(one, Tensor) or one.shape != given[2].shape:
            expect_close(one, torch.zeros_like(given[2]), named=name)
    return torch.stack(list(got))


def stale(answer: Any) -> None:
    """PPO that uses it corrects a rollout of older weights as the library's own."""
    with answer.Trainer(_config(collection="sync")) as trainer:
        algorithm, agent = trainer.algorithm, trainer.agent
        agent.records_log_prob = True
        seen = trainer.collector.collect(16)
        rollout = seen.exclude("value", "advantage", "returns", "entropy")
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for p in algorithm.model.actor.parameters():  # as if it had learned
                p.add_(torch.randn(p.shape, generator=generator), alpha=0.3)
        algorithm.prepare(rollout)
        with torch.no_grad():
            now = algorithm.log_prob(rollout)
        mistakes = {
            ROLES: _right(algorithm, rollout, rollout["log_prob"], now),
            UNREAD: _right(algorithm, rollout, now, now),
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
            want = _right(self, rollout, rollout["log_prob_now"], rollout["log_prob"])
            expect_close(got, want, named="advantage")
            seen.append(rollout["policy_version"])
            return got

    class Trainer(answer.Trainer):
        algorithm_class = Algorithm

    train(Trainer(_config(collection="async")))
    expect(len(seen) == 4, f"it learned from {len(seen)} rollouts of 4")
    behind = max(k - int(version.min()) for k, version in enumerate(seen))
    expect(behind <= 1, f"a policy {behind} updates old acted, and 1 is the limit")


def _right(algorithm: Any, rollout: TensorDict, now: Tensor, then: Tensor) -> Tensor:
    whole = rollout.copy().update({"log_prob_now": now, "log_prob": then})
    reward = rollout["reward"]
    if algorithm.reward_scaler is not None:
        reward = algorithm.reward_scaler.preview(rollout)
    with torch.no_grad():
        next_value = algorithm.next_values(whole)
        return appo.Algorithm.advantage(algorithm, whole, reward, next_value)


def _config(**settings: Any) -> appo.Config:
    settings |= {"total_steps": 128, "num_envs": 2, "num_steps": 16, "eval_every": 0}
    settings |= {"num_minibatches": 2, "learning_rate": 0.01, "hidden_sizes": (16,)}
    return appo.Config(**settings, seed=15)


ONE = _steps((0.5, 3.0, 0.8, 2.5))
FADING = (0.5, 1.5, 0.8, 1.0)
CHAPTER = Chapter(__name__)
PROPERTIES = [
    *CHAPTER.same(
        vtrace,
        "Where the policy that acted is the one that learns, it is GAE, and v is A + V",
        _steps([1.0] * 4),
        "A step counts by its probability now over then, and at most rho_bar times",
        _last_step(),
        "What follows a step is passed back to the target by c, at most c_bar times",
        _steps((0.5, 3.0, 0.8, 2.5), rho_bar=2.0),
        "A terminated step has no future, and nothing is passed back through it",
        _steps(FADING, terminated=[1]),
        "A truncated step passes nothing back, and still has V(s') for its future",
        _steps(FADING, truncated=[1]),
        "Environments side by side do not touch each other",
        _side_by_side(),
        named="(advantage, target)",
    ),
    CHAPTER.constant(
        "Neither result has a gradient, and the arguments stay as they were",
        ("vtrace", ONE),
        of=range(5),
        hint=CONSTANT,
        in_place="the argument was changed in place: work on a copy",
    ),
    stale,
    background,
]
