"""Hyper-parameters of PPO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from yieldrl import foundations
from yieldrl.foundations import (
    Coefficient,
    Count,
    LearningRate,
    LogStd,
    Positive,
    Range,
    UnitInterval,
    Widths,
)

LOWEST_RATE, HIGHEST_RATE = 1e-5, 1e-2  # of those that `desired_kl` sets


@dataclass(frozen=True, kw_only=True)
class Config(foundations.Config):
    """Proximal policy optimization; the defaults solve CartPole-v1 in 100 000 steps and
    Pendulum-v1 in 300 000."""

    retired: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "correction": (
            "clip",
            "ppo clips, also beside a collector in the background (collection='async');"
            " for V-trace take the algorithm appo, for gipo the algorithm gipo",
        ),
        "gipo_sigma": (1.0, "it is a field of the algorithm gipo"),
    }

    num_steps: Count = 128
    """Steps that every environment takes for a rollout (T). More give better estimates
    of the advantage and fewer updates."""

    num_epochs: Annotated[int, Range(1, 10**4)] = 4
    """Passes over each rollout. More learn more from it and move the policy further
    from the one that acted; `clip_coef` and `target_kl` limit that."""

    num_minibatches: Annotated[int, Range(1)] = 4
    """Minibatches into which each pass is cut, with one gradient step on each. More are
    more and smaller steps, with noisier gradients."""

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam at the start. Higher learns faster, too high makes the
    policy collapse."""

    anneal_learning_rate: bool = True
    """Let the learning rate fall linearly to zero at `total_steps`. Turn it off to go
    on training later."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards, from 0 (only the next one counts) to 1 (all count
    alike). Rewards some 1 / (1 - gamma) steps ahead still matter."""

    gae_lambda: UnitInterval = 0.95
    """Lambda of generalized advantage estimation: 0 trusts the critic (little variance,
    more bias), 1 sums the rewards (much variance, no bias of the critic)."""

    clip_coef: Positive = 0.2
    """How far the probability ratio of an action may move from 1 before the objective
    stops to improve. Higher lets the policy change more per rollout; lower is slower
    and safer."""

    clip_value: Positive | None = None
    """How far a value may move from its old estimate before its loss stops to improve,
    in units of the returns that the critic learns. Lower makes the critic change more
    slowly; by default it is not limited."""

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

    target_kl: Positive | None = None
    """End the passes over a rollout after the first minibatch whose `approx_kl` (in
    nats) is above 1.5 times this number. Lower ends them sooner and keeps the policy
    closer to the one that acted; by default all passes are made."""

    desired_kl: Positive | None = None
    """The `approx_kl` (in nats) that the learning rate follows: a minibatch with over
    twice as much divides it by 1.5, one with less than half multiplies it by 1.5, from
    1e-5 to 1e-2. Higher learns in larger steps. It takes anneal_learning_rate=False."""

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
    deviation; both are saved with the model. It helps where components differ in
    size. Images, sentences, choices and flags stay as they are. While a part of the
    model that reads them is frozen, both stand still."""

    normalize_reward: bool = True
    """Divide rewards by the running standard deviation of the return, which is saved
    with the model, so that one learning rate fits rewards of any size. Reported returns
    are never scaled."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_group("actor_obs")
        self._check_group("critic_obs")
        self._check_batches()
        if self.desired_kl is not None:
            self._check_rate()

    def _check_group(self, name: str) -> None:
        """Refuse entries of observations that are named twice, or not at all."""
        names: tuple[str, ...] = getattr(self, name)
        if "" in names or len(set(names)) < len(names):
            raise self.error(name, "name every entry once, and none ''")

    def _check_rate(self) -> None:
        """Refuse a learning rate that cannot follow `desired_kl`."""
        if self.anneal_learning_rate:
            remedy = "the learning rate cannot follow it and fall linearly as well: set"
            raise self.error("desired_kl", f"{remedy} anneal_learning_rate=False")
        if not LOWEST_RATE <= self.learning_rate <= HIGHEST_RATE:
            remedy = f"desired_kl keeps it from {LOWEST_RATE} to {HIGHEST_RATE}"
            raise self.error("learning_rate", f"{remedy}: begin there")
        if self.num_epochs * self.num_minibatches == 1:
            remedy = "the policy has not moved before the first gradient step of a"
            remedy += " rollout: choose more num_epochs or num_minibatches"
            raise self.error("desired_kl", remedy)

    def _check_batches(self) -> None:
        """Refuse rollouts and minibatches that are too large or too small."""
        if self.batch_size > foundations.MAX_TRANSITIONS:
            raise self.error(
                "num_steps",
                f"{self.num_envs} environments make rollouts of {self.batch_size}"
                f" transitions: choose at most"
                f" {foundations.MAX_TRANSITIONS // self.num_envs}, or fewer num_envs",
            )
        if self.num_minibatches > self.batch_size:
            raise self.error(
                "num_minibatches", f"a rollout has only {self.batch_size} transitions"
            )
        if self.normalize_advantage and self.minibatch_size < 2:
            raise self.error(
                "normalize_advantage",
                f"{self.num_minibatches} minibatches of a rollout of {self.batch_size}"
                " leave one transition to some, which cannot be normalized: choose"
                " fewer, a longer rollout, or normalize_advantage=False",
            )

    def planned_learn_steps(self) -> int:
        """Gradient steps of a run whose passes are all made."""
        rollouts = -(-self.total_steps // self.batch_size)
        return rollouts * self.num_epochs * self.num_minibatches

    @property
    def batch_size(self) -> int:
        """Transitions of a rollout, `T * N`."""
        return self.num_steps * self.num_envs

    @property
    def minibatch_size(self) -> int:
        """Transitions of a minibatch (of the smallest, if they differ by one)."""
        return self.batch_size // self.num_minibatches
