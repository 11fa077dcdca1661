"""Munchausen DQN, as a difference to DQN: three settings and a target."""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.exercises.ch17_your_own_algorithm import exercise
from yieldrl.exercises.ch17_your_own_algorithm.exercise import Config


class Algorithm(exercise.Algorithm):
    """DQN whose reward is lowered by how unlikely it thought its action."""

    @torch.no_grad()
    def td_target(self, data: TensorDict) -> Tensor:
        """Reward, bonus, and the discounted soft value of the next state, `[B]`."""
        config, tau = self.config, self.config.temperature
        log_policy = (self.target_model.value(data["obs"]) / tau).log_softmax(1)
        taken = log_policy.gather(1, data["action"].unsqueeze(1)).squeeze(1)
        bonus = config.munchausen_coef * (tau * taken).clamp(min=config.munchausen_clip)
        next_q = self.target_model.value(data["next_obs"])
        next_log_policy = (next_q / tau).log_softmax(1)
        soft = (next_log_policy.exp() * (next_q - tau * next_log_policy)).sum(1)
        return data["reward"] + bonus + data["discount"] * soft * ~data["terminated"]


class Trainer(exercise.Trainer):
    """DQN's schedule."""

    algorithm_class = Algorithm


__all__ = ["Algorithm", "Config", "Trainer"]
