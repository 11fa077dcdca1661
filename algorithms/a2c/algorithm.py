"""The mathematics of A2C.

Mnih et al. 2016, "Asynchronous Methods for Deep Reinforcement Learning",
arXiv:1602.01783, algorithm S3, with its threads in step.
"""

from typing import Any, ClassVar

import torch
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.buffers import Minibatches, transitions
from yieldrl.core import LearningRate


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """Advantage actor-critic; the defaults solve CartPole-v1 in 100 000 steps."""

    num_epochs: ClassVar[int] = 1  # each rollout is used once, as a whole
    num_minibatches: ClassVar[int] = 1
    clip_coef: ClassVar[float] = 0.0
    clip_value: ClassVar[None] = None
    target_kl: ClassVar[None] = None
    desired_kl: ClassVar[None] = None

    num_envs: int = 8

    num_steps: int = 16
    """Steps that every environment takes before each update (t_max; the paper has 5).
    More give better estimates of the advantage and fewer updates."""

    learning_rate: LearningRate = 2e-3
    """Learning rate of RMSprop at the start. Higher learns faster, too high makes the
    policy collapse."""

    gae_lambda: float = 1.0  # as the paper: sum the rewards to the rollout's end
    normalize_advantage: bool = False


class Algorithm(ppo.Algorithm):
    """The policy gradient, with value loss and entropy bonus.

    PPO's gradient at its very first step is this one: the ratio is 1 there, so no clip
    acts, and the gradient of the ratio is that of the log-probability (Huang et al.
    2022, "A2C is a special case of PPO", arXiv:2205.09123).

    Differs from the paper: environments in step (A2C) for threads that write into one
    network whenever they are ready (A3C), actor and critic apart, orthogonal
    initialisation, scaled rewards, and RMSprop with epsilon outside of the square root.
    """

    config: Config

    takes_ratio = False

    def make_optimizer(self) -> torch.optim.Optimizer:
        """RMSprop without momentum, equations S2 and S3."""
        parameters, rate = self.model.parameters(), self.config.learning_rate
        return torch.optim.RMSprop(parameters, lr=rate, alpha=0.99, eps=1e-5)

    def evaluate(self, inputs: Any) -> dict[str, Tensor]:
        """`V(s)` `[B]`: where its own weights acted there is no need of `log_prob`."""
        return {"value": self.model.get_value(inputs["obs"])}

    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Compute advantages and returns, once per rollout `[T, N]`; nothing moves.

        Where the weights of now acted, `log_prob` is left out: the ratio is 1.
        """
        has_version = "policy_version" in set(rollout.keys())
        current = has_version and not self.is_stale(rollout)
        data = super().prepare(rollout)
        return data.exclude("log_prob") if current else data

    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """One minibatch of all transitions of a rollout `[T, N]`, used once."""
        return Minibatches(transitions(data), 1, 1, seed)

    def update_normalization(self, rollout: TensorDict) -> None:
        """Move the scale of rewards; that of observations moves after the step.

        No ratio would account for it: the step must see the policy that acted.
        """
        if self.reward_scaler is not None:
            self.reward_scaler.update(rollout)

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on the transitions `[B]` of a rollout."""
        logs = self.minimize(self.loss, data, max_grad_norm=self.config.max_grad_norm)
        self.model.update_normalization(data)
        return logs

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """The loss of the transitions `[B]` of a rollout, and what to log of it."""
        config, model = self.config, self.model
        if evaluated is None:
            evaluated = model.evaluate_actions(model.inputs(data), data["action"])
        log_prob, entropy, value = evaluated  # [B], [B], [B] or None
        policy_loss, entropy = self.policy_loss(log_prob, data), entropy.mean()
        loss = policy_loss - config.entropy_coef * entropy
        logs = {"policy_loss": policy_loss, "entropy": entropy}
        if value is not None:
            value_loss = 0.5 * (value - data["returns"]).square().mean()
            loss = loss + config.value_coef * value_loss
            logs["value_loss"] = value_loss
        logs = {"loss": loss, **logs, **model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}

    def policy_loss(self, log_prob: Tensor, data: TensorDict) -> Tensor:
        """`-A log pi(a | s)`: its gradient is the policy gradient.

        Actions of an older policy mu, whose `log_prob` was recorded, weigh
        `min(1, pi / mu)`: "1-step importance sampling" of Espeholt et al. 2018,
        arXiv:1802.01561, section 5.2.2, truncated as in V-trace with `rho_bar = 1`.
        """
        advantage = self.normalized(data["advantage"])
        acted = data.get("log_prob", None)
        if acted is not None:
            ratio = (log_prob.detach() - acted).exp()
            advantage = ratio.clamp(max=1.0) * advantage
        return -(log_prob * advantage).mean()


class Trainer(ppo.Trainer):
    """A few steps in every environment, one gradient step on all of them, again."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
