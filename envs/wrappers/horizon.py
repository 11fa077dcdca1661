"""How long the episodes of a batch of environments may last."""

from typing import Any

from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorWrapper

from yieldrl.envs.wrappers.chunks import ActionChunks


def longest_episode(envs: Any) -> int | None:
    """Steps after which every episode has ended; None if `max_episode_steps` is unsaid.

    In environments that take chunks of actions it is the number of chunks.
    """
    if isinstance(envs, ActionChunks):
        inside = longest_episode(envs.env)
        return None if inside is None else -(-inside // envs.execute)
    limits = [getattr(envs, "max_episode_steps", None)]
    if isinstance(envs, SyncVectorEnv | AsyncVectorEnv):
        specs = envs.get_attr("spec")
        found = [getattr(spec, "max_episode_steps", None) for spec in specs]
        known = [limit for limit in found if limit is not None]
        return max(known) if len(known) == len(found) else None
    if isinstance(envs, VectorWrapper):
        limits.append(longest_episode(envs.env))
    return min((limit for limit in limits if limit is not None), default=None)
