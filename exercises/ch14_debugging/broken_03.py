"""PPO whose actor is wider than its critic."""

from yieldrl.algorithms import ppo
from yieldrl.algorithms.ppo import Config, Model
from yieldrl.networks import MLP, action_size


class Algorithm(ppo.Algorithm):
    """PPO whose actor has twice the width of its critic."""

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        outputs = action_size(model.action_space)
        widths = [2 * width for width in config.hidden_sizes]
        sizes = [model.actor_size(config), *widths, outputs]
        model.actor = MLP(sizes, config.activation, last_gain=0.01).to(self.device)


class Trainer(ppo.Trainer):
    """PPO's schedule around another algorithm."""

    algorithm_class = Algorithm
