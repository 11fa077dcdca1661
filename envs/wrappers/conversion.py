"""Wrappers that convert: arrays to tensors and back, and the scale of actions."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.core.conversion import ActionTransform
from yieldrl.core.device import usable_device
from yieldrl.envs.arrays import as_tensors
from yieldrl.envs.wrappers.base import BatchWrapper


class NumpyToTorch(BatchWrapper):
    """Steps NumPy environments with tensors: takes tensors, returns some on `device`.

    For loops of your own: the trainers do this by themselves. Every step waits for the
    actions to come from the device. float64 becomes float32, in the observation space
    too (Gymnasium's own wrapper changes neither). Numbers in `info` become
    tensors; `final_obs` is dense and there in every step.
    """

    def __init__(self, envs: VectorEnv, *, device: str | torch.device = "cpu") -> None:
        super().__init__(envs)
        self.device = usable_device(device)  # "cuda" becomes "cuda:0"
        self.set_observation_space(_float32(envs.single_observation_space))

    def action(self, actions: Any) -> Any:
        # A copy, because environments may write into it.
        return actions.cpu().numpy().copy() if isinstance(actions, Tensor) else actions

    def to_caller(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self.to_caller(child) for name, child in value.items()}
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            value = as_tensors(value)
        if not isinstance(value, Tensor):
            return value
        dtype = torch.float32 if value.dtype == torch.float64 else value.dtype
        # A copy: environments may write each observation into the same array.
        return value.to(self.device, dtype, copy=True)


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

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__(envs)
        self.device = torch.device("cpu")

    def action(self, actions: Any) -> Any:
        return torch.tensor(np.asarray(actions), device=self.inside)

    def to_caller(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self.to_caller(child) for name, child in value.items()}
        return value.detach().cpu().numpy() if isinstance(value, Tensor) else value


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


def _float32(space: Space) -> Space:
    """The same space with float32 in place of float64."""
    if isinstance(space, Dict):
        return Dict({name: _float32(child) for name, child in space.items()})
    if isinstance(space, Box) and space.dtype == np.float64:
        return Box(space.low.astype(np.float32), space.high.astype(np.float32))
    return space
