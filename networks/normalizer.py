"""Running statistics as buffers of a model: saved, loaded and sent with it."""

import copy
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.core import spaces
from yieldrl.core.ranks import ranks
from yieldrl.core.running_statistics import scale, standardize, update_moments
from yieldrl.networks.encoder import DictEncoder


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
        # float32, because MPS has no float64.
        self.register_buffer("mean", torch.zeros(shape, dtype=torch.float32))
        self.register_buffer("var", torch.ones(shape, dtype=torch.float32))
        self.register_buffer("count", torch.zeros((), dtype=torch.float32))

    @torch.no_grad()
    def update(self, batch: Tensor) -> None:
        """Update with a batch `[..., *shape]`, and those of all other processes."""
        flat = batch.reshape(-1, *self.mean.shape).float()
        own = (self.mean, self.var, self.count)
        if ranks().count == 1:
            if len(flat) > 0:
                var, mean = torch.var_mean(flat, dim=0, correction=0)
                update_moments(own, (mean, var, len(flat)))
            return
        sizes = ranks().all_gather(flat.new_tensor(len(flat)))
        moments = flat.new_zeros(2, *self.mean.shape)
        if len(flat) > 0:
            moments = torch.stack(torch.var_mean(flat, dim=0, correction=0))
        for size, (var, mean) in zip(sizes, ranks().all_gather(moments), strict=True):
            if size > 0:
                update_moments(own, (mean, var, size))


class ObservationNormalizer(nn.Module):
    """Centres and scales observations, `clip((obs - mean) / std, -limit, limit)`.

    Only quantities are normalized (see `spaces.quantities`). The statistics change only
    in `update`, once per rollout.
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
        for path in self.paths:
            leaf = obs
            for key in path:
                leaf = leaf[key]
            self._moments_of(path).update(leaf if valid is None else leaf[valid])

    def feeds(self, parts: Sequence[nn.Module], encoders: Sequence[nn.Module]) -> bool:
        """Whether any of `parts` may read normalized entries, which exclude text."""
        unfed = [own for encoder in encoders for own in _unfed(encoder, self.paths)]
        known = {id(part) for own in unfed for part in own.modules()}
        inner = [own for part in parts for own in part.modules()]
        reading = [own for own in inner if id(own) not in known]
        return any([*own.parameters(recurse=False)] for own in reading)

    def _moments_of(self, path: spaces.Path) -> RunningMoments:
        moments = self.moments[self.paths.index(path)]
        assert isinstance(moments, RunningMoments)
        return moments

    def _map(self, obs: Any, path: spaces.Path) -> Any:
        if not isinstance(obs, Tensor):
            return {name: self._map(obs[name], (*path, name)) for name in obs.keys()}  # noqa: SIM118
        if path not in self.paths:
            return obs
        moments = self._moments_of(path)
        return standardize(obs.float(), moments.mean, moments.var, self.limit)


def _unfed(encoder: nn.Module, paths: Sequence[spaces.Path]) -> list[nn.Module]:
    """The parts of an encoder that read none of these entries of observations."""
    if not paths:
        return [encoder]
    if not isinstance(encoder, DictEncoder):
        return []
    return [
        own
        for name, part in zip(encoder.names, encoder.parts, strict=True)
        for own in _unfed(part, [path[1:] for path in paths if path[0] == name])
    ]


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
        row, first = returns.unbind(), self.gamma if gamma is None else gamma[0]
        later = self.gamma if gamma is None else gamma[1:]
        factor = (later * goes_on[:-1]).unbind()
        row[0].add_(first * self.carry)  # rows are views, so this writes in place
        for t in range(1, len(row)):
            row[t].addcmul_(factor[t - 1], row[t - 1])
        self.carry.copy_(row[-1] * goes_on[-1])
        self.moments.update(returns if valid is None else returns[valid])

    def forget(self) -> None:
        """Reset the returns of running episodes, when environments are reset."""
        self.carry.zero_()

    def forward(self, reward: Tensor) -> Tensor:
        return scale(reward, self.moments.var, self.limit)
