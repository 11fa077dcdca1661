"""What stands behind `TorchVectorEnv` (always `envs`): trees, seeds, checks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gymnasium
import torch
from gymnasium.error import ResetNeeded
from torch import Tensor


class _Form(threading.local):
    compiled = False


_form = _Form()


def is_compiled() -> bool:
    """Whether what is computed now becomes part of compiled code."""
    return torch.compiler.is_compiling() or _form.compiled


@contextmanager
def in_compiled_form() -> Iterator[None]:
    """Have worlds compute as they do where they are compiled, in this thread."""
    before, _form.compiled = _form.compiled, True
    try:
        yield
    finally:
        _form.compiled = before


def in_fours(bools: Tensor) -> Tensor:
    """The bytes of bools `[N, ...]` as int32 `[N, K]`, in the same memory."""
    return bools.view(len(bools), -1).view(torch.int32)


def tree_map(function: Callable[..., Any], *trees: Any) -> Any:
    """Apply a function to tensors, or to those in dicts that are built alike."""
    if isinstance(trees[0], Tensor):  # before asking for a Mapping, which takes longer
        return function(*trees)
    if isinstance(trees[0], Mapping):
        return {k: tree_map(function, *(tree[k] for tree in trees)) for k in trees[0]}
    return None if trees[0] is None else function(*trees)


def where(mask: Tensor, this: Any, other: Any) -> Any:
    """The state with the columns of `this` where the mask `[N]` is set."""
    return tree_map(lambda x, y: torch.where(mask, x, y), this, other)


def last_axes(tree: Any) -> set[int]:
    """The sizes of the last axes, 0 for a number."""
    sizes: set[int] = set()
    tree_map(lambda x: sizes.add(x.shape[-1] if x.ndim else 0), tree)
    return sizes


def layout(tree: Any) -> Any:
    """Dtype and shape in place of each tensor, to compare and to print."""
    return tree_map(lambda x: f"{str(x.dtype)[6:]}{list(x.shape)}", tree)


def save(envs: Any) -> dict[str, Any]:
    """The state dict: tensors alone, all of them copies."""
    parts = {
        "state": envs.state,
        "elapsed": envs.elapsed,
        "ended": envs._ended,
        "noise": envs._noise,
    }
    copies = tree_map(lambda x: x.detach().clone(), parts)
    return {**copies, "generator": envs.generator.get_state()}


def load(envs: Any, saved: Mapping[str, Any]) -> None:
    """Take over a state dict, after a look whether it fits."""
    own, size = save(envs), (envs.noise_size, envs.num_envs)
    noise = torch.zeros(size, dtype=envs.dtype, device=envs.device)
    with torch.no_grad():
        own["state"] = envs.fold(envs.initial_state(noise))
    if saved.get("state") is None:
        own["state"] = None  # saved before the first reset
    # Whether steps take noise depends on the device, and on whether they are compiled.
    own["noise"] = noise if saved.get("noise") is not None else None
    if layout(saved) != layout(own):
        raise ValueError(
            f"saved was {layout(saved)}, these environments have {layout(own)}: make"
            " them with the saved num_envs, dtype and kind of device"
        )
    envs.generator.set_state(saved["generator"].cpu())
    copies = tree_map(lambda x: x.to(envs.device, copy=True), saved)
    envs.state, envs.elapsed = copies["state"], copies["elapsed"]
    envs._ended, envs._noise = copies["ended"], None
    if envs._takes_noise and envs.state is not None:
        saved_noise = copies["noise"]
        envs._noise = envs.draw_noise() if saved_noise is None else saved_noise


def to_render(envs: Any) -> Any:
    """The state as arrays."""
    if envs.render_mode is None:
        raise ValueError('to render, construct with render_mode="rgb_array"')
    if envs.state is None:
        raise ResetNeeded("nothing to render yet: call reset() first")
    return tree_map(lambda x: x.detach().cpu().numpy(), envs.state)


def painted(envs: Any, env_id: str, **attributes: Any) -> Any:
    """A picture by gymnasium's own renderer, of its environment in this state."""
    if envs._painter is None:
        painter = gymnasium.make(env_id, render_mode="rgb_array")
        envs._painter = painter.unwrapped
    for name, value in attributes.items():
        setattr(envs._painter, name, value)
    return envs._painter.render()
