"""Recipes by which workers make environments and agents in another process."""

from dataclasses import dataclass
from typing import Any

from gymnasium.vector import VectorEnv

from yieldrl import envs as environments
from yieldrl.foundations import Config, derive_seed, seed_everything


@dataclass
class EnvRecipe:
    """A recipe for the environments of a worker.

    Attributes:
        source: The argument of `yieldrl.envs.make`.
        config: With the number of environments of one worker, on the CPU.
        trainer_class: Its `wrap_envs` wraps them.
        index: The worker's number.
        life: How many workers of this number there were before.
    """

    source: Any
    config: Config
    trainer_class: Any
    index: int = 0
    life: int = 0

    @property
    def seed(self) -> int:
        """The seed; the first worker has that of a run without workers."""
        own, where = self.config.seed, f"rollout worker {self.index}, {self.life}"
        return own if self.index == self.life == 0 else derive_seed(own, where)

    def make(self) -> VectorEnv[Any, Any, Any]:
        """The environments, wrapped, in a process of their own."""
        seed_everything(self.seed)
        return self.make_here()

    def make_here(self) -> VectorEnv[Any, Any, Any]:
        """The environments, wrapped; global generators stay as they are."""
        made = environments.make(self.source, self.config)
        return wrapped(made, self.config, self.trainer_class, training=True)


@dataclass
class AgentRecipe:
    """A recipe for the agent of a worker.

    Attributes:
        agent_class: Called with an algorithm and a config.
        algorithm_class: Called with a model and a config.
        model: On the CPU.
    """

    agent_class: Any
    algorithm_class: Any
    model: Any

    def make(self, config: Config) -> Any:
        """An agent that explores, and adds entries such as `log_prob` to actions."""
        agent = self.agent_class(self.algorithm_class(self.model, config), config)
        return agent.actor()


def wrapped(
    envs: Any, config: Config, trainer_class: Any, *, training: bool = False
) -> VectorEnv[Any, Any, Any]:
    """Environments as a trainer of this class wraps them, for training or not."""
    trainer: Any = object.__new__(trainer_class)
    trainer.config = config  # `wrap_envs` may read it
    envs = trainer.wrap_envs(envs)
    return trainer.wrap_training_envs(envs) if training else envs
