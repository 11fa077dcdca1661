"""The schedule of GRPO."""

import warnings
from typing import Any

from gymnasium.vector import VectorEnv

from yieldrl.abstractions import Policy
from yieldrl.envs.wrappers import GroupStarts
from yieldrl.foundations import Utf8Text
from yieldrl.language import policy_for
from yieldrl.on_policy import MLPActor, OnPolicyTrainer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config


class Trainer(OnPolicyTrainer):
    """Let groups play from equal starts, compare their returns, learn, forget, again.

    >>> trainer = Trainer(Config(total_steps=6000, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 6000, 16)
    """

    config: Config
    agent: Agent
    config_class = Config
    model_class = MLPActor
    policy_class = Policy
    algorithm_class = Algorithm
    agent_class = Agent

    parallel = False  # in every process other groups would be left to learn from

    @property
    def default_model(self) -> Any:
        """Where actions are text, a policy that writes."""
        writes = isinstance(self.envs.single_action_space, Utf8Text)
        return policy_for if writes else super().default_model

    def wrap_training_envs(self, envs: VectorEnv) -> VectorEnv:
        """Let groups of environments begin together, once a rollout or oftener."""
        steps = self.config.num_steps
        groups = GroupStarts(envs, self.config.group_size, steps)
        if groups.horizon is not None and groups.horizon > steps:
            cut = f"num_steps = {steps}: episodes that take more teach nothing"
            warnings.warn(f"{cut}, and may take {groups.horizon}", stacklevel=2)
        return groups
