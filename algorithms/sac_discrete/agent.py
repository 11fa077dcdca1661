"""The agent of SAC for discrete actions: explores by sampling from its policy."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import sac
from yieldrl.foundations import spaces

from .algorithm import Algorithm


class Agent(sac.Agent):
    """Uniformly random at first, samples of the policy from then on."""

    algorithm: Algorithm

    def random_action(self, obs: Any) -> Tensor:
        """Every action as likely, `[N]`."""
        size, most = (spaces.batch_size(obs),), self.algorithm.model.num_actions
        options: Any = {"generator": self.generator, "device": self.device}
        return torch.randint(most, size, **options)
