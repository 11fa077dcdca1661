"""The mathematics of DQN (Mnih et al. 2015, Nature 518:529-533, algorithm 1)."""

import copy
import math
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
    """Q-learning on replayed transitions towards a target network that lags behind.

    Each idea of the value family has its method: `next_action`, `td_target`,
    `element_loss`, `weigh`. A variant overrides the one that it changes.

    Differs from the paper: Adam for RMSProp; by default the target follows slowly
    (`tau`, Lillicrap et al. 2016, arXiv:1509.02971), the learning rate falls to zero
    and errors of every size are squared. `error_clip=1` is the paper's clipped error.
    It wants clipped rewards too: with long returns the values diverge, because a
    terminal state's large error then weighs no more than each of many small ones.
    """

    config: Config
    model: Model

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        self.target_model = copy.deepcopy(self.model).requires_grad_(False)
        parameters, rate = self.model.parameters(), config.learning_rate
        self.optimizer = torch.optim.Adam(parameters, lr=rate, fused=True)

    def predict(self, obs: Any) -> Tensor:
        """The greedy action `[B]`."""
        return self.model.value(obs).argmax(1)

    def next_action(self, data: TensorDict, target_q_value: Tensor) -> Tensor:
        """The action `[B]` that values the next state: the best of `Q'(s', .)`."""
        return target_q_value.argmax(1)

    @torch.no_grad()
    def td_target(self, data: TensorDict) -> Tensor:
        """`r + gamma Q'(s', a')`, `[B]`; only a termination ends the future."""
        target_q_value = self.target_model.value(data["next_obs"])
        action = self.next_action(data, target_q_value)
        next_value = target_q_value.gather(1, action.unsqueeze(1)).squeeze(1)
        return data["reward"] + data["discount"] * next_value * ~data["terminated"]

    def element_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """Half the squared TD error of every transition, `[B]`, and metrics `[B]`."""
        q_value = self.model.value(data["obs"], data["action"])
        td_error = self.td_target(data) - q_value
        clip = self.config.error_clip
        size = td_error.abs() if clip is None else td_error.abs().clamp(max=clip)
        loss = size * (td_error.abs() - 0.5 * size)  # Huber 1964; e^2 / 2 unclipped
        return loss, {"q_value": q_value.detach(), "td_error": td_error.detach().abs()}

    def weigh(self, element_loss: Tensor, data: TensorDict) -> Tensor:
        """From the losses of the transitions `[B]` to one number: their mean."""
        return element_loss.mean()

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The objective to minimise on a batch `[B]`, and what to log of it."""
        element_loss, elements = self.element_loss(data)
        loss = self.weigh(element_loss, data)
        means = {name: metric.mean() for name, metric in elements.items()}
        return loss, {"loss": loss.detach(), **means}

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a batch `[B]`."""
        if self.config.anneal_learning_rate:
            self.anneal(self.counters.sample_step / self.config.total_steps)
        norm = self.config.max_grad_norm or math.inf  # inf: only measure it
        return self.minimize(self.loss, data, max_grad_norm=norm)

    def sync_target(self) -> None:
        """Move the target towards the model: `theta' += tau (theta - theta')`."""
        update_target(self.model, self.target_model, self.config.tau)
