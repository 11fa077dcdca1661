"""Convert observations to tensors on a device, and actions back for environments."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Dict
from torch import Tensor

from yieldrl.foundations import text
from yieldrl.foundations.actions import ActionTransform, TextTransform


class ObservationActionAdapter:
    """Converts observations to batches of tensors, and actions back to their form.

    `actions` is an `ActionTransform` or, for a policy that answers in tokens of a
    `tokenizer`, a `TextTransform`.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        device: torch.device,
        *,
        unit_box: bool = False,
        tokenizer: Any = None,
    ) -> None:
        self._space, self._device = observation_space, device
        self._reads = text.has_text(observation_space)
        self.actions: ActionTransform | TextTransform
        if tokenizer is not None and isinstance(action_space, text.Utf8Text):
            self.actions = TextTransform(action_space, tokenizer)
        else:
            self.actions = ActionTransform(action_space, device, unit_box=unit_box)

    def to_tensors(self, obs: Any, needed: tuple[str, ...] = ()) -> tuple[Any, bool]:
        """Observations as tensors `[B, ...]`, and whether they were a batch.

        Sentences may be strings. `needed` and ValueError as in `is_batched`.
        """
        obs = text.encoded(self._space, obs) if self._reads else obs
        tensors = to_tensor(obs, self._device)
        batched = is_batched(self._space, tensors, needed)
        return tensors if batched else add_batch_axis(tensors), batched

    def like_input(self, action: Tensor, obs: Any, batched: bool) -> Any:
        """Actions `[B, ...]` in the form of the observations: arrays, or tensors."""
        action = action if batched else action[0]
        if holds_tensors(obs):
            return action
        array = action.numpy() if action.is_cpu else action.cpu().numpy()
        return array if batched else array[()]  # one choice: a hashable number


def to_tensor(obs: Any, device: torch.device) -> Any:
    """NumPy arrays or tensors, nested or not, as tensors on `device`.

    float64 becomes float32. An array on the CPU is viewed, not copied, unless it is
    strided or read-only; on the way to a GPU it passes through pinned memory and does
    not wait for the copy.
    """
    if isinstance(obs, np.ndarray):
        if obs.dtype == np.float64:
            obs = obs.astype(np.float32)
        if not obs.flags.carray:  # PyTorch supports no negative strides
            obs = obs.copy()
        tensor = torch.from_numpy(obs)
        if device.type == "cpu":
            return tensor
        tensor = tensor.pin_memory() if device.type == "cuda" else tensor
        return tensor.to(device, non_blocking=True)
    if isinstance(obs, Tensor):
        obs = obs.float() if obs.dtype == torch.float64 else obs
        return obs.to(device, non_blocking=True)
    if isinstance(obs, Mapping) or hasattr(obs, "items"):
        return {name: to_tensor(child, device) for name, child in obs.items()}
    return to_tensor(np.asarray(obs), device)


def as_array(value: Any) -> np.ndarray:
    """A tensor, or anything else, as an array in the CPU's memory; not always a copy.

    bfloat16, which NumPy does not have, becomes float32.
    """
    if not isinstance(value, Tensor):
        return np.asarray(value)
    value = value.detach().cpu()
    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()


def copied_array(value: Any) -> np.ndarray:
    """A tensor, or anything else, as an array with memory of its own."""
    return np.array(as_array(value))


def holds_tensors(obs: Any) -> bool:
    """Whether the observation is made of tensors (otherwise of NumPy arrays)."""
    if isinstance(obs, (Tensor, np.ndarray)):  # the common case, and a cheap check
        return isinstance(obs, Tensor)
    return hasattr(obs, "items") and any(map(holds_tensors, obs.values()))


def is_batched(space: Space[Any], obs: Any, needed: tuple[str, ...] = ()) -> bool:
    """Whether tensors carry a batch axis before the shape of `space`.

    ValueError if they are neither one observation nor a batch of them, or lack an entry
    of those `needed` of a Dict, by default all.
    """
    if isinstance(space, Dict):
        if not hasattr(obs, "items"):
            raise ValueError(f"expected a dict with keys {[*space]}, got {type(obs)}")
        needed = needed or tuple(space)
        missing = [name for name in needed if name not in obs.keys()]  # noqa: SIM118
        if missing:
            raise ValueError(f"observation lacks {missing}, it has {list(obs.keys())}")
        return is_batched(space[needed[0]], obs[needed[0]])
    shape, got = space.shape, obs.shape
    assert shape is not None, f"{space} has no shape"
    if len(got) == len(shape) + 1 and got[1:] == shape:
        return True
    if got == shape:
        return False
    raise ValueError(
        f"observation of shape {tuple(got)} fits neither one observation {shape}"
        f" nor a batch {('B', *shape)}"
    )


def batch_size(obs: Any) -> int:
    """The number of observations in a batch, of tensors or of arrays."""
    while not isinstance(obs, (Tensor, np.ndarray)):
        obs = next(iter(obs.values()))
    return len(obs)


def add_batch_axis(obs: Any) -> Any:
    """A batch of one."""
    if isinstance(obs, dict):
        return {name: add_batch_axis(child) for name, child in obs.items()}
    return obs.unsqueeze(0)


def check_shapes(rollout: Any) -> None:
    """ValueError if rewards or ends of a rollout are not one number for each step.

    Others' rewards are often `[T, N, 1]`, which would be broadcast without an error.
    """
    for name in {"reward", "terminated", "truncated"} & set(rollout.keys()):
        if (got := rollout[name].shape) != rollout.batch_size:
            raise ValueError(
                f"{name!r} of a rollout {list(rollout.batch_size)} has the shape"
                f" {list(got)}: give one number for each step, squeeze(-1) say"
            )
