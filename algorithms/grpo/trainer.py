"""The schedule of GRPO."""

import warnings

from gymnasium.vector import VectorEnv

from yieldrl.abstractions import Policy
from yieldrl.algorithms.behavior_cloning.cloned_first import ClonesFirst
from yieldrl.algorithms.ppo.model import Actor
from yieldrl.envs.wrappers import GroupStarts
from yieldrl.language import writer_or

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
    config_class = Config
    model_class = staticmethod(writer_or(Actor))
    policy_class = Policy
    algorithm_class = Algorithm

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Let groups of environments begin together, once a rollout or oftener."""
        if not training:
            return envs
        steps = self.config.num_steps
        groups = GroupStarts(envs, self.config.group_size, steps)
        if groups.horizon is not None and groups.horizon > steps:
            cut = f"num_steps = {steps}: episodes that take more teach nothing"
            warnings.warn(f"{cut}, and may take {groups.horizon}", stacklevel=2)
        return groups
