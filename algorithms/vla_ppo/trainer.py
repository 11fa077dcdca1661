"""The schedule of vla_ppo: clone an expert, then improve by PPO."""

from typing import Any, ClassVar

from gymnasium.vector import VectorEnv

from yieldrl.abstractions import Policy
from yieldrl.algorithms import behavior_cloning, ppo
from yieldrl.envs.wrappers import ActionChunks
from yieldrl.on_policy import ClonesFirst

from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(ClonesFirst, ppo.Trainer):
    """Behaviour cloning and PPO, one after the other, on one model."""

    config: Config

    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    cloning_class = behavior_cloning.Trainer

    policy_class: ClassVar[type[Policy]] = Policy
    """What a model in place of `model_class`'s must be."""

    def wrap_envs(self, envs: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
        """Environments that take `chunk_length` actions at once."""
        config, length = self.config, self.config.chunk_length
        if length == 1:
            return envs
        each = {"each_reward": config.value_per == "action"}
        options = {"execute": config.execute_steps, "gamma": config.gamma, **each}
        return ActionChunks(envs, length, **options)
