"""PPO whose actor is wider than its critic."""

from yieldrl.algorithms import ppo
from yieldrl.algorithms.ppo import Config, Model
from yieldrl.networks import MLP, action_size


def wide_actor(model: Model, config: Config) -> MLP:
    """An actor with twice the width of the critic."""
    widths = [2 * width for width in config.hidden_sizes]
    sizes = [model.actor_size(config), *widths, action_size(model.action_space)]
    return MLP(sizes, config.activation, last_gain=0.01)


class Algorithm(ppo.Algorithm):
    """PPO whose actor has twice the width of its critic."""

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        model.actor = wide_actor(model, config).to(self.device)
