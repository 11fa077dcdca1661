"""Wrappers that convert: tensors to arrays, and the scale of actions."""

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.core.conversion import ActionTransform
from yieldrl.envs.arrays import as_tensors
from yieldrl.envs.wrappers.base import BatchWrapper


class TorchToNumpy(BatchWrapper):
    """Steps environments of tensors with NumPy arrays, for code that needs arrays.

    With it a `TorchVectorEnv` is any vector environment of Gymnasium's. Every step
    waits for the device. `final_obs` is dense, and given in steps that end an episode.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> envs = TorchToNumpy(gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=2))
        >>> obs, _ = envs.reset(seed=0)
        >>> obs, reward, *_ = envs.step(np.array([0, 1]))
        >>> type(obs).__name__, reward
        ('ndarray', array([1., 1.], dtype=float32))
    """

    gives_arrays = True

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__(envs)
        self.device = torch.device("cpu")

    def action(self, actions: Any) -> Any:
        return torch.tensor(np.asarray(actions), device=self.inside)


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
        accepted = self._border.to_env(given)
        return accepted if isinstance(actions, Tensor) else accepted.numpy()
