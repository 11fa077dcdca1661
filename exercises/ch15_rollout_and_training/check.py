"""What holds of V-trace, and of PPO beside a collector in the background."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import appo
from yieldrl.exercises.cases import Chapter, flags
from yieldrl.exercises.training import logged, trainer_class


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
    """Arguments of `vtrace`: one step in four environments."""
    steps = _steps((0.3, 2.5, 1.4, 0.8), rho_bar=2.0)
    tensors = [of[-1:].expand(1, 4) for of in steps[2:7]]
    return [steps[0].T, steps[1].T, *tensors, *steps[7:]]


def _side_by_side() -> list[Any]:
    numbers = torch.randn(7, 6, 3, generator=torch.Generator().manual_seed(15))
    return [*numbers[:5], *(numbers[5:] > 0.8), 0.9, 0.8, 1.0, 1.0]


def stale(answer: Any) -> Tensor:
    """The advantages of a rollout of older weights."""
    trainer = trainer_class(answer.Algorithm)(_config(collection="sync"))
    algorithm, trainer.agent.records_log_prob = trainer.algorithm, True
    seen = trainer.collector.collect(16)
    rollout = seen.exclude("value", "advantage", "returns", "entropy")
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in algorithm.model.actor.parameters():  # as if it had learned
            p.add_(torch.randn(p.shape, generator=generator), alpha=0.3)
    algorithm.prepare(rollout)
    return rollout["advantage"]


def background(answer: Any) -> None:
    """PPO that collects in the background learns from what comes of it."""
    logged(trainer_class(answer.Algorithm)(_config(collection="async")))


def _config(**settings: Any) -> appo.Config:
    settings |= {"total_steps": 128, "num_envs": 2, "num_steps": 16, "eval_every": 0}
    settings |= {"num_minibatches": 2, "learning_rate": 0.01, "hidden_sizes": (16,)}
    return appo.Config(**settings, seed=15)


LARGE = (0.5, 3.0, 0.8, 2.5)
FADING = (0.5, 1.5, 0.8, 1.0)
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "vtrace",
    "Where the policy that acted is the one that learns, it is GAE, and v is A + V",
    _steps([1.0] * 4),
    "A step counts by its probability now over then, and at most rho_bar times",
    _last_step(),
    "What follows a step is passed back to the target by c, at most c_bar times",
    _steps(LARGE, rho_bar=2.0),
    "A terminated step has no future, and nothing is passed back through it",
    _steps(FADING, terminated=[1]),
    "A truncated step passes nothing back, and still has V(s') for its future",
    _steps(FADING, truncated=[1]),
    "Environments side by side do not touch each other",
    _side_by_side(),
    named=("advantage", "target"),
)
CHAPTER.constant(
    "Neither result has a gradient, and the arguments stay as they were",
    ("vtrace", _steps(LARGE)),
    of=range(5),
    hint="detach: a ratio, a value or a log_prob brings its gradient along",
)
CHAPTER.same(
    stale,
    "PPO that uses it corrects a rollout of older weights as the library's own",
    (),
    named="advantage",
)
CHAPTER.holds(background)
