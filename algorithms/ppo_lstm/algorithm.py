"""The mathematics of recurrent PPO: PPO's, over sequences."""

from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.buffers import Minibatches, sequences

from .model import Model


class Algorithm(ppo.Algorithm):
    """PPO with a policy that goes by what it sees and by what it remembers.

    The gradient flows back through time to the start of the rollout and no further:
    the memory from which a sequence starts is data, as it was when acting.
    """

    model: Model

    def passes(self, prepared: TensorDict, seed: int) -> Minibatches:
        """Epochs in random order over the sequences of whole environments."""
        config, pieces = self.config, sequences(prepared, starts=["memory"])
        epochs, minibatches = config.num_epochs, config.num_minibatches
        return Minibatches(pieces, epochs, minibatches, seed, sequences=True)

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """PPO's objective, on a minibatch of sequences `[T, n]`."""
        action = data["action"].flatten(0, 1)
        evaluated = self.model.evaluate_actions(self.model.inputs(data), action)
        flat = data.exclude("obs", "memory").flatten(0, 1)
        if "valid" in flat.keys():  # noqa: SIM118 - TensorDict iterates over the batch
            valid = flat["valid"]  # skip steps that only reset
            flat, evaluated = flat[valid], [part[valid] for part in evaluated]
        return self.objective(flat, *evaluated)
