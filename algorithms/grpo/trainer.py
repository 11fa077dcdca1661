"""The schedule of GRPO."""

import warnings
from typing import Any

from gymnasium.vector import VectorEnv

from yieldrl.abstractions import Policy
from yieldrl.algorithms import behavior_cloning
from yieldrl.envs.wrappers import GroupStarts
from yieldrl.language import writer_or
from yieldrl.on_policy import ClonesFirst, MLPActor

from .agent import Agent
from .algorithm import Algorithm
from .config import Config


class Trainer(ClonesFirst):
    """Let groups play from equal starts, compare their returns, learn, forget, again.

    >>> fields = {"num_envs": 64, "demonstration_steps": 64, "clone_steps": 1}
    >>> trainer = Trainer(Config(total_steps=128, d_model=32, eval_every=0, **fields))
    >>> phases = [log["logs"]["phase"] for log in trainer()]
    >>> phases[0], phases[-1], trainer.agent.sample_step
    (0.0, 1.0, 128)
    """

    config: Config
    agent: Agent
    config_class = Config
    model_class = MLPActor
    policy_class = Policy
    algorithm_class = Algorithm
    agent_class = Agent
    cloning_class = behavior_cloning.Trainer

    @property
    def default_model(self) -> Any:
        """Maker of the policy: a language model if actions are text."""
        return writer_or(super().default_model, self.envs)

    def wrap_training_envs(self, envs: VectorEnv) -> VectorEnv:
        """Let groups of environments begin together, once a rollout or oftener."""
        steps = self.config.num_steps
        groups = GroupStarts(envs, self.config.group_size, steps)
        if groups.horizon is not None and groups.horizon > steps:
            cut = f"num_steps = {steps}: episodes that take more teach nothing"
            warnings.warn(f"{cut}, and may take {groups.horizon}", stacklevel=2)
        return groups
