"""Wrappers that bound rewards and rescale actions."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.envs.arrays import as_tensors
from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers.base import BatchWrapper
from yieldrl.foundations.actions import ActionTransform


class ClipReward(BatchWrapper):
    """Clips rewards to `[low, high]`. Trainers evaluate without it."""

    of_rewards = True

    def __init__(self, envs: VectorEnv, low: float = -1.0, high: float = 1.0) -> None:
        super().__init__(envs)
        if not low < high:
            raise ValueError(f"low = {low}, high = {high}: low must be less than high")
        self.low, self.high = low, high

    def take(self, step: Step) -> Step:
        return step._replace(reward=step.reward.clamp(self.low, self.high))


class SignReward(BatchWrapper):
    """Replaces rewards by their sign, -1, 0 or 1. Trainers evaluate without it.

    Mnih et al. 2015, "Human-level control through deep reinforcement learning", Nature
    518: one learning rate for games whose scores differ by orders of magnitude.
    """

    of_rewards = True

    def take(self, step: Step) -> Step:
        return step._replace(reward=step.reward.sign())


class RescaleAction(BatchWrapper):
    """Takes actions in [-1, 1], clipped, and stretches them to the environments'
    bounds.

    DDPG, TD3 and SAC do this by themselves; it helps a Gaussian policy, PPO's say,
    where bounds are far from 1. TypeError if actions are no bounded Box of floats.

    Example:
        >>> import gymnasium, torch, yieldrl.envs
        >>> envs = RescaleAction(gymnasium.make_vec("yieldrl/Pendulum-v1", num_envs=2))
        >>> envs.action(torch.tensor([[0.5], [-3.0]]))
        tensor([[ 1.],
                [-2.]])
    """

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__(envs)
        space: Any = envs.single_action_space
        floats = isinstance(space, Box) and np.issubdtype(space.dtype, np.floating)
        if not (floats and space.is_bounded("both")):
            raise TypeError(
                f"the action space {space} is no Box of floats with bounds on every"
                " side: actions in [-1, 1] have nothing to be stretched to"
            )
        self._border = ActionTransform(space, self.inside, unit_box=True)
        self.single_action_space = Box(-1, 1, space.shape, space.dtype.type)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def action(self, actions: Any) -> Any:
        """Actions `[N, ...]` scaled to the inner bounds, of the same type."""
        given = as_tensors(actions)
        if given.is_complex():
            raise ValueError(f"actions of {given.dtype}: they must be of real numbers")
        accepted = self._border.to_env(given)
        return accepted if isinstance(actions, Tensor) else accepted.numpy()
