"""The schedule of vla_grpo: clone an expert, then improve by GRPO."""

from yieldrl.algorithms import grpo, vla_ppo

from .algorithm import Algorithm
from .config import Config


class Trainer(grpo.Trainer):
    """Behaviour cloning and GRPO, one after the other, on one model.

    >>> from yieldrl.on_policy import MLPActor
    >>> world = {"env_id": "yieldrl/CartPole-v1", "num_steps": 500, "env_kwargs": {}}
    >>> options = {"demonstration_steps": 0, "total_steps": 4_000, "eval_every": 0}
    >>> trainer = Trainer(Config(num_envs=8, **world, **options), model=MLPActor)
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 4000, 4)
    """

    config: Config

    config_class = Config
    model_class = vla_ppo.Model
    algorithm_class = Algorithm

    wrap_envs = vla_ppo.Trainer.wrap_envs
