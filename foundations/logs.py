"""`LogData`: the type of what every step of a training loop yields."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Logs = dict[str, Any]
"""Metric name -> a number, or a detached 0-dim tensor that is read when written."""

LogType = Literal["collect", "train", "evaluate"]


class LogData(TypedDict):
    """What every step of a trainer yields."""

    log_type: LogType  # which kind of step it was
    sample_step: int  # environment steps so far, over all environments
    learn_step: int  # gradient steps so far
    logs: Logs  # `episode_return` and `episode_length` among them
