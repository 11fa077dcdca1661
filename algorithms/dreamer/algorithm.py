"""The mathematics of Dreamer (Hafner et al. 2023, arXiv:2301.04104)."""

import copy
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.buffers import transitions
from yieldrl.core import derive_seed
from yieldrl.functional import gae
from yieldrl.imagination import imagine, imagined_return
from yieldrl.networks import RunningMean, update_target

from .config import Config
from .model import Model


class Algorithm(abstractions.Algorithm):
    """A world model learns from what was seen, actor and critic from what it imagines.

    Differs from the paper: reward and end follow from the state before them (see
    `LatentModel`); returns bootstrap from a target critic, which learns from imagined
    states alone; the networks are narrow, and plain: no normalization within.
    """

    config: Config
    model: Model

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        model = self.model
        self.target_critic = copy.deepcopy(model.critic).requires_grad_(False)
        world, rate = model.world.parameters(), config.learning_rate
        self.optimizer = torch.optim.Adam(world, lr=rate, fused=True)
        behavior = [*model.actor.parameters(), *model.critic.parameters()]
        behavior += [] if model.log_std is None else [model.log_std]
        rate = config.behavior_rate
        self.behavior_optimizer = torch.optim.Adam(behavior, lr=rate, fused=True)
        self.spread = RunningMean(decay=0.99).to(self.device)  # of imagined returns
        quantiles = torch.tensor([0.05, 0.95], dtype=torch.float32)  # of returns
        self.quantiles = quantiles.to(self.device)
        self.generator = torch.Generator(self.device)  # of latents and imagination

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`, in the likeliest state."""
        return self.model.policy(self.model.state(obs)).mode()

    def world_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The model's, on sequences `[T, B]`, into which it writes their `state`."""
        loss, state, logs = self.model.world.loss(data, self.generator)
        data["state"] = state
        return loss, {"loss": loss.detach(), **logs}

    @torch.no_grad()
    def imagined(self, state: Tensor) -> TensorDict:
        """A segment `[H, B]` from states `[B, S]` on, with `advantage` and `returns`.

        The returns are those of equation 7, with the probability of an end in the
        discount; advantages are divided by the range of the returns, from their 5th to
        their 95th percentile, if that is above 1 (equations 11 and 12).
        """
        model, config = self.model, self.config
        segment = imagine(
            model.world,
            lambda state, drawn: {"action": model.policy(state).sample(drawn)},
            state,
            config.horizon,
            gamma=config.gamma,
            generator=self.generator,
            soft=True,
        )
        last = segment["next_obs"][-1:]
        critic = self.target_critic(torch.cat([segment["obs"], last]))
        value, reward = model.returns.mean(critic), segment["reward"]
        no, discount = torch.zeros_like(segment["terminated"]), segment["discount"]
        of = reward, value[:-1], value[1:], no, no, discount
        advantage = gae(*of, config.gae_lambda)
        segment["returns"] = returns = advantage + value[:-1]
        low, high = returns.quantile(self.quantiles)
        self.spread.update(high - low)
        segment["advantage"] = advantage / self.spread.value.clamp(min=1.0)
        return segment

    def behavior_loss(self, segment: TensorDict) -> tuple[Tensor, Logs]:
        """The loss of actor and critic on imagined steps `[B]`; equations 6, 10 and 11.

        Each step counts as probably as it is reached.
        """
        state, reached = segment["obs"], segment["reached"]
        policy = self.model.policy(state)
        entropy, log_prob = policy.entropy(), policy.log_prob(segment["action"])
        objective = segment["advantage"] * log_prob + self.config.entropy_coef * entropy
        actor_loss = -(reached * objective).mean()
        bins, returns = self.model.critic(state), segment["returns"]
        critic_loss = (reached * self.model.returns.loss(bins, returns)).mean()
        logs = {"actor_loss": actor_loss, "critic_loss": critic_loss}
        logs |= {"entropy": entropy.mean(), "value": returns.mean()}
        logs = {name: metric.detach() for name, metric in logs.items()}
        return actor_loss + critic_loss, logs

    def learn(self, data: TensorDict) -> Logs:
        """A gradient step of the world model, then one of actor and critic."""
        step = f"imagination {self.counters.learn_step}"
        self.generator.manual_seed(derive_seed(self.config.seed, step))
        norm = self.config.max_grad_norm
        logs = self.minimize(self.world_loss, data, max_grad_norm=norm)
        segment = self.imagined(transitions(data)["state"])
        logs["imagined_return"] = imagined_return(segment).mean()
        steps, optimizer = segment.flatten(), self.behavior_optimizer
        return self.minimize(self.behavior_loss, steps, optimizer, norm) | logs

    def sync_target(self) -> None:
        """Move the target critic: `theta' += tau (theta - theta')`."""
        update_target(self.model.critic, self.target_critic, self.config.tau)
