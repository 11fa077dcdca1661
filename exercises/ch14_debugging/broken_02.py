"""PPO that need not remember what acting said of its actions."""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo


class Algorithm(ppo.Algorithm):
    """PPO that asks the policy for `log_prob` where the ratio needs it."""

    def surrogate(self, data: TensorDict, log_prob: Tensor) -> tuple[Tensor, Logs]:
        """The policy's part of the loss, and how far it has moved."""
        with torch.no_grad():
            acted, *_ = self.model.evaluate_actions(
                self.model.inputs(data), data["action"]
            )
        return super().surrogate(data.copy().set("log_prob", acted), log_prob)


class Trainer(ppo.Trainer):
    """PPO's schedule around another algorithm."""

    algorithm_class = Algorithm
