"""Hyper-parameters of PPO."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.foundations import LearningRate, Positive
from yieldrl.on_policy import OnPolicyConfig, check_desired_kl


@dataclass(frozen=True, kw_only=True)
class Config(OnPolicyConfig):
    """Proximal policy optimization; the defaults solve CartPole-v1 in 100 000 steps and
    Pendulum-v1 in 300 000."""

    num_epochs: Annotated[int, Field(ge=1, le=10**4)] = 4
    """Passes over each rollout. More learn more from it and move the policy further
    from the one that acted; `clip_coef` and `target_kl` limit that."""

    num_minibatches: Annotated[int, Field(ge=1)] = 4
    """Minibatches of each pass, with one gradient step on each. More are noisier."""

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam at the start. Too high makes the policy collapse."""

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_minibatches > self.batch_size:
            remedy = f"a rollout has only {self.batch_size} transitions"
            raise self.error("num_minibatches", remedy)
        check_desired_kl(self)

    @property
    def minibatch_size(self) -> int:
        """Transitions of a minibatch (of the smallest, if they differ by one)."""
        return self.batch_size // self.num_minibatches
