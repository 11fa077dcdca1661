"""The mathematics of PPO.

Schulman et al. 2017, "Proximal Policy Optimization Algorithms", arXiv:1707.06347; with
the details that Huang et al. 2022, "The 37 Implementation Details of Proximal Policy
Optimization", found to matter.
"""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import gae
from yieldrl.networks import CompiledStep, RewardScaler

from .config import Config

CHUNK = 4096  # observations evaluated at a time, so that images fit into memory


class Algorithm(abstractions.Algorithm):
    """Clipped surrogate objective, with value loss and entropy bonus.

    Differs from the paper: orthogonal initialisation, normalised advantages, scaled
    rewards, Adam's epsilon 1e-5, annealed step size and clipped gradients, as its
    authors' code has.
    """

    config: Config
    model: Policy

    def __init__(self, model: Policy, config: Config) -> None:
        super().__init__(model, config)
        self.parameters = list(self.model.parameters())
        self.optimizer = self.make_optimizer()
        self.reward_scaler = (
            RewardScaler(config.num_envs, config.gamma).to(self.device)
            if config.normalize_reward
            else None
        )
        self.compiled_step = (
            CompiledStep(self.loss, model, self.optimizer, config.max_grad_norm)
            if config.compile
            else None
        )

    def make_optimizer(self) -> torch.optim.Optimizer:
        """What takes the gradient steps."""
        rate = self.config.learning_rate
        return torch.optim.Adam(self.parameters, lr=rate, eps=1e-5, fused=True)

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self.model(obs, deterministic=True)[0]

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """What one look at the whole rollout `[T, N]` gives every minibatch of it.

        Adds `log_prob`, `value`, `advantage` and `returns`. The log-probabilities are
        those under which the actions were drawn; only then do the running statistics
        move, so that the ratio accounts for their move too.
        """
        self.remember_policy(rollout)
        self.model.update_normalization(rollout)
        if "value" not in rollout.keys():  # noqa: SIM118 - it iterates over the batch
            value = self._values(self.inputs(rollout).flatten(0, 1))
            rollout["value"] = value.view(rollout.batch_size)
        rollout["advantage"] = self.advantages(rollout)
        rollout["returns"] = rollout["advantage"] + rollout["value"]
        wanted = ("obs", "action", "log_prob", "value", "advantage", "returns", "valid")
        return rollout.select(*wanted, strict=False)

    def inputs(self, data: TensorDict) -> Any:
        """What the policy goes by, of a rollout or a minibatch: its observations."""
        return data["obs"]

    def last_inputs(self, rollout: TensorDict, index: Tensor) -> Any:
        """The same after the transitions at flat positions `[K]` of a rollout."""
        return rollout["next_obs"].flatten(0, 1)[index]

    def remember_policy(self, rollout: TensorDict) -> None:
        """Add the `log_prob [T, N]` of the policy that acted, if it did not itself."""
        if "log_prob" in rollout.keys():  # noqa: SIM118
            return
        both = self.inputs(rollout), rollout["action"]
        chunks = zip(*(x.flatten(0, 1).split(CHUNK) for x in both), strict=True)
        log_prob = [self.model.evaluate_actions(*chunk)[0] for chunk in chunks]
        rollout["log_prob"] = torch.cat(log_prob).view(rollout.batch_size)

    def advantages(self, rollout: TensorDict) -> Tensor:
        """Generalized advantage estimates `[T, N]`."""
        reward = rollout["reward"]
        if self.reward_scaler is not None:
            self.reward_scaler.update(rollout)
            reward = self.reward_scaler(reward)
        return gae(
            reward,
            rollout["value"],
            self.next_values(rollout),
            rollout["terminated"],
            rollout["truncated"],
            self.config.gamma,
            self.config.gae_lambda,
            rollout.get("valid", None),
        )

    def next_values(self, rollout: TensorDict) -> Tensor:
        """`V(next_obs)`, `[T, N]`.

        Within an episode that is the value of the following row. Only where the data
        or an episode were cut must the critic look at the last observation itself.
        """
        next_value = rollout["value"].roll(-1, dims=0)
        cut = rollout["truncated"].clone()
        cut[-1] = True
        index = cut.flatten().nonzero().squeeze(1)
        next_value.view(-1)[index] = self._values(self.last_inputs(rollout, index))
        return next_value

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The objective to minimise on a minibatch `[B]`, and what to log of it."""
        evaluated = self.model.evaluate_actions(self.inputs(data), data["action"])
        return self.objective(data, *evaluated)

    def objective(
        self, data: TensorDict, log_prob: Tensor, entropy: Tensor, value: Tensor
    ) -> tuple[Tensor, Logs]:
        """The same from what the policy now says of the minibatch, `[B]` each."""
        config = self.config
        log_ratio = log_prob - data["log_prob"]
        policy_loss = self.policy_loss(log_ratio.exp(), data["advantage"])
        value_loss = self.value_loss(value, data)
        entropy = entropy.mean()
        loss = (
            policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        )
        with torch.no_grad():
            ratio = log_ratio.exp()
            logs: Logs = {
                "loss": loss,
                "policy_loss": policy_loss,
                "value_loss": value_loss,
                "entropy": entropy,
                # Schulman 2020, "Approximating KL Divergence", estimator k3.
                "approx_kl": (ratio - 1 - log_ratio).mean(),
                "clip_fraction": ((ratio - 1).abs() > config.clip_coef).float().mean(),
            }
        return loss, {name: metric.detach() for name, metric in logs.items()}

    def policy_loss(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """Clipped surrogate, equation 7, with its sign turned."""
        advantage, clip = self.normalized(advantage), self.config.clip_coef
        clipped = ratio.clamp(1 - clip, 1 + clip)
        return -torch.minimum(ratio * advantage, clipped * advantage).mean()

    def normalized(self, advantage: Tensor) -> Tensor:
        """A minibatch's advantages, centred and scaled if the config says so."""
        if not self.config.normalize_advantage:
            return advantage
        return (advantage - advantage.mean()) / (advantage.std() + 1e-8)

    def value_loss(self, value: Tensor, data: TensorDict) -> Tensor:
        """Half the squared error to the returns, clipped if the config says so."""
        error = (value - data["returns"]).square()
        clip = self.config.clip_value
        if clip is not None:
            near = data["value"] + (value - data["value"]).clamp(-clip, clip)
            error = torch.maximum(error, (near - data["returns"]).square())
        return 0.5 * error.mean()

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        if self.compiled_step is not None:  # the same five lines as one function
            return self.compiled_step(data)
        loss, logs = self.loss(data)
        self.optimizer.zero_grad()
        loss.backward()
        logs["grad_norm"] = nn.utils.clip_grad_norm_(
            self.parameters, self.config.max_grad_norm
        )
        self.optimizer.step()
        return logs

    def _values(self, obs: Any) -> Tensor:
        return torch.cat([self.model.get_value(part) for part in obs.split(CHUNK)])
