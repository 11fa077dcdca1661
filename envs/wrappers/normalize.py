"""Normalize observations and rewards by running statistics."""

from functools import reduce
from operator import getitem
from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers.base import BatchWrapper
from yieldrl.foundations import spaces
from yieldrl.foundations.running_statistics import (
    masked_moments,
    scale,
    standardize,
    update_moments,
)


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
        mean, var: By the entry's path, `a.b` of `obs["a"]["b"]` (a dot in a name is
            `\\.`), and `""` if observations are no Dict.
        count: Number of observations so far.
    """

    learned = ("mean", "var", "count")

    def __init__(
        self, envs: VectorEnv, *, limit: float = 10.0, frozen: bool = False
    ) -> None:
        super().__init__(envs)
        self.limit, self.frozen = limit, frozen
        space = envs.single_observation_space
        self._paths = spaces.quantities(space)
        if not self._paths:
            raise TypeError(f"nothing to normalise in {space}: it has no quantities")
        self.show(self._scaled_space(space, ()))
        like = {"dtype": self.precise, "device": self.inside}
        self.count = torch.zeros((), **like)
        self.mean: dict[str, Tensor] = {}
        self.var: dict[str, Tensor] = {}
        for path, leaf in spaces.leaves(space):
            if path in self._paths:
                self.mean[_key(path)] = torch.zeros(spaces.shape_of(leaf), **like)
                self.var[_key(path)] = torch.ones(spaces.shape_of(leaf), **like)

    def begin(self, obs: Any, where: Tensor) -> Any:
        self._update(obs, where)
        return self.normalized(obs)

    def take(self, step: Step) -> Step:
        # In the other modes, what is seen where an episode ended is its last.
        at_once = self.resets_at_once
        acted_on = torch.ones_like(step.ended) if at_once else ~step.ended
        self._update(step.obs, acted_on)
        return step.with_observations(self.normalized)

    def normalized(self, obs: Any, path: spaces.Path = ()) -> Any:
        """Observations `[..., *shape]` on the common scale."""
        if not isinstance(obs, Tensor):
            return {name: self.normalized(obs[name], (*path, name)) for name in obs}
        if path not in self._paths:
            return obs
        name = _key(path)
        return standardize(obs, self.mean[name], self.var[name], self.limit).float()

    def for_evaluation(self, envs: VectorEnv) -> VectorEnv:
        other = NormalizeObservation(envs, limit=self.limit, frozen=True)
        other.mean, other.var, other.count = self.mean, self.var, self.count
        return other

    @torch.no_grad()
    def _update(self, obs: Any, where: Tensor) -> None:
        """Count the observations `[N, ...]` where `where [N]` is set."""
        if self.frozen:
            return
        count = self.count.clone()
        for path in self._paths:
            leaf, name = reduce(getitem, path, obs), _key(path)
            self.count.copy_(count)  # each entry adds to what was counted before
            more = masked_moments(leaf.to(self.precise), where)
            update_moments((self.mean[name], self.var[name], self.count), more)

    def _scaled_space(self, space: Space, path: spaces.Path) -> Space:
        if isinstance(space, Dict):
            return Dict({k: self._scaled_space(space[k], (*path, k)) for k in space})
        if path not in self._paths:
            return space
        return Box(-self.limit, self.limit, spaces.shape_of(space))


def _key(path: spaces.Path) -> str:
    """The names of a path joined by dots, those within them marked."""
    return ".".join(x.replace("\\", r"\\").replace(".", r"\.") for x in path)


class NormalizeReward(BatchWrapper):
    """Divides rewards by the running standard deviation of the discounted return.

    `clip(reward / std(G), -limit, limit)` with `G = gamma * G + reward` since the
    episode began: Engstrom et al. 2020, "Implementation Matters in Deep RL",
    arXiv:2005.12729, section 3. Rewards keep their sign and their mean.

    Trainers evaluate without it; PPO has `normalize_reward=True`, which scales a
    rollout by one number. In Gymnasium's a cut does not end the discounted return.

    Args:
        gamma: Discount of the return.
        limit: Bound of the scaled reward.
        frozen: Whether the statistics are constant; may be set at any time.

    Attributes:
        returns: Discounted returns of the running episodes, `[N]`.
        mean, var, count: Of all returns so far, `[]`.
    """

    of_rewards = True
    carried = ("returns",)
    learned = ("mean", "var", "count")

    def __init__(
        self,
        envs: VectorEnv,
        *,
        gamma: float = 0.99,
        limit: float = 10.0,
        frozen: bool = False,
    ) -> None:
        super().__init__(envs)
        if not 0 <= gamma <= 1:
            raise ValueError(f"gamma = {gamma}: a discount lies in [0, 1]")
        self.gamma, self.limit, self.frozen = gamma, limit, frozen
        self.returns = self.zeros(self.precise)
        self.mean = torch.zeros((), dtype=self.precise, device=self.inside)
        self.var, self.count = torch.ones_like(self.mean), torch.zeros_like(self.mean)

    def begin(self, obs: Any, where: Tensor) -> Any:
        self.returns = self.returns.masked_fill(where, 0)
        return obs

    def take(self, step: Step) -> Step:
        returns = self.gamma * self.returns + step.reward.detach()
        counts = torch.ones_like(step.ended) if step.valid is None else step.valid
        if not self.frozen:
            moments = self.mean, self.var, self.count
            update_moments(moments, masked_moments(returns, counts))
        self.returns = returns.masked_fill(step.ended | ~counts, 0)
        reward = scale(step.reward, self.var, self.limit)
        return step._replace(reward=reward.to(step.reward.dtype))
