"""Convert observations to tensors on a device, and actions back for environments."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from torch import Tensor

from yieldrl.core import text
from yieldrl.core.text import Utf8Text


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
        exact_obs: bool = False,
        unit_box: bool = False,
        tokenizer: Any = None,
    ) -> None:
        self._space, self._device = observation_space, device
        self._exact = exact_obs and device.type != "mps"  # which has no float64
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
        tensors = to_tensor(obs, self._device, exact=self._exact)
        batched = is_batched(self._space, tensors, needed)
        return tensors if batched else add_batch_axis(tensors), batched

    def like_input(self, action: Tensor, obs: Any, batched: bool) -> Any:
        """Actions `[B, ...]` in the form of the observations: arrays, or tensors."""
        action = action if batched else action[0]
        if not isinstance(obs, np.ndarray) and holds_tensors(obs):
            return action
        array = action.numpy() if action.is_cpu else action.cpu().numpy()
        return array if batched else array[()]  # one choice: a hashable number


def to_tensor(obs: Any, device: torch.device, *, exact: bool = False) -> Any:
    """NumPy arrays or tensors, nested or not, as tensors on `device`.

    float64 becomes float32, unless `exact`. An array on the CPU is viewed, not copied,
    unless it is strided or read-only; on the way to a GPU it passes through pinned
    memory and does not wait for the copy.
    """
    if isinstance(obs, np.ndarray):
        if obs.dtype == np.float64 and not exact:
            obs = obs.astype(np.float32)
        if not obs.flags.carray:  # PyTorch supports no negative strides
            obs = obs.copy()
        tensor = torch.from_numpy(obs)
        if device.type == "cpu":
            return tensor
        tensor = tensor.pin_memory() if device.type == "cuda" else tensor
        return tensor.to(device, non_blocking=True)
    if isinstance(obs, Tensor):
        obs = obs.float() if obs.dtype == torch.float64 and not exact else obs
        return obs.to(device, non_blocking=True)
    if isinstance(obs, Mapping) or hasattr(obs, "items"):
        return {k: to_tensor(child, device, exact=exact) for k, child in obs.items()}
    return to_tensor(np.asarray(obs), device, exact=exact)


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


class ActionTransform:
    """Converts a policy's actions to those that the environment accepts.

    A policy's choices are int64 and count from zero, as do the actions of rollouts, of
    replay buffers and of every model of policies, values or the world (`from_zero` is
    their space). An environment's count from the `start` of their space and have its
    dtype, as do those of demonstrations and data sets. Nothing else converts the two.

    Actions for a Box are clipped to its bounds in the Box's dtype, so that rounding
    cannot leave them, and rounded if it is an integer Box. With `unit_box`, actions for
    a Box lie in [-1, 1] and are scaled to its bounds: ValueError if it has none.
    """

    def __init__(
        self, space: Space[Any], device: torch.device, *, unit_box: bool = False
    ) -> None:
        self._stretch: tuple[Tensor, Tensor] | None = None  # center, half-width
        self._bounds: tuple[Tensor, Tensor] | None = None
        self._start = self._precision = self._result = None
        self._rounds = False
        if isinstance(space, Box):
            # To clip in a dtype that holds all values of the Box, if the device has it.
            narrow = space.dtype.itemsize < 4 or space.dtype == np.float32
            single = narrow or device.type == "mps"
            like: Any = {"dtype": torch.float32 if single else torch.float64}
            like["device"] = device
            if unit_box:
                center, half = (torch.as_tensor(x, **like) for x in _stretched(space))
                self._stretch = center, half
            if np.isfinite(space.low).any() or np.isfinite(space.high).any():
                low, high = (
                    torch.as_tensor(x, **like) for x in (space.low, space.high)
                )
                self._bounds = low, high
            if not single and (unit_box or self._bounds is not None):
                self._precision = torch.float64
            self._rounds = space.dtype.kind in "iub"
            if self._rounds or space.dtype == np.float16:
                self._result = _torch_dtype(space.dtype)
        elif isinstance(space, Discrete | MultiDiscrete | MultiBinary):
            self._result = _torch_dtype(space.dtype)
            start = np.asarray(getattr(space, "start", 0)).astype(np.int64)
            if start.any():
                self._start = torch.as_tensor(start, device=device)

    def to_env(self, action: Tensor) -> Tensor:
        """Convert policy actions `[B, ...]` to the environment's actions."""
        if self._precision is not None:
            action = action.to(self._precision)
        if self._stretch is not None:
            action = torch.addcmul(*self._stretch, action)
        if self._bounds is not None:
            action = torch.clamp(action, *self._bounds)
        if self._rounds:
            action = action.round()
        if self._start is not None:
            action = action + self._start
        return action if self._result is None else action.to(self._result)

    def from_env(self, action: Tensor) -> Tensor:
        """The inverse of `to_env`, except for clipping and rounding."""
        if self._start is not None:
            return action.long() - self._start
        if self._stretch is not None:
            center, half_width = self._stretch
            return ((action - center) / half_width).float()
        return action


class TextTransform:
    """Converts a policy's tokens to the bytes of its answer, by a `tokenizer`."""

    def __init__(self, space: Utf8Text, tokenizer: Any) -> None:
        self._length, self._tokenizer = space.max_bytes, tokenizer

    def to_env(self, action: Tensor) -> Tensor:
        """Decode tokens `[B, L]` to bytes of answers, uint8 `[B, max_bytes]`."""
        return self._tokenizer.to_bytes(action, self._length)

    def from_env(self, action: Tensor) -> Tensor:
        """Encode bytes of answers `[B, max_bytes]` as int64 tokens `[B, max_bytes]`."""
        return self._tokenizer.to_tokens(action.to(torch.uint8))


def from_zero(space: Space[Any]) -> Space[Any]:
    """The space of a policy's actions: choices count from zero.

    >>> from_zero(Discrete(3, start=-1))
    Discrete(3)
    """
    if isinstance(space, Discrete):
        return Discrete(int(space.n))
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete(space.nvec.astype(np.int64))
    return space


def _torch_dtype(dtype: Any) -> torch.dtype:
    return torch.from_numpy(np.empty(0, dtype)).dtype


def _stretched(space: Box) -> tuple[np.ndarray, np.ndarray]:
    if not space.is_bounded("both"):
        raise ValueError(
            f"the action space {space} is not bounded on every side: actions in"
            " [-1, 1] have nothing to be stretched to. Give it bounds"
            " (gymnasium.wrappers.TransformAction), or take PPO, which needs none"
        )
    # Halve before adding, because the sum might overflow.
    low, high = space.low.astype(np.float64) / 2, space.high.astype(np.float64) / 2
    return high + low, high - low
