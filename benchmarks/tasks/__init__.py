"""What `learning` trains: one entry a task, and the figures that compare several.

A task says beforehand what counts as learned. Its config is the algorithm's own, or a
tuned file that lies with it, with the fields of `config` over it.
"""

from __future__ import annotations

from typing import Any

from . import actors, policies, tables, values
from .task import Published, Reference, Task

__all__ = ["FIGURES", "TASKS", "Published", "Reference", "Task", "published_beside"]

TASKS: dict[str, Task] = {
    **policies.TASKS,
    **values.TASKS,
    **actors.TASKS,
    **tables.TASKS,
}
"""Task -> what it is. `benchmarks/results/TASK.json` keeps what came out."""


FIGURES: dict[str, tuple[str, ...]] = {
    "corridor": ("n_step_dqn-corridor", "dqn-corridor"),
    "rainbow-parts": (
        "rainbow-corridor100",
        *values.TASKS["rainbow-corridor100"].above,
    ),
    "cartpole-values": ("dqn-cartpole", *values.BALANCING),
    "pendulum": ("sac-pendulum", "td3-pendulum", "ddpg-pendulum"),
    "halfcheetah": ("sac-halfcheetah", "td3-halfcheetah", "ppo-halfcheetah"),
    "taxi-masks": ("ppo_masked-taxi", "ppo-taxi"),
    "tmaze-memory": ("ppo_lstm-tmaze", "ppo-tmaze"),
    "cartpole-memory": ("ppo_lstm-cartpole-positions", "ppo-cartpole-positions"),
}
"""Figure -> tasks of one environment, drawn on one pair of axes by `plot`."""


def published_beside(result: dict[str, Any]) -> Published | None:
    """What others report of the task of a learning result.

    It is asked of the task, as nothing that was measured depends on it.
    """
    task = TASKS.get(result["task"])
    return task.published if task else None
