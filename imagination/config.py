"""Hyper-parameters of world models, and of imagination with them."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl import core
from yieldrl.core import (
    BatchSize,
    Coefficient,
    Count,
    LearningRate,
    Steps,
    StepsOrZero,
    UnitInterval,
    Widths,
)
from yieldrl.core.checked import Checked
from yieldrl.functional import linear


@dataclass(frozen=True, kw_only=True)
class ImaginationActorsConfig(Checked):
    """Fields of imagination on Ray; it stands before the config of an algorithm."""

    imagination_actors: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Processes that imagine an equal share of the branches each, with `ray`; they take
    a GPU each where `device` names one. With 0 this process imagines."""

    def __post_init__(self) -> None:
        parent: Any = super()
        parent.__post_init__()
        whole: Any = self
        if self.imagination_actors and whole.collection != "ray":
            said = "it is for processes of collection='ray'"
            raise self.error("imagination_actors", said)

    def in_one_process(self, **changes: Any) -> Self:
        """This config without other processes, for use in one of these."""
        parent: Any = super()
        return parent.in_one_process(imagination_actors=0, **changes)


Horizon = Annotated[int, Field(ge=1, le=1_000)]
Members = Annotated[int, Field(ge=1, le=100)]


@dataclass(frozen=True, kw_only=True)
class ImaginationConfig(ImaginationActorsConfig, core.Config):
    """Fields of algorithms that imagine branches with an ensemble."""

    model_every: Steps = 250
    """Environment steps between fits of the model, after each of which branches are
    imagined anew. Fewer keep the model and what it imagines up to date, and take
    longer."""

    horizon_start: Horizon = 1
    """Steps of an imagined branch in the beginning. Longer ones go further from what
    was seen, and add up the model's errors."""

    horizon_end: Horizon = 1
    """Steps of an imagined branch once the schedule has ended."""

    horizon_fraction: UnitInterval = 1.0
    """Share of `total_steps` over which the horizon goes linearly from `horizon_start`
    to `horizon_end`, in whole steps."""

    num_branches: Annotated[int, Field(ge=1, le=2**20)] = 10_000
    """Branches imagined after each fit, each from a real state on. More vary what is
    learned from until the next fit, and take memory and time."""

    real_share: UnitInterval = 0.05
    """Share of each batch that is real; the rest is imagined. Higher trusts the model
    less; with 1 nothing imagined is learned from."""

    model_learning_rate: LearningRate = 1e-3
    """Learning rate of the model's Adam. Too high diverges."""

    model_batch_size: BatchSize = 256
    """Transitions of each member's batch in a gradient step of the model."""

    model_patience: Count = 5
    """Epochs without a better error in validation before a fit ends. More fit the data
    closer, and take longer."""

    model_epochs: Steps = 300
    """Most epochs of a fit."""

    model_hidden_sizes: Widths = (128, 128)
    """Widths of the hidden layers of each of the model's members. Wider ones can
    represent more and take longer to fit."""

    members: Members = 5
    """Networks of the model. Where they disagree, there are few data."""

    elites: Members = 3
    """Number of the model's networks, the best in validation, that imagine."""

    outcome: Literal["number", "symlog", "three_classes"] = "number"
    """How the model predicts rewards: `number` by squared error, `symlog` as a
    distribution over bins of very different sizes, `three_classes` together with the
    end, for rewards of 1 that end an episode and no others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.elites > self.members:
            raise self.error("elites", f"choose at most members = {self.members}")
        if self.replay_actor:
            said = "each fit of the model reads all transitions, in this process"
            raise self.error("replay_actor", f"{said}: choose False")

    def horizon(self, sample_step: int) -> int:
        """Steps of a branch that is imagined at an environment step."""
        steps = self.horizon_fraction * self.total_steps
        ends = self.horizon_start, self.horizon_end
        return round(linear(*ends, sample_step, steps))

    @property
    def imagined_size(self) -> int:
        """Imagined steps that are kept, at least those since the latest fit."""
        return self.num_branches * max(self.horizon_start, self.horizon_end)


@dataclass(frozen=True, kw_only=True)
class LatentConfig(core.Config):
    """The sizes of `LatentModel`, and the batches it learns from."""

    memory_size: Count = 128
    """Numbers of the recurrent state. More remember more, take longer, and are stored
    with every transition in the buffer."""

    groups: Count = 8
    """Categorical choices of the discrete latent. More carry more of the observation,
    and are harder to predict."""

    classes: Annotated[int, Field(ge=2, le=1_000)] = 8
    """Classes of each choice of the latent."""

    free_nats: Coefficient = 4.0
    """KL in nats between posterior and prior of the latent that is not penalised. Fewer
    make the model more predictable, and blind for what is rare; the paper has 1."""

    sequence_length: Annotated[int, Field(ge=2, le=1_000)] = 16
    """Steps of a sequence from the buffer: so far the gradient flows back in time.
    Longer ones teach to remember longer, and take longer."""

    outcome: Literal["symlog", "three_classes"] = "symlog"
    """How reward and end are predicted: `symlog` as a distribution over bins for
    rewards of any size, beside the end; `three_classes` as one question, for rewards of
    1 that end an episode and no others."""


@dataclass(frozen=True, kw_only=True)
class WorldModelConfig(ImaginationActorsConfig):
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
    """Parts in which a batch goes through the model in steps of its own. More take less
    memory. With 1 stage its share of the policy's batch goes along in the policy's."""

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
