"""The mathematics of recurrent PPO: PPO's, over sequences."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.buffers import Passes, sequences

from .model import Model


class Algorithm(ppo.Algorithm):
    """PPO with a policy that goes by what it sees and by what it remembers.

    The gradient flows back through time to the start of the rollout and no further:
    the memory from which a sequence starts is data, as it was when acting.
    """

    model: Model

    def inputs(self, data: TensorDict) -> Any:
        """Observations, the memory before each, and where episodes begin."""
        return data.select("obs", "memory", "first")

    def last_inputs(self, rollout: TensorDict, index: Tensor) -> Any:
        """Last observations, and what was remembered of the episode that they end."""
        flat = rollout.flatten(0, 1)[index]
        memory = self.model.step(self.inputs(flat))[1]
        inputs = {"obs": flat["next_obs"], "memory": memory}
        inputs["first"] = torch.zeros_like(flat["first"])
        return TensorDict(inputs, flat.batch_size)

    def passes(self, prepared: TensorDict, seed: int) -> Passes:
        """Epochs in random order over the sequences of whole environments."""
        config, pieces = self.config, sequences(prepared, starts=["memory"])
        epochs, minibatches = config.num_epochs, config.num_minibatches
        return Passes(pieces, epochs, minibatches, seed, sequences=True)

    def prepare(self, rollout: TensorDict) -> TensorDict:
        """As PPO does, one step from every memory that acting wrote down."""
        prepared = super().prepare(rollout)
        return prepared.update(rollout.select("memory", "first"))

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """PPO's objective, on a minibatch of sequences `[T, n]`."""
        action = data["action"].flatten(0, 1)
        evaluated = self.model.evaluate_actions(self.inputs(data), action)
        flat = data.exclude("obs", "memory").flatten(0, 1)
        if "valid" in flat.keys():  # noqa: SIM118 - TensorDict iterates over the batch
            valid = flat["valid"]  # steps that only reset teach nothing
            flat, evaluated = flat[valid], [part[valid] for part in evaluated]
        return self.objective(flat, *evaluated)
