"""The schedule of PPO."""

from yieldrl.on_policy import OnPolicyTrainer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(OnPolicyTrainer):
    """Collect a rollout, pass over it a few times in minibatches, forget it, again.

    Training ends with the first whole rollout at or after `total_steps`.

    >>> trainer = Trainer(Config(total_steps=1024, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 1024, 32)
    """

    config: Config
    agent: Agent
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
