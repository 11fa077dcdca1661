"""Rewards from a judge: a rule or a model."""

from collections.abc import Callable
from typing import Any

import torch
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.envs.arrays import as_tensors, copied, replaced
from yieldrl.envs.autoreset import Step
from yieldrl.envs.batched.tree import tree_map
from yieldrl.envs.wrappers.base import BatchWrapper
from yieldrl.foundations.text import encoded

Judge = Callable[[Any, Tensor], Tensor]
"""From observations `[N, ...]` and the actions on them `[N, ...]` to scores `[N]`."""


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

    of_rewards = True
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

    def begin(self, obs: Any, where: Tensor) -> Any:
        self.seen = replaced(self.seen, obs, where)
        return obs

    def take(self, step: Step) -> Step:
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
