"""The mathematics of prioritized replay: weights that undo its bias, and priorities."""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import dqn


class Algorithm(dqn.Algorithm):
    """DQN that learns from weighted transitions and says how wrong it was on each.

    Schaul et al. 2016, "Prioritized Experience Replay", arXiv:1511.05952, algorithm 1.
    `learn` writes `priority [B]`, which belongs into the buffer, into its batch.

    Differs from the paper: it is DQN as in `dqn.Algorithm`, without Double DQN's target
    and without clipped errors, with DQN's own learning rate (the paper divides it by
    four).
    """

    def update(self, rollout: TensorDict) -> Logs:
        """One gradient step on all transitions `[T, N]`, which all weigh alike."""
        ones = torch.ones_like(rollout["reward"])
        return super().update(rollout.copy().set("weight", ones))

    def element_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The loss of every transition, `[B]`, and metrics; `data` gets `priority`."""
        element_loss, elements = super().element_loss(data)
        data["priority"] = self.priority(element_loss, elements).detach()
        return element_loss, elements

    def weigh(self, element_loss: Tensor, data: TensorDict) -> Tensor:
        """The mean of `w_i L_i`, with the importance weights of the sample."""
        return super().weigh(data["weight"] * element_loss, data)

    def priority(self, element_loss: Tensor, elements: Logs) -> Tensor:
        """The priority of each transition, `[B]`: `|td_error|`."""
        return elements["td_error"]
