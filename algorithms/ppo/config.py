"""Hyper-parameters of PPO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from yieldrl import foundations


@dataclass(frozen=True, kw_only=True)
class Config(foundations.Config):
    """Proximal policy optimization; the defaults solve CartPole-v1 in 100 000 steps and
    Pendulum-v1 in 300 000."""

    num_steps: int = 128
    """Steps of every environment in a rollout (T)."""

    num_epochs: int = 4
    """Passes over each rollout."""

    num_minibatches: int = 4
    """Minibatches into which a pass is cut."""

    learning_rate: float = 1e-3
    """Adam's step size at the start."""

    anneal_learning_rate: bool = True
    """Let the step size fall linearly to zero at `total_steps`."""

    gamma: float = 0.99
    """Discount of future rewards."""

    gae_lambda: float = 0.95
    """Generalized advantage estimation: 0 trusts the critic, 1 the rewards."""

    clip_coef: float = 0.2
    """How far the probability ratio may leave 1 before its gradient is cut."""

    clip_value: float | None = None
    """How far a value may leave its old estimate; by default as far as it likes."""

    normalize_advantage: bool = True
    """Centre and scale the advantages of every minibatch."""

    entropy_coef: float = 0.01
    """Weight of the entropy bonus, which keeps the policy exploring."""

    value_coef: float = 0.5
    """Weight of the value loss."""

    max_grad_norm: float = 0.5
    """Gradients are scaled down to this norm."""

    target_kl: float | None = None
    """End the passes over a rollout once the policy has moved this far, in nats."""

    hidden_sizes: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers, of the actor and of the critic."""

    activation: Literal["tanh", "relu"] = "tanh"
    """Activation of the hidden layers."""

    log_std_init: float = 0.0
    """Logarithm of a Gaussian policy's standard deviation at the start."""

    normalize_observation: bool = False
    """Centre and scale observations by running statistics, saved with the model."""

    normalize_reward: bool = True
    """Scale rewards by the running deviation of the return, saved with the model, so
    that one step size fits rewards of any size. Reported returns are never scaled."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("num_steps", "num_epochs", "num_minibatches"):
            self._check_range(name, low=1)
        for name in ("learning_rate", "clip_coef", "max_grad_norm"):
            self._check_range(name, low=0, above=True)
        for name in ("gamma", "gae_lambda"):
            self._check_range(name, low=0, high=1)
        for name in ("entropy_coef", "value_coef"):
            self._check_range(name, low=0)
        for name in ("clip_value", "target_kl"):
            if getattr(self, name) is not None:
                self._check_range(name, low=0, above=True)
        if any(width < 1 for width in self.hidden_sizes):
            raise self.error("hidden_sizes", "every width must be at least 1")
        if self.num_minibatches > self.batch_size:
            raise self.error(
                "num_minibatches", f"a rollout has only {self.batch_size} transitions"
            )
        if self.normalize_advantage and self.minibatch_size < 2:
            raise self.error(
                "num_minibatches",
                "minibatches of one cannot be normalized: choose fewer, a longer"
                " rollout, or normalize_advantage=False",
            )

    @property
    def batch_size(self) -> int:
        """Transitions of a rollout, `T * N`."""
        return self.num_steps * self.num_envs

    @property
    def minibatch_size(self) -> int:
        """Transitions of a minibatch (of the smallest, if they differ by one)."""
        return self.batch_size // self.num_minibatches
