"""Records what passes between a trainer's parts, for chapter 5's first figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor


class Recorder:
    """Records the latest arguments and results of some methods of a trainer's parts.

    Attributes:
        seen: Name -> the latest that was recorded.
    """

    def __init__(self, trainer: Any) -> None:
        self.seen: dict[str, Any] = {}
        agent, border = trainer.agent, trainer.agent.border
        self._record(border, "to_tensors", "obs", "tensor")
        self._record(border, "like_input", "chosen", "action")
        self._record(trainer.algorithm.model, "value", "asked", "q_value")
        self._record(trainer.collector.stepper, "step", "done", "step")
        self._record(trainer.buffer, "add", "row", "added")
        self._record(agent, "learn", "batch", "logs")

    def _record(self, owner: Any, method: str, came: str, went: str) -> None:
        """Replace a method by one that also records."""
        inside = getattr(owner, method)

        def recorded(data: Any, *rest: Any, **options: Any) -> Any:
            self.seen[came] = copied(data)
            result = inside(data, *rest, **options)
            self.seen[went] = copied(result)
            return result

        setattr(owner, method, recorded)


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
        What was recorded in its step (see `Recorder`); `batch`, the first that holds
        it; `at`, its place there; and the `log` that followed.
    """
    recorder = Recorder(trainer)
    mine: dict[str, Any] = {}
    for log in trainer():
        if log["log_type"] == "collect" and not mine:
            if log["logs"].get("episode_return", 0) > 0 and "q_value" in recorder.seen:
                mine = dict(recorder.seen)
        elif log["log_type"] == "train" and mine:
            at = place(recorder.seen["batch"], mine)
            if at is not None:
                return mine | {"batch": recorder.seen["batch"], "at": at, "log": log}
        recorder.seen.pop("q_value", None)  # learning asks the model, too
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
