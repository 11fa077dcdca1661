"""What chapter 5's first figure shows: borders, watched while the library trains."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor


class Watch:
    """Writes down what passes the borders of a trainer, the latest at each.

    Attributes:
        seen: Name of the border -> what passed it.
    """

    def __init__(self, trainer: Any) -> None:
        self.seen: dict[str, Any] = {}
        agent, border = trainer.agent, trainer.agent.border
        self._watch(border, "to_tensors", "obs", "tensor")
        self._watch(border, "like_input", "chosen", "action")
        self._watch(trainer.algorithm.model, "value", "asked", "q_value")
        self._watch(trainer.collector.stepper, "step", "done", "step")
        self._watch(trainer.buffer, "add", "row", "added")
        self._watch(agent, "learn", "batch", "logs")

    def _watch(self, owner: Any, method: str, came: str, went: str) -> None:
        """Put in the place of a method one that also writes down."""
        inside = getattr(owner, method)

        def watched(data: Any, *rest: Any, **options: Any) -> Any:
            self.seen[came] = copied(data)
            result = inside(data, *rest, **options)
            self.seen[went] = copied(result)
            return result

        setattr(owner, method, watched)


def copied(data: Any) -> Any:
    """What is not written over later."""
    if isinstance(data, Tensor | TensorDict):
        return data.clone()
    if isinstance(data, np.ndarray):
        return data.copy()
    if isinstance(data, dict):
        return {name: copied(part) for name, part in data.items()}
    return data


def followed(trainer: Any) -> dict[str, Any]:
    """All that was seen of the first transition that ends an episode and earns.

    Returns:
        What passed the borders in its step (see `Watch`); `batch`, the first that holds
        it; `at`, its place there; and the `log` that followed.
    """
    watch = Watch(trainer)
    mine: dict[str, Any] = {}
    for log in trainer():
        if log["log_type"] == "collect" and not mine:
            if log["logs"].get("episode_return", 0) > 0 and "q_value" in watch.seen:
                mine = dict(watch.seen)
        elif log["log_type"] == "train" and mine:
            at = place(watch.seen["batch"], mine)
            if at is not None:
                return mine | {"batch": watch.seen["batch"], "at": at, "log": log}
        watch.seen.pop("q_value", None)  # learning asks the model, too
    raise RuntimeError("no batch held the transition: train for longer")


def ending(row: dict[str, Any]) -> int:
    """Which environment's episode ended in a row, and with a reward."""
    return int(np.flatnonzero(row["terminated"] & (row["reward"] > 0))[0])


def place(batch: TensorDict, mine: dict[str, Any]) -> int | None:
    """Where in a batch the transition is, if it is there."""
    row = mine["row"]
    n = ending(row)
    same = torch.ones(len(batch), dtype=torch.bool)
    for name in ("obs", "next_obs", "action"):
        of = torch.as_tensor(np.asarray(row[name])[n])
        same &= (batch[name] == of).reshape(len(batch), -1).all(1)
    return int(same.nonzero()[0]) if same.any() else None
