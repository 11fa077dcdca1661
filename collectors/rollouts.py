"""Rollouts for a caller: steps that go to them instead of into the buffer."""

from __future__ import annotations

from typing import Any

from tensordict import TensorDict

from yieldrl.buffers import RolloutBuffer
from yieldrl.collectors.episode_logs import mean_episode


def collect(collector: Any, num_steps: int) -> TensorDict:
    """Let a collector take `num_steps` steps into a rollout `[T, N]` of its own.

    What it reports of episodes on the way is in its `logs` then.

    Args:
        collector: Has `envs`, `agent`, `buffer` and `step`, which adds to the buffer.
        num_steps: `T`.

    Raises:
        ValueError: If there is not at least one step.
    """
    envs, agent, buffer = collector.envs, collector.agent, collector.buffer
    spaces = envs.single_observation_space, envs.single_action_space
    device = getattr(agent, "device", "cpu")
    into = RolloutBuffer(num_steps, *spaces, num_envs=envs.num_envs, device=device)
    # These actions are none of those that wait in the collector's buffer.
    remembers = hasattr(agent, "acted_version")
    acted = agent.acted_version if remembers else None
    collector.buffer = into
    try:
        if remembers:
            agent.acted_version = None
        logs = [collector.step() for _ in range(num_steps)]
        collector.logs = mean_episode([*logs, collector.report()])
        rollout = into.rollout()
        return agent.complete(rollout) if hasattr(agent, "complete") else rollout
    finally:
        collector.buffer = buffer
        if remembers:
            agent.acted_version = acted
