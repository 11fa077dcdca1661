"""Running statistics as buffers of a model: saved, loaded and sent with it."""

import copy
import functools
import operator
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.core import spaces
from yieldrl.core.ranks import ranks
from yieldrl.core.running_statistics import combine_moments, scale, standardize
from yieldrl.networks.encoder import NatureCNN, Sentence


class RunningMean(nn.Module):
    """Exponentially weighted mean of the means of all batches; 0 at first."""

    value: Tensor
    weight: Tensor

    def __init__(self, decay: float = 0.9) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("value", torch.zeros((), dtype=torch.float32))
        self.register_buffer("weight", torch.zeros((), dtype=torch.float32))

    @torch.no_grad()
    def update(self, values: Tensor) -> None:
        """Update with a batch `[B]`."""
        self.weight.mul_(self.decay).add_(1)
        self.value.lerp_(values.mean(), 1 / self.weight)


class RunningMoments(nn.Module):
    """Mean and variance of all values seen, over all axes except those of `shape`."""

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        # float32 does not tell 1.7e9, a time in seconds, from the next minute's.
        self.register_buffer("mean", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("var", torch.ones(shape, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    @torch.no_grad()
    def update(self, batch: Tensor) -> None:
        """Update with a batch `[..., *shape]`, and those of all other processes."""
        flat = batch.reshape(-1, *self.mean.shape).to(self.mean.dtype)
        moments = flat.new_zeros(2, *self.mean.shape)
        if len(flat) > 0:
            moments = torch.stack(torch.var_mean(flat, dim=0, correction=0))
        sizes = ranks().all_gather(flat.new_full((), len(flat)))
        kept = self.mean, self.var, self.count
        for size, (var, mean) in zip(sizes, ranks().all_gather(moments), strict=True):
            # Where there is nothing, as they were; a GPU is not waited for to see it.
            for old, new in zip(
                kept, combine_moments(*kept, mean, var, size), strict=True
            ):
                old.copy_(new.where(size > 0, old))


class ObservationNormalizer(nn.Module):
    """Centres and scales observations, `clip((obs - mean) / std, -limit, limit)`.

    Only quantities are normalized (see `spaces.quantities`), in float64; the results
    are float32. The statistics change only in `update`, once per rollout.
    """

    def __init__(self, space: gym.Space[Any], limit: float = 10.0) -> None:
        super().__init__()
        self.limit = limit
        self.paths = spaces.quantities(space)
        shapes = {path: spaces.shape_of(leaf) for path, leaf in spaces.leaves(space)}
        # A list in the order of paths, because names may contain dots.
        self.moments = nn.ModuleList(RunningMoments(shapes[p]) for p in self.paths)

    def forward(self, obs: Any) -> Any:
        return self._map(obs, ())

    def update(self, obs: Any, valid: Tensor | None = None) -> None:
        """Update with observations `[..., *shape]` that are `valid`, bool `[...]`."""
        moments: Any = self.moments
        for path, kept in zip(self.paths, moments, strict=True):
            leaf = functools.reduce(operator.getitem, path, obs)
            kept.update(leaf if valid is None else leaf[valid])

    def feeds(self, parts: Sequence[nn.Module], encoders: Sequence[nn.Module]) -> bool:
        """Whether any of `parts` may read normalized entries: no images and no text."""
        inside = [part for encoder in encoders for part in encoder.modules()]
        unfed = [part for part in inside if isinstance(part, NatureCNN | Sentence)]
        others = {id(inner) for part in unfed for inner in part.modules()}
        reading = [inner for part in parts for inner in part.modules()]
        return any(
            [*inner.parameters(recurse=False)]
            for inner in reading
            if id(inner) not in others
        )

    def _map(self, obs: Any, path: spaces.Path) -> Any:
        if not isinstance(obs, Tensor):
            return {name: self._map(obs[name], (*path, name)) for name in obs.keys()}  # noqa: SIM118
        if path not in self.paths:
            return obs
        moments: Any = self.moments[self.paths.index(path)]
        exact = obs.to(moments.mean.dtype)
        return standardize(exact, moments.mean, moments.var, self.limit).float()


class RewardScaler(nn.Module):
    """Divides rewards by the running standard deviation of the discounted return.

    Engstrom et al. 2020, "Implementation Matters in Deep RL", arXiv:2005.12729,
    section 3: rewards keep their sign, so the task stays the same; they are clipped to
    `limit`. `carry [N]` holds the discounted returns of the running episodes.
    """

    carry: Tensor

    def __init__(self, num_envs: int, gamma: float, limit: float = 10.0) -> None:
        super().__init__()
        self.gamma, self.limit = gamma, limit
        self.moments = RunningMoments(())
        self.register_buffer("carry", torch.zeros(num_envs, dtype=torch.float32))

    def preview(self, rollout: TensorDict) -> Tensor:
        """Rewards `[T, N]` scaled as they will be after `update`; changes no state."""
        scaler = copy.deepcopy(self)
        scaler.update(rollout)
        return scaler(rollout["reward"])

    @torch.no_grad()
    def update(self, rollout: TensorDict) -> None:
        """Update with the returns at the `valid` steps of a rollout `[T, N]`."""
        goes_on = ~(rollout["terminated"] | rollout["truncated"])
        reward, valid = rollout["reward"], rollout.get("valid", None)
        returns = reward.clone() if valid is None else reward * valid
        gamma = rollout.get("discount", None)
        gamma = torch.full_like(reward, self.gamma) if gamma is None else gamma
        before = self.carry
        for row, discount, follows in zip(returns, gamma, goes_on, strict=True):
            row.addcmul_(discount, before)  # rows are views, so this writes in place
            before = row * follows
        self.carry.copy_(before)
        self.moments.update(returns if valid is None else returns[valid])

    def forget(self) -> None:
        """Reset the returns of running episodes, when environments are reset."""
        self.carry.zero_()

    def forward(self, reward: Tensor) -> Tensor:
        return scale(reward, self.moments.var, self.limit)
