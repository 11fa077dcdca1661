"""Learning rates of optimizers: annealed by a schedule, or set by hand."""

from collections.abc import Iterable
from typing import Any

from tensordict import TensorDict

from yieldrl.core.ranks import ranks


def set_by_hand(
    groups: Iterable[dict[str, Any]], before: float, learning_rate: float
) -> None:
    """Set the learning rate of parameter groups, which no schedule changes from now on.

    Args:
        groups: Parameter groups of optimizers. Those with a rate of their own keep
            their ratio to `before`.
        before: The rate until now.
        learning_rate: The rate from the next step on.
    """
    for group in groups:
        same = group["lr"] == before or before == 0.0
        group["lr"] = learning_rate if same else learning_rate * group["lr"] / before
        group["scheduled_lr"] = None


def anneal(groups: Iterable[dict[str, Any]], fraction_done: float) -> None:
    """Let learning rates fall linearly to zero, unless they were set by hand.

    That is where one is no longer what was scheduled last, `scheduled_lr` of the
    parameter group, which fell from `initial_lr`.
    """
    for group in groups:
        start = group.setdefault("initial_lr", group["lr"])
        if group["lr"] == group.get("scheduled_lr", start):
            group["scheduled_lr"] = start * max(0.0, 1.0 - fraction_done)
            group["lr"] = group["scheduled_lr"]


def anneal_before(algorithm: Any, rollout: TensorDict) -> None:
    """Set the learning rate for a rollout `[T, N]`, if the config anneals it.

    RuntimeError if it would be zero: `total_steps` were taken before the rollout.
    """
    config = algorithm.config
    if not getattr(config, "anneal_learning_rate", False):
        return
    before = algorithm.counters.sample_step - rollout.numel() * ranks().count
    if before >= config.total_steps:
        raise RuntimeError(
            f"the learning rate falls to zero at total_steps = {config.total_steps} and"
            f" {before} steps were taken before this rollout, which would teach"
            " nothing: give the config as many total_steps as your loop takes, or"
            " anneal_learning_rate=False (save() and load(path, config=...) keep what"
            " was learned)"
        )
    algorithm.anneal(max(0, before) / config.total_steps)
