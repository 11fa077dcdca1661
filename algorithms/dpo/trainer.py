"""The schedule of DPO."""

from typing import Any

from gymnasium.vector import VectorEnv

from yieldrl.abstractions import Policy
from yieldrl.algorithms import behavior_cloning
from yieldrl.envs.names import find_function
from yieldrl.envs.wrappers import GroupStarts, JudgedReward
from yieldrl.language import writer_or
from yieldrl.on_policy import ClonesFirst, MLPActor

from .agent import Agent
from .algorithm import Algorithm
from .config import Config


class Trainer(ClonesFirst):
    """Clone an expert, let pairs of answers be judged, and learn from them.

    >>> fields = {"demonstration_steps": 0, "total_steps": 64, "eval_every": 0}
    >>> trainer = Trainer(Config(num_envs=64, **fields))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"]
    ('train', 64)
    """

    config: Config
    agent: Agent
    config_class = Config
    model_class = MLPActor
    policy_class = Policy
    algorithm_class = Algorithm
    agent_class = Agent
    cloning_class = behavior_cloning.Trainer

    parallel = False  # processes would drop different pairs

    @property
    def default_model(self) -> Any:
        """Maker of the policy: a language model if actions are text."""
        return writer_or(super().default_model, self.envs)

    def wrap_training_envs(self, envs: VectorEnv) -> VectorEnv:
        """Let the judge score actions, and pairs of environments begin together."""
        if self.config.judge != "reward":
            judge = find_function("judge", self.config.judge, "(obs, action)")
            envs = JudgedReward(envs, judge)
        return GroupStarts(envs, 2, self.config.num_steps)
