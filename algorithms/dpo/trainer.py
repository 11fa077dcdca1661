"""The schedule of DPO."""

from gymnasium.vector import VectorEnv

from yieldrl.abstractions import Policy
from yieldrl.algorithms.behavior_cloning.cloned_first import ClonesFirst
from yieldrl.algorithms.ppo.model import Actor
from yieldrl.envs.names import find_function
from yieldrl.envs.wrappers import GroupStarts, JudgedReward
from yieldrl.language import writer_or

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
    config_class = Config
    model_class = staticmethod(writer_or(Actor))
    policy_class = Policy
    algorithm_class = Algorithm

    _learns_in_step = False  # processes would drop different pairs

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Let the judge score actions, and pairs of environments begin together."""
        if not training:
            return envs
        if self.config.judge != "reward":
            judge = find_function("judge", self.config.judge, "(obs, action)")
            envs = JudgedReward(envs, judge)
        return GroupStarts(envs, 2, self.config.num_steps)
