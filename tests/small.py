"""Small configs of every algorithm, for tests that train each of them for a moment."""

from __future__ import annotations

import dataclasses
from typing import Any

SMALL = {
    "batch_size": 8,
    "demonstration_steps": 64,
    "gradient_steps": 1,
    "group_size": 2,
    "groups": 2,
    "hidden_sizes": (8,),
    "horizon": 3,
    "learning_starts": 8,
    "lstm_size": 4,
    "members": 3,
    "model_batch_size": 8,
    "model_epochs": 1,
    "model_every": 8,
    "model_hidden_sizes": (8,),
    "memory_size": 4,
    "model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8},
    "model_steps": 1,
    "model_warmup_steps": 2,
    "num_branches": 16,
    "num_envs": 2,
    "num_episodes": 2,
    "num_epochs": 2,
    "num_minibatches": 2,
    "num_steps": 8,
    "outcome": "number",
    "refreshes": 2,
    "sequence_length": 4,
    "target_every": 2,
    "total_steps": 400,
    "device": "cpu",
}


def config_of(module: Any, **options: Any) -> Any:
    """A small config, of the options that the algorithm has."""
    known = {field.name for field in dataclasses.fields(module.Config)}
    if "demonstration_steps" in known and not module.__name__.endswith("cloning"):
        options = {"demonstration_steps": 0, **options}  # cloning is tried by itself
    if known & {"group_size", "judge"}:  # all groups differ, and end with the rollout
        limit = {"max_episode_steps": 8}
        options = {"env_id": "Pendulum-v1", "env_kwargs": limit, **options}
    if module.__name__.endswith("dreamer"):
        options = {"env_id": "CartPole-v1", "outcome": "symlog", **options}
    if module.__name__.endswith(("vla_grpo", "grpo_imagined")):
        options = {"observation_keys": {"proprio": "obs"}, "action_bins": 8, **options}
    known -= options.keys()
    return module.Config(**{k: v for k, v in SMALL.items() if k in known}, **options)
