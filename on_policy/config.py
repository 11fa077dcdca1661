"""Hyper-parameters of algorithms that learn from rollouts."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl import foundations
from yieldrl.foundations import Coefficient, Count, Positive, UnitInterval
from yieldrl.on_policy.network_config import ActorCriticConfig


@dataclass(frozen=True, kw_only=True)
class OnPolicyConfig(ActorCriticConfig):
    """What actor-critic methods on rollouts `[T, N]` have in common."""

    num_steps: Count = 128
    """Steps that every environment takes for a rollout (T). More give better estimates
    of the advantage and fewer updates."""

    anneal_learning_rate: bool = True
    """Let the learning rate fall linearly to zero at `total_steps`. Turn it off to go
    on training later."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards, from 0 (only the next one counts) to 1 (all count
    alike). Rewards some 1 / (1 - gamma) steps ahead still matter."""

    gae_lambda: UnitInterval = 0.95
    """Lambda of generalized advantage estimation: 0 trusts the critic (little variance,
    more bias), 1 sums the rewards (much variance, no bias of the critic)."""

    normalize_advantage: bool = True
    """Subtract the mean of every minibatch's advantages and divide by their standard
    deviation, so that the size of rewards does not change the size of the steps."""

    entropy_coef: Coefficient = 0.01
    """Weight of the policy's entropy in the objective. Higher keeps the policy more
    random and exploring for longer; 0 leaves it to the rewards."""

    value_coef: Coefficient = 0.5
    """Weight of the value loss beside the policy loss. It matters most where actor and
    critic share layers, and for `max_grad_norm`, which applies to both together."""

    max_grad_norm: Positive = 0.5
    """Gradients with a larger norm are scaled down to it. Lower makes steps more even
    and smaller; a very large number turns it off."""

    normalize_reward: bool = True
    """Divide rewards by the running standard deviation of the return, which is saved
    with the model, so that one learning rate fits rewards of any size. Reported returns
    are never scaled."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size > foundations.MAX_TRANSITIONS:
            most = foundations.MAX_TRANSITIONS // self.num_envs
            remedy = f"choose at most {most}, or fewer num_envs"
            size = f"rollouts of {self.batch_size} transitions"
            raise self.error(
                "num_steps", f"{self.num_envs} environments make {size}: {remedy}"
            )
        if self.normalize_advantage and self.minibatch_size == 1:
            remedy = "a longer rollout, fewer minibatches, or normalize_advantage=False"
            raise self.error(
                "normalize_advantage",
                "a minibatch of one transition cannot be normalized, and a rollout of"
                f" {self.batch_size} gives such: choose {remedy}",
            )

    def planned_learn_steps(self) -> int:
        """Gradient steps of a run that takes one on every rollout."""
        return -(-self.total_steps // self.batch_size)

    @property
    def batch_size(self) -> int:
        """Transitions of a rollout, `T * N`."""
        return self.num_steps * self.num_envs

    @property
    def minibatch_size(self) -> int:
        """Transitions of a minibatch (of the smallest, if they differ by one)."""
        return self.batch_size
