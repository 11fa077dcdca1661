"""The schedule of PPO on real and on imagined rollouts."""

from yieldrl.algorithms import vla_ppo
from yieldrl.imagination.refreshing import RefreshesImagination

from .algorithm import Algorithm
from .config import Config


class Trainer(RefreshesImagination, vla_ppo.Trainer):
    """Clone an expert; then learn a model of the world and a policy, beside each other.

    >>> sizes = {"num_envs": 8, "num_steps": 4, "num_branches": 8, "refreshes": 2}
    >>> steps = {"demonstration_steps": 0, "total_steps": 64, "model_warmup_steps": 2}
    >>> trainer = Trainer(Config(**sizes, **steps, model_steps=1, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], int(trainer.algorithm.world.version)
    ('train', 64, 3)
    """

    config: Config

    config_class = Config
    algorithm_class = Algorithm
