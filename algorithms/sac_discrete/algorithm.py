"""The mathematics of SAC for discrete actions (Christodoulou 2019, algorithm 1)."""

import math

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import sac

from .config import Config
from .model import Model


class Algorithm(sac.Algorithm):
    """SAC that sums over all actions where it drew one before.

    Differs from the paper: targets follow by `tau` and are not copied now and then; by
    default the policy keeps half of the greatest entropy, for 0.98 of it can drive the
    temperature up without end.
    """

    config: Config
    model: Model

    def make_target_entropy(self) -> float:
        """The config's, or a share of `log A`."""
        given, share = self.config.target_entropy, self.config.entropy_share
        return share * math.log(self.model.num_actions) if given is None else given

    def target_value(self, data: TensorDict) -> Tensor:
        """`sum_a pi(a|s') (min_i Q_i'(s', a) - alpha log pi(a|s'))`, `[B]`."""
        obs = data["next_obs"]
        log_p = self.model.action(obs).log_softmax(1)
        next_value = self.target_critic(obs).amin(0)
        return (log_p.exp() * (next_value - self.temperature() * log_p)).sum(1)

    def actor_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """`sum_a pi(a|s) (alpha log pi(a|s) - min_i Q_i(s, a))`; equation 12."""
        obs = data["obs"]
        log_p = self.model.action(obs).log_softmax(1)
        with torch.no_grad():
            value, alpha = self.model.value(obs).amin(0), self.temperature()
        loss = (log_p.exp() * (alpha * log_p - value)).sum(1).mean()
        entropy = -(log_p.exp() * log_p).sum(1).detach().mean()
        return loss, {"actor_loss": loss.detach(), "entropy": entropy}
