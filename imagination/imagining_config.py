"""Hyper-parameters of a model of the world that is learned beside a policy."""

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.foundations import (
    BatchSize,
    Count,
    LearningRate,
    StepsOrZero,
    UnitInterval,
)
from yieldrl.imagination.places import ImaginesElsewhere


@dataclass(frozen=True, kw_only=True)
class ImaginesTooConfig(ImaginesElsewhere):
    """Fields of imagination beside real rollouts, and of the world model.

    It stands before the config of an algorithm, whose fields then follow.
    """

    stages: Annotated[int, Field(ge=1, le=2)] = 2
    """1 learns model and policy together, one gradient step for both losses; 2 the
    model first, on all that was seen, and then the policy, each with an optimizer."""

    horizon: Count = 4
    """Decisions of an imagined branch (H), at most. More look further ahead, and add up
    more of the model's errors."""

    num_branches: Count = 256
    """Branches that are imagined at a time, each from a real state. More give steadier
    updates, and take more time."""

    refreshes: Count = 4
    """How often branches are imagined for each real rollout, by the policy as it is
    then. More learn more from the model for every real step, and trust it more."""

    real_share: UnitInterval = 0.5
    """Share of real steps among those that the policy learns from, as far as the
    rollout has so many. 0 learns from imagination alone, 1 imagines nothing."""

    outcome: Literal["three_classes", "number", "symlog"] = "three_classes"
    """How reward and end are predicted: `three_classes` for rewards of 1 that end an
    episode, `number` for all others, `symlog` for those of very different sizes."""

    action_token: Literal["numbers", "bins"] = "numbers"
    """How the model reads actions that are numbers: as these, or as policy bins."""

    buffer_size: Count = 50_000
    """Real transitions to keep for the model. More are more varied, take more memory,
    and are older."""

    model_batch_size: BatchSize = 256
    """Transitions of each gradient step of the model, where it learns by itself."""

    model_warmup_steps: StepsOrZero = 300
    """Gradient steps of the model on the first rollout, before anything is imagined.
    More imagine better at first."""

    model_steps: StepsOrZero = 100
    """Gradient steps of the model on each later rollout, with 2 stages. More fit what
    was seen better."""

    model_micro_batches: Count = 1
    """Parts in which a batch goes through the model. More take less memory."""

    model_learning_rate: LearningRate = 1e-3
    """Learning rate of the model's trunk. Pretrained ones take less, 3e-5 say."""

    head_learning_rate: LearningRate = 1e-3
    """Learning rate of the heads on the model's trunk, which are always new."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if getattr(self, "learners", 0):
            config: Any = self
            raise config.error(
                "learners",
                "each would have a model of the world of its own, that learns by"
                " itself: choose 0",
            )
