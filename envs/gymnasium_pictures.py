"""Pictures of a batched world, drawn by Gymnasium's environment of the same kind."""

from __future__ import annotations

from typing import Any

import gymnasium


def draw(envs: Any, env_id: str, **attributes: Any) -> Any:
    """Gymnasium's picture of its environment `env_id` with these attributes.

    The batched world keeps that environment from picture to picture.
    """
    if envs._painter is None:
        envs._painter = gymnasium.make(env_id, render_mode="rgb_array").unwrapped
    for name, value in attributes.items():
        setattr(envs._painter, name, value)
    return envs._painter.render()
