"""Three policies behind one algorithm: an MLP, a CNN and a VLA."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.algorithms import ppo, vla_ppo
from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers import BatchWrapper
from yieldrl.foundations import spaces

POLICIES = ("vla", "cnn", "mlp")


class FlatPixels(BatchWrapper):
    """Shows images (`rgb` of a Dict) as vectors of their numbers, divided by 255."""

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(envs)
        inside = envs.single_observation_space
        assert isinstance(inside, Dict)
        size = int(np.prod(spaces.shape_of(inside["rgb"])))
        self.single_observation_space = Dict({**inside, "rgb": Box(0, 1, (size,))})
        self.observation_space = batch_space(
            self.single_observation_space, self.num_envs
        )

    def begin(self, obs: Any, where: Tensor) -> Any:
        return _flat(obs)

    def take(self, step: Step) -> Step:
        return step.with_observations(_flat)


def _flat(obs: dict[str, Tensor]) -> dict[str, Tensor]:
    return {**obs, "rgb": obs["rgb"].flatten(1).float() / 255}


class FlatTrainer(vla_ppo.Trainer):
    """Trains a policy that reads numbers alone."""

    def wrap_envs(self, envs: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
        return super().wrap_envs(FlatPixels(envs))


def make_trainer(policy: str, config: vla_ppo.Config, **parts: Any) -> vla_ppo.Trainer:
    """A trainer of `vla_ppo` with one of `POLICIES`."""
    if policy == "vla":
        return vla_ppo.Trainer(config, **parts)
    kind = FlatTrainer if policy == "mlp" else vla_ppo.Trainer
    return kind(config, model=ppo.Model)
