"""The mathematics of C51: learn the distribution of the return, not its mean alone."""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import dqn
from yieldrl.functional import project

from .model import Model, of_action


class Algorithm(dqn.Algorithm):
    """DQN whose target and loss are distributions.

    Bellemare, Dabney & Munos 2017, "A Distributional Perspective on Reinforcement
    Learning", arXiv:1707.06887, algorithm 1.

    Differs from the paper: as `dqn.Algorithm` does.
    """

    model: Model
    target_model: Model

    @torch.no_grad()
    def td_target(self, data: TensorDict) -> Tensor:
        """The distribution of `r + gamma Z'(s', a')` on the atoms, `[B, K]`."""
        model = self.target_model
        probability = model.logits(data["next_obs"]).softmax(-1)  # [B, A, K]
        action = self.next_action(data, probability @ model.atoms)
        discount = data["discount"] * ~data["terminated"]
        returns = data["reward"].unsqueeze(1) + discount.unsqueeze(1) * model.atoms
        return project(of_action(probability, action), returns, model.atoms)

    def element_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """Cross entropy of every transition, `[B]`, and what to log of each.

        The divergence `kl` is what it is above the least that it can be, the target's
        own entropy: it is 0 where the prediction is right.
        """
        target = self.td_target(data)
        log_p = self.model.logits(data["obs"], data["action"]).log_softmax(-1)
        loss = -(target * log_p).sum(1)
        q_value = log_p.detach().exp() @ self.model.atoms
        td_error = target @ self.model.atoms - q_value
        kl = loss.detach() + torch.xlogy(target, target).sum(1)
        return loss, {"q_value": q_value, "td_error": td_error.abs(), "kl": kl}
