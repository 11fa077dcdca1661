"""Fit an ensemble to real transitions, until its validation error stops improving."""

from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.foundations.logs import Logs
from yieldrl.imagination.ensemble import EnsembleModel

FOLDS = 5
"""One transition in `FOLDS` is always for validation, by its `number`."""

IMPROVEMENT = 0.01
"""Share of its error by which a member must improve to count as improved."""


def split(data: TensorDict) -> tuple[TensorDict, TensorDict]:
    """Transitions `[B]` to learn from, and others to validate with.

    The split follows from `number`, so that a transition that was learned from never
    validates later. Of fewer than five, all are in both parts.
    """
    held = data["number"] % FOLDS == FOLDS - 1
    if len(data) < FOLDS or not bool(held.any()) or bool(held.all()):
        return data, data
    return data[~held], data[held]


def fit(
    world: EnsembleModel,
    data: TensorDict,
    step: Callable[[TensorDict], Any],
    *,
    batch_size: int,
    patience: int,
    max_epochs: int,
    generator: torch.Generator,
) -> Logs:
    """Learn from transitions `[B]` until `patience` epochs brought no improvement.

    Each member draws batches of its own, with replacement, and ends with the weights of
    its least validation error. Members with the least errors become the elites.

    Args:
        world: Trained on from its current weights, with new statistics.
        data: As of `ReplayBuffer.every_step`, with their `number`.
        step: Takes one gradient step on batches `[K, b]`, and returns metrics.
        batch_size: `b`.
        patience: Epochs without an improvement before it ends.
        max_epochs: Most epochs.
        generator: What batches are drawn from.

    Returns:
        `model_loss` of the last step, the elites' mean error in validation as
        `model_error`, and `model_steps`.
    """
    train, validation = split(data)
    world.fit_to(train)
    best = Best(world, world.errors(validation))
    logs: Logs = {}
    waited, epoch, batches = 0, 0, max(1, len(train) // batch_size)
    size = world.network.members, batch_size
    like: dict[str, Any] = {"generator": generator, "device": generator.device}
    while waited < patience and epoch < max_epochs:
        for _ in range(batches):
            logs = step(train[torch.randint(len(train), size, **like)])
        waited = 0 if best.keep(world.errors(validation)) else waited + 1
        epoch += 1
    best.restore()
    error = best.errors[world.elite].mean()
    return {**logs, "model_error": error, "model_steps": float(epoch * batches)}


class Best:
    """The members' weights at their least errors `[K]`."""

    def __init__(self, world: EnsembleModel, errors: Tensor) -> None:
        self.world, self.errors = world, errors
        self.now = [*world.network.parameters()]
        self.weights = [weight.detach().clone() for weight in self.now]

    @torch.no_grad()
    def keep(self, errors: Tensor) -> bool:
        """Keep members that are better now; whether any improved by `IMPROVEMENT`."""
        better = errors < self.errors
        good = bool((errors < self.errors * (1 - IMPROVEMENT)).any())
        for kept, now in zip(self.weights, self.now, strict=True):
            kept[better] = now[better]
        self.errors = torch.where(better, errors, self.errors)
        return good

    @torch.no_grad()
    def restore(self) -> None:
        """Restore these weights, and choose the elites."""
        for kept, now in zip(self.weights, self.now, strict=True):
            now.copy_(kept)
        self.world.choose_elites(self.errors)
