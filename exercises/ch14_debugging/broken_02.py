"""PPO that need not remember what acting said of its actions."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo


class Algorithm(ppo.Algorithm):
    """PPO that asks the policy for `log_prob` where the ratio needs it."""

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """The loss of a minibatch `[B]`, and how far the policy has moved."""
        with torch.no_grad():
            acted, *_ = self.model.evaluate_actions(
                self.model.inputs(data), data["action"]
            )
        return super().loss(data.copy().set("log_prob", acted), evaluated)
