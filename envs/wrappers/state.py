"""What a wrapper (always `envs`) writes into a checkpoint, and reads out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from yieldrl.envs.batched.tree import layout, tree_map


def save(envs: Any) -> dict[str, Any]:
    """The wrapper's tensors, and the state of the environments inside if they can."""
    inner = getattr(envs.env, "state_dict", None)
    return {"wrapper": _own(envs), "envs": inner() if inner else None}


def load(envs: Any, saved: Mapping[str, Any]) -> None:
    """Take over what `save` returned, after a look whether it fits."""
    mine, wrapper = _own(envs), saved.get("wrapper", {})
    if layout(wrapper) != layout(mine):
        raise ValueError(
            f"saved was {layout(wrapper)}, {type(envs).__name__} has"
            f" {layout(mine)}: wrap as many of the same environments in the"
            " same order"
        )
    for name in envs.learned:  # in place: those who evaluate look at it too
        tree_map(Tensor.copy_, getattr(envs, name), wrapper[name])
    for name in (*envs.carried, "_resets"):
        here = lambda x: x.to(envs.inside, copy=True)  # noqa: E731
        setattr(envs, name, tree_map(here, wrapper[name]))
    if saved["envs"] is not None:
        envs.env.load_state_dict(saved["envs"])


def _own(envs: Any) -> dict[str, Any]:
    names = (*envs.learned, *envs.carried, "_resets")
    copied = lambda x: x.detach().clone()  # noqa: E731
    return {name: tree_map(copied, getattr(envs, name)) for name in names}
