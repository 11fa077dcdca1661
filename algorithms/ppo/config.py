"""Hyper-parameters of PPO."""

from typing import Any, Literal

from pydantic.dataclasses import dataclass

from yieldrl import core
from yieldrl.core import (
    Coefficient,
    Count,
    LearningRate,
    LogStd,
    Positive,
    UnitInterval,
    Widths,
)


@dataclass(frozen=True, kw_only=True)
class Config(core.Config):
    """Proximal policy optimization; the defaults solve CartPole-v1 in 100 000 steps and
    Pendulum-v1 in 300 000."""

    num_steps: Count = 128
    """Steps that every environment takes for a rollout (T). More give better estimates
    of the advantage and fewer updates."""

    num_epochs: Count = 4
    """Passes over each rollout. More learn more from it and move the policy further
    from the one that acted; `clip_coef` and `target_kl` limit that."""

    num_minibatches: Count = 4
    """Minibatches of each pass, with one gradient step on each. More are noisier."""

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam at the start. Too high makes the policy collapse."""

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

    clip_coef: Positive = 0.2
    """How far the probability ratio of an action may move from 1 before the objective
    stops to improve. Higher changes the policy more per rollout; lower is safer."""

    clip_value: Positive | None = None
    """How far a value may move from its old estimate before its loss stops to improve,
    in units of (scaled) returns. Lower makes the critic slower; None is no limit."""

    target_kl: Positive | None = None
    """End the passes over a rollout after a minibatch whose `approx_kl` (in nats) is
    above 1.5 times this. Lower keeps the policy closer to the one that acted."""

    desired_kl: Positive | None = None
    """The `approx_kl` (in nats) that the learning rate follows: a minibatch with over
    twice as much divides it by 1.5, one with less than half multiplies it by 1.5, from
    1e-5 to 1e-2. Higher learns in larger steps. Needs anneal_learning_rate=False."""

    actor_obs: tuple[str, ...] = ()
    """Entries of a Dict observation that the actor reads, by default all. Acting does
    without the others, which may be there in training alone."""

    critic_obs: tuple[str, ...] = ()
    """Entries of a Dict observation that the critic reads, by default all. If they are
    others than the actor's, it has an encoder of its own."""

    hidden_sizes: Widths = (64, 64)
    """Widths of the hidden layers, of the actor and of the critic. Wider or more layers
    can represent more and take longer to compute and to learn."""

    activation: Literal["tanh", "relu"] = "tanh"
    """Activation of the hidden layers. `tanh` keeps outputs bounded; `relu` suits wider
    and deeper networks."""

    log_std_init: LogStd = 0.0
    """Logarithm of a Gaussian policy's standard deviation at the start; 0 is a standard
    deviation of 1. Higher explores more at first. Discrete actions do not use it."""

    normalize_observation: bool = False
    """Subtract the running mean of observations and divide by their running standard
    deviation, in float64; both are saved with the model. It helps where components
    differ in size, or are large and change little. Images, sentences, choices and flags
    stay as they are. While a frozen part of the model reads them, both stand still."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_minibatches > self.batch_size:
            remedy = f"a rollout has only {self.batch_size} transitions"
            raise self.error("num_minibatches", remedy)
        if self.batch_size > core.MAX_TRANSITIONS:
            most = core.MAX_TRANSITIONS // self.num_envs
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
        if self.desired_kl is not None and self.anneal_learning_rate:
            both = "the learning rate cannot follow it and fall linearly as well"
            raise self.error("desired_kl", f"{both}: set anneal_learning_rate=False")

    @property
    def batch_size(self) -> int:
        """Transitions of a rollout, `T * N`."""
        return self.num_steps * self.num_envs

    @property
    def minibatch_size(self) -> int:
        """Transitions of a minibatch (of the smallest, if they differ by one)."""
        return self.batch_size // self.num_minibatches


def check_whole_sequences(config: Any) -> None:
    """An error if minibatches of whole environments' sequences would be empty."""
    if config.num_minibatches > config.num_envs:
        few = f"sequences stay whole, and there are only {config.num_envs}"
        remedy = "choose fewer, or more num_envs"
        raise config.error("num_minibatches", f"{few}: {remedy}")
