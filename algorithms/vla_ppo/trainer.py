"""The schedule of vla_ppo: clone an expert, then improve by PPO."""

from typing import Any, ClassVar

from gymnasium.vector import VectorEnv

from yieldrl.abstractions import Policy
from yieldrl.algorithms.behavior_cloning.cloned_first import ClonesFirst
from yieldrl.envs.wrappers import ActionChunks

from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(ClonesFirst):
    """Behaviour cloning and PPO, one after the other, on one model."""

    config: Config

    config_class = Config
    model_class = Model
    algorithm_class = Algorithm

    policy_class: ClassVar[type[Policy]] = Policy
    """What a model in place of `model_class`'s must be."""

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Environments that take `chunk_length` actions at once."""
        return in_chunks(envs, self.config)


def in_chunks(envs: VectorEnv, config: Any) -> VectorEnv:
    """Environments that take `chunk_length` actions at once."""
    if config.chunk_length == 1:
        return envs
    each = {"each_reward": getattr(config, "value_per", "chunk") == "action"}
    options = {"execute": config.execute_steps, "gamma": config.gamma, **each}
    return ActionChunks(envs, config.chunk_length, **options)
