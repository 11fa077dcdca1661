"""Conversion between Minari episodes and transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from tensordict import TensorDict

from yieldrl.foundations import spaces, text


def episode_from_minari(episode: Any, observed: gym.Space[Any]) -> TensorDict:
    """Convert a Minari episode to transitions `[K]`, the last of which ends it.

    Args:
        episode: Minari's `EpisodeData`.
        observed: Space of one observation, which says how texts are encoded.
    """
    cpu = torch.device("cpu")
    count = len(episode)
    obs = spaces.to_tensor(text.encoded(observed, episode.observations), cpu)
    action = spaces.to_tensor(np.asarray(episode.actions), cpu)
    truncated = torch.as_tensor(episode.truncations).bool().clone()
    terminated = torch.as_tensor(episode.terminations).bool()
    truncated[-1] |= ~terminated[-1]  # the next row belongs to another episode
    steps = {
        "obs": _rows(obs, slice(0, count)),
        "next_obs": _rows(obs, slice(1, count + 1)),
        "action": action,
        "reward": torch.as_tensor(episode.rewards).float(),
        "terminated": terminated,
        "truncated": truncated,
    }
    return TensorDict(steps, [count])


def episode_to_minari(episode: TensorDict, acted: gym.Space[Any]) -> dict[str, Any]:
    """Convert transitions `[K]` to a Minari episode, which has K + 1 observations.

    Args:
        episode: The transitions. If nothing ends the last one, it is truncated.
        acted: Space of one action, whose dtype is written.

    Returns:
        What Minari's `EpisodeBuffer` takes.
    """
    truncated = episode["truncated"].clone()
    truncated[-1] |= ~episode["terminated"][-1]
    return {
        "observations": _arrays(_with_last(episode["obs"], episode["next_obs"])),
        "actions": _arrays(episode["action"]).astype(acted.dtype),
        "rewards": _arrays(episode["reward"]),
        "terminations": _arrays(episode["terminated"]),
        "truncations": _arrays(truncated),
    }


def _with_last(obs: Any, next_obs: Any) -> Any:
    if hasattr(obs, "items"):
        return {name: _with_last(obs[name], next_obs[name]) for name in obs.keys()}  # noqa: SIM118
    return torch.cat([obs, next_obs[-1:]])


def _rows(obs: Any, rows: slice) -> Any:
    if isinstance(obs, Mapping):
        return {name: _rows(child, rows) for name, child in obs.items()}
    return obs[rows]


def _arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _arrays(child) for name, child in value.items()}
    return value.cpu().numpy()
