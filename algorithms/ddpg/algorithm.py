"""The mathematics of DDPG.

Lillicrap et al. 2016, "Continuous control with deep reinforcement learning",
arXiv:1509.02971, algorithm 1.
"""

import copy
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.networks import update_target

from .config import Config
from .model import Model


class Algorithm(abstractions.Algorithm):
    """Q-learning where an actor stands for the maximum over actions.

    Each idea of continuous control has its method: `target_action`, `target_value`,
    `critic_loss`, `actor_loss`. A variant overrides the one that it changes.

    Differs from the paper: normal noise for the Ornstein-Uhlenbeck process (Fujimoto et
    al. 2018, arXiv:1802.09477, found no difference); one learning rate for both
    networks, PyTorch's initialisation, no weight decay and no batch normalisation; the
    critic reads the action at its first layer.
    """

    config: Config
    model: Model

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        self.target_model = copy.deepcopy(self.model).requires_grad_(False)
        critic, actor = self.model.critic.parameters(), self.model.actor.parameters()
        rate = config.learning_rate
        self.optimizer = torch.optim.Adam(critic, lr=rate, fused=True)
        self.actor_optimizer = torch.optim.Adam(actor, lr=rate, fused=True)

    def predict(self, obs: Any) -> Tensor:
        """The actor's action `[B, ...]`, in [-1, 1]."""
        return self.model.action(obs)

    def target_action(self, data: TensorDict) -> Tensor:
        """The action in the target: that of the target actor, `[B, ...]`."""
        return self.target_model.action(data["next_obs"])

    def target_value(self, data: TensorDict) -> Tensor:
        """`Q'(s', mu'(s'))`, `[B]`."""
        return self.target_model.value(data["next_obs"], self.target_action(data))

    @torch.no_grad()
    def td_target(self, data: TensorDict) -> Tensor:
        """`r + gamma Q'(s', a')`, `[B]`; only a termination ends the future."""
        next_value = self.target_value(data)
        return data["reward"] + data["discount"] * next_value * ~data["terminated"]

    def critic_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """Half the squared TD error, its mean over the batch, and what to log.

        Of several critics, `[K, B]`, each has a loss of its own: they are added up.
        """
        q_value = self.model.value(data["obs"], data["action"])
        td_error = self.td_target(data) - q_value
        loss = 0.5 * td_error.square().mean(-1).sum()
        return loss, {"loss": loss.detach(), "q_value": q_value.detach().mean()}

    def actor_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """`-Q(s, mu(s))`, its mean over the batch: its gradient is equation 6."""
        obs = data["obs"]
        loss = -self.model.value(obs, self.model.action(obs)).mean()
        return loss, {"actor_loss": loss.detach()}

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step of the critic, then one of the actor, on a batch `[B]`."""
        return self.learn_critic(data) | self.learn_actor(data)

    def learn_critic(self, data: TensorDict) -> Logs:
        """One gradient step of the critic alone."""
        return self.minimize(self.critic_loss, data)

    def learn_actor(self, data: TensorDict) -> Logs:
        """One gradient step of the actor alone; the critic only passes gradients on."""
        return self.minimize(self.actor_loss, data, self.actor_optimizer)

    def sync_target(self) -> None:
        """Move the targets towards the model: `theta' += tau (theta - theta')`."""
        update_target(self.model, self.target_model, self.config.tau)
