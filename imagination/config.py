"""Hyper-parameters of imagination with a model of the world."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.core import BatchSize, Count, LearningRate, StepsOrZero, UnitInterval
from yieldrl.core.checked import Checked


@dataclass(frozen=True, kw_only=True)
class ImaginationConfig(Checked):
    """Fields of algorithms that imagine branches, beside real steps.

    It stands before the config of an algorithm, whose fields then follow.
    """

    imagination_actors: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Processes that imagine an equal share of the branches each, with `ray`; they take
    a GPU each where `device` names one. With 0 this process imagines."""

    horizon: Annotated[int, Field(ge=1, le=1_000)] = 4
    """Decisions of an imagined branch (H), at most. More look further ahead, and add up
    more of the model's errors."""

    num_branches: Annotated[int, Field(ge=1, le=2**20)] = 256
    """Branches that are imagined at a time, each from a real state. More give steadier
    updates, and take more memory and time."""

    real_share: UnitInterval = 0.5
    """Share of real steps among those that are learned from, as far as there are so
    many. Higher trusts the model less; with 1 nothing imagined is learned from."""

    outcome: Literal["number", "symlog", "three_classes"] = "number"
    """How the model predicts rewards: `number` by squared error, `symlog` as a
    distribution over bins of very different sizes, `three_classes` together with the
    end, for rewards of 1 that end an episode and no others."""

    model_learning_rate: LearningRate = 1e-3
    """Learning rate of the model; of heads on a trunk see `head_learning_rate`. Too
    high diverges; a pretrained trunk takes less, 3e-5 say."""

    model_batch_size: BatchSize = 256
    """Transitions of each gradient step of the model, of each member of an ensemble.
    More give gradients with less noise, and take longer."""

    def __post_init__(self) -> None:
        parent: Any = super()
        parent.__post_init__()
        whole: Any = self
        if self.imagination_actors and whole.collection != "ray":
            reason = "it is for processes of collection='ray'"
            raise self.error("imagination_actors", reason)

    def in_one_process(self, **changes: Any) -> Self:
        """This config without other processes, for use in one of these."""
        parent: Any = super()
        return parent.in_one_process(imagination_actors=0, **changes)


@dataclass(frozen=True, kw_only=True)
class WorldModelConfig(ImaginationConfig):
    """Fields of a policy that learns beside a model of the world, on its own trunk."""

    stages: Annotated[int, Field(ge=1, le=2)] = 2
    """1 learns model and policy together, one gradient step for both losses; 2 the
    model first, on all that was seen, and then the policy, each with an optimizer."""

    refreshes: Count = 4
    """How often branches are imagined for each real rollout, by the policy as it is
    then. More learn more from the model for every real step, and trust it more."""

    outcome: Literal["number", "symlog", "three_classes"] = "three_classes"

    buffer_size: Count = 50_000
    """Real transitions to keep for the model. More are more varied, take more memory,
    and are older."""

    model_warmup_steps: StepsOrZero = 300
    """Gradient steps of the model on the first rollout, before anything is imagined.
    More imagine better at first."""

    model_steps: StepsOrZero = 100
    """Gradient steps of the model on each later rollout, with 2 stages. More fit what
    was seen better."""

    head_learning_rate: LearningRate = 1e-3
    """Learning rate of the heads on the model's trunk, which are always new."""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole: Any = self
        if getattr(whole, "learners", 0):
            reason = "each would have a model of the world of its own, that learns by"
            raise self.error("learners", f"{reason} itself: choose 0")
