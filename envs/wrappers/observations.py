"""Wrappers of observations: stacked frames, and a common scale."""

from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.core import Utf8Text, spaces
from yieldrl.core.running_statistics import (
    masked_moments,
    standardize,
    update_moments,
)
from yieldrl.envs.arrays import as_tensors, replaced, tree_map
from yieldrl.envs.autoreset import Step
from yieldrl.envs.batched.inputs import check_range
from yieldrl.envs.wrappers.base import BatchWrapper, repeated_space


class FrameStack(BatchWrapper):
    """Shows the latest K observations, each environment its own, the newest last.

    A new episode begins with its first one repeated, and `final_obs` is stacked with
    the frames of the episode that it ends.

    Numbers and choices get a new first axis, `[K, ...]`, texts are concatenated. The
    frames of images become channels, `[H, W, K * C]` or `[K * C, H, W]`, as
    convolutions take them (in Gymnasium's `FrameStackObservation` they get a new axis).

    Args:
        num_frames: K, number of frames.

    Attributes:
        frames: The latest observations, `[N, K, ...]`.
    """

    carried = ("frames",)

    def __init__(self, envs: VectorEnv, num_frames: int = 4) -> None:
        super().__init__(envs)
        check_range("num_frames", num_frames, 1)
        self.num_frames = num_frames
        space = envs.single_observation_space
        empty = as_tensors(create_empty_array(space, self.num_envs))
        self.frames = tree_map(lambda x: self._repeated(x.to(self.inside)), empty)
        self.set_observation_space(_stacked_space(space, num_frames))

    def after_reset(self, obs: Any, where: Tensor) -> Any:
        self.frames = replaced(self.frames, tree_map(self._repeated, obs), where)
        return _shown(self.env.single_observation_space, self.frames)

    def after_step(self, step: Step) -> Step:
        frames = tree_map(_pushed, self.frames, step.next_obs)
        first = tree_map(self._repeated, step.obs)
        self.frames = replaced(frames, first, step.ended)
        space = self.env.single_observation_space
        next_obs, obs = _shown(space, frames), _shown(space, self.frames)
        return step._replace(next_obs=next_obs, obs=obs)

    def _repeated(self, obs: Tensor) -> Tensor:
        """The frames `[N, K, ...]` of an episode that begins with `obs [N, ...]`."""
        return obs.unsqueeze(1).repeat_interleave(self.num_frames, dim=1)


def _pushed(frames: Tensor, obs: Tensor) -> Tensor:
    return torch.cat((frames[:, 1:], obs.unsqueeze(1)), dim=1)


def _shown(space: Space, frames: Any) -> Any:
    """Frames `[N, K, ...]` in the form of the stacked space."""
    if isinstance(space, Dict):
        return {name: _shown(space[name], frames[name]) for name in frames}
    if isinstance(space, Utf8Text):
        return frames.flatten(1)
    if not spaces.is_image(space):
        return frames
    if spaces.channels_last(spaces.shape_of(space)):
        return frames.movedim(1, -2).flatten(-2)  # by way of [N, H, W, K, C]
    return frames.flatten(1, 2)


def _stacked_space(space: Space, count: int) -> Space:
    """The space of `count` stacked observations."""
    if isinstance(space, Dict):
        return Dict({name: _stacked_space(space[name], count) for name in space})
    if isinstance(space, Utf8Text):  # one after the other, still text
        return Utf8Text(count * space.max_bytes)
    if isinstance(space, Box) and spaces.is_image(space):
        axis = -1 if spaces.channels_last(space.shape) else 0
        low, high = (np.concatenate([x] * count, axis) for x in (space.low, space.high))
        return Box(low, high, dtype=space.dtype.type)
    return repeated_space(space, count)


class NormalizeObservation(BatchWrapper):
    """Centres and scales observations, `clip((obs - mean) / std, -limit, limit)`.

    Mean and standard deviation are those of all observations so far that an action is
    chosen on: an episode's last one is scaled by them and not counted. Of a Dict each
    entry of quantities has its own; images, sentences, choices and flags pass as they
    are (see `spaces.quantities`).

    PPO has `normalize_observation=True`, which moves the statistics once a rollout and
    keeps them in the model; this wrapper is for the algorithms without that field.
    Trainers evaluate with the same statistics, and do not move them. TypeError if no
    entry of the observations is of quantities.

    Args:
        limit: Bound of the result.
        frozen: Whether the statistics are constant; may be set at any time.

    Attributes:
        mean, var: Tensors, nested as the observations; None for entries that pass.
        count: Number of observations so far.
    """

    learned = ("mean", "var", "count")

    def __init__(
        self, envs: VectorEnv, *, limit: float = 10.0, frozen: bool = False
    ) -> None:
        super().__init__(envs)
        self.limit, self.frozen = limit, frozen
        space = envs.single_observation_space
        self.count = torch.zeros((), dtype=self.sum_dtype, device=self.inside)
        scaled = spaces.quantities(space)
        if not scaled:
            raise TypeError(f"nothing to normalise in {space}: it has no quantities")

        def zeros(space: Space, path: spaces.Path = ()) -> Any:
            if isinstance(space, Dict):
                return {name: zeros(space[name], (*path, name)) for name in space}
            shape = spaces.shape_of(space)
            return self.count.new_zeros(shape) if path in scaled else None

        self.mean = zeros(space)
        self.var = tree_map(torch.ones_like, self.mean)
        self.set_observation_space(self._scaled_space(space, self.mean))

    def after_reset(self, obs: Any, where: Tensor) -> Any:
        self._update(obs, where)
        return self.normalized(obs)

    def after_step(self, step: Step) -> Step:
        self._update(step.obs, torch.ones_like(step.ended))
        next_obs = self.normalized(step.next_obs)
        alike = step.obs is step.next_obs
        obs = next_obs if alike else self.normalized(step.obs)
        return step._replace(next_obs=next_obs, obs=obs)

    def normalized(self, obs: Any) -> Any:
        """Observations `[N, ...]` on the common scale."""

        def scaled(x: Tensor, mean: Tensor | None, var: Tensor) -> Tensor:
            return x if mean is None else standardize(x, mean, var, self.limit).float()

        return tree_map(scaled, obs, self.mean, self.var)

    def for_evaluation(self, envs: VectorEnv) -> VectorEnv:
        other = NormalizeObservation(envs, limit=self.limit, frozen=True)
        other.mean, other.var, other.count = self.mean, self.var, self.count
        return other

    @torch.no_grad()
    def _update(self, obs: Any, where: Tensor) -> None:
        """Count the observations `[N, ...]` where `where [N]` is set."""
        if self.frozen:
            return

        def update(x: Tensor, mean: Tensor | None, var: Tensor) -> None:
            if mean is not None:
                more = masked_moments(x.to(self.sum_dtype), where)
                update_moments((mean, var, self.count.clone()), more)

        tree_map(update, obs, self.mean, self.var)
        self.count += where.sum()

    def _scaled_space(self, space: Space, mean: Any) -> Space:
        if isinstance(space, Dict):
            return Dict({k: self._scaled_space(space[k], mean[k]) for k in space})
        bounds = -self.limit, self.limit
        return space if mean is None else Box(*bounds, spaces.shape_of(space))
