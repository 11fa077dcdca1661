"""Wrappers of rewards: bounded, scaled, only for success, or from a judge."""

from collections.abc import Callable
from typing import Any

import torch
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.core.running_statistics import scale, update_moments
from yieldrl.core.text import encoded
from yieldrl.envs.arrays import as_tensors, copied, replaced, tree_map
from yieldrl.envs.autoreset import Step, final_info_entry
from yieldrl.envs.batched.inputs import check_range
from yieldrl.envs.infos import SUCCESS
from yieldrl.envs.wrappers.base import BatchWrapper

Judge = Callable[[Any, Tensor], Tensor]
"""From observations `[N, ...]` and the actions on them `[N, ...]` to scores `[N]`."""


class ClipReward(BatchWrapper):
    """Clips rewards to `[low, high]`. Trainers evaluate without it."""

    training_alone = True

    def __init__(self, envs: VectorEnv, low: float = -1.0, high: float = 1.0) -> None:
        super().__init__(envs)
        if not low < high:
            raise ValueError(f"low = {low}, high = {high}: low must be less than high")
        self.low, self.high = low, high

    def after_step(self, step: Step) -> Step:
        return step._replace(reward=step.reward.clamp(self.low, self.high))


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

    training_alone = True
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
        check_range("gamma", gamma, 0, 1)
        self.gamma, self.limit, self.frozen = gamma, limit, frozen
        self.returns = self.zeros(self.sum_dtype)
        self.mean = torch.zeros((), dtype=self.sum_dtype, device=self.inside)
        self.var, self.count = torch.ones_like(self.mean), torch.zeros_like(self.mean)

    def after_step(self, step: Step) -> Step:
        returns = self.gamma * self.returns + step.reward.detach()
        if not self.frozen:
            more = returns.mean(), returns.var(correction=0), len(returns)
            update_moments((self.mean, self.var, self.count), more)
        self.returns = returns.masked_fill(step.ended, 0)
        reward = scale(step.reward, self.var, self.limit)
        return step._replace(reward=reward.to(step.reward.dtype))


class SuccessReward(BatchWrapper):
    """Rewards of 1 where an episode ends in success, and of 0 everywhere else.

    A success is what `success` or `is_success` says in the info of the step that ends
    the episode. Trainers evaluate without it. Put it inside of `ActionChunks`.
    ValueError in a step that ends an episode, if nothing says whether it was one.
    """

    training_alone = True

    def after_step(self, step: Step) -> Step:
        entries = (final_info_entry(step.info, name) for name in SUCCESS)
        values = next((values for values in entries if values is not None), None)
        if values is not None:
            success = as_tensors(values).bool() & step.ended
            return step._replace(reward=success.to(step.reward.dtype))
        if step.ended.any():
            raise ValueError(
                f"{self.env} does not say in its info what a success is: let the step"
                " that ends an episode say success=True or False"
            )
        return step._replace(reward=step.reward.new_zeros(step.reward.shape))


class JudgedReward(BatchWrapper):
    """Gives a judge's scores of actions in place of the rewards.

    The judge gets the observation before the action, as tensors, and the action in the
    environment's form. `info["true_reward"]`, and so every transition, has the reward
    that it replaces, which algorithms that learn from rollouts log beside the other:
    see where the two part (Gao et al. 2023, arXiv:2210.10760). Evaluation uses true
    rewards.

    Args:
        judge: From observations and actions `[N, ...]` to scores, float32 `[N]`.

    Raises:
        ValueError: If its scores are of another shape.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> envs = gymnasium.make_vec("yieldrl/Sums-v1", num_envs=2, max_operand=99)
        >>> length = lambda obs, answer: (answer != 0).sum(1).float()
        >>> judged = JudgedReward(envs, length)
        >>> _ = judged.reset(seed=0)  # 49+8= and 76+13=
        >>> _, reward, *_, info = judged.step(["57", "1"])
        >>> reward, info["true_reward"]
        (tensor([2., 1.]), tensor([1., 0.]))
    """

    training_alone = True
    carried = ("seen",)
    recorded_info = ("true_reward",)

    def __init__(self, envs: VectorEnv, judge: Judge) -> None:
        super().__init__(envs)
        self.judge = judge
        empty = create_empty_array(envs.single_observation_space, self.num_envs)
        self.seen = tree_map(lambda x: x.to(self.inside), as_tensors(empty))
        self._chosen: Any = None

    def action(self, actions: Any) -> Any:
        given = encoded(self.single_action_space, actions)
        self._chosen = torch.as_tensor(given, device=self.inside)
        return actions

    def after_reset(self, obs: Any, where: Tensor) -> Any:
        self.seen = replaced(self.seen, obs, where)
        return obs

    def after_step(self, step: Step) -> Step:
        with torch.no_grad():
            score = self.judge(self.seen, self._chosen)
        if score.shape != step.reward.shape:
            raise ValueError(
                f"the judge's scores are of shape {tuple(score.shape)}, and must be"
                f" {tuple(step.reward.shape)}: return one for each action"
            )
        self.seen = copied(step.obs)
        info = {**step.info, "true_reward": step.reward}
        return step._replace(reward=score.to(step.reward), info=info)
