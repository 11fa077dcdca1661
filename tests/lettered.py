"""A policy that writes letters, whatever it sees, and an algorithm around it."""

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from torch import nn

from yieldrl.abstractions import Policy
from yieldrl.algorithms import grpo

VECTOR = Box(-1, 1, (3,), np.float32)


class Lettered(Policy):
    """Logits for each of L tokens, whatever is observed; action int64 `[B, L]`.

    A token 0 ends what is written.
    """

    has_critic = False

    def __init__(self, length=1, options=3):
        super().__init__(VECTOR, Discrete(options))
        self.logits = nn.Parameter(torch.linspace(-0.3, 0.4, length * options))
        self.size = length, options

    def _log_probs(self):
        return self.logits.view(self.size).log_softmax(-1)

    def forward(self, obs, deterministic=False):
        raise NotImplementedError

    def evaluate_actions(self, obs, action):
        table = self._log_probs().expand(len(action), *self.size)
        log_prob = table.gather(-1, action.unsqueeze(-1)).squeeze(-1)
        entropy = -(table.exp() * table).sum((1, 2))
        log_prob = log_prob.where(self.written(action), 0.0)
        return log_prob, entropy, None

    def written(self, action):
        ended = (action == 0).long().cumsum(1)
        return (ended == 0) | ((action == 0) & (ended == 1))


def algorithm_of(module=grpo, model=None, **options):
    sizes = {"num_envs": 6, "group_size": 3, "num_steps": 4, "device": "cpu"}
    sizes["demonstration_steps"] = 0
    config = module.Config(**{**sizes, **options})
    torch.manual_seed(0)
    return module.Algorithm(model or Lettered(), config)
