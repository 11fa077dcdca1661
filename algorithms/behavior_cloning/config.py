"""Hyper-parameters of behaviour cloning."""

from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self

from pydantic.dataclasses import dataclass

from yieldrl import core
from yieldrl.core import (
    BatchSize,
    Coefficient,
    Count,
    LearningRate,
    LogStd,
    Positive,
    Steps,
    StepsOrZero,
    SyncOnly,
    UnitInterval,
    Widths,
)


@dataclass(frozen=True, kw_only=True)
class Config(SyncOnly, core.Config):
    """Behaviour cloning; the defaults clone an expert of CartPole in a few seconds."""

    actor_obs: ClassVar[tuple[str, ...]] = ()  # all observations are used
    critic_obs: ClassVar[tuple[str, ...]] = ()
    total_steps: ClassVar[Any] = property(attrgetter("demonstration_steps"))

    env_id: str = "yieldrl/CartPole-v1"
    """Id of a registered environment, for example `yieldrl/GoTo-v1`, which has an
    expert; `my_module:MyEnv-v0` imports `my_module` first, and `my_module:MyEnv` is a
    class or function in it that makes environments."""

    demonstrations: str = "expert"
    """Whom to clone: `expert` is the environment's own (its method `expert`),
    `my_module:function` makes actions of the environments and their observations, and
    anything else is a data set, read as a whole: the folder or the id of one of Minari,
    a folder of LeRobot's (version 3), or an HDF5 file or a folder of them of LIBERO."""

    demonstration_steps: Steps = 5_000
    """Environment steps that the expert takes, over all environments (rounded up to
    whole steps of all); a data set has its own. More show it in more situations."""

    skip_no_ops: bool = False
    """Leave out a data set's steps in which a robot does nothing, as OpenVLA does."""

    expert_noise: UnitInterval = 0.0
    """Probability of executing a random action, but recording the expert's (Laskey et
    al. 2017, arXiv:1703.09327). Higher shows more recoveries, and less of the task."""

    save_demonstrations: str | None = None
    """New folder of a Minari data set, into which the demonstrations are written for
    later runs; by default nothing is written."""

    num_epochs: Count = 20
    """Passes over the demonstrations. More fit them more closely, in the end also what
    is accidental about them."""

    learn_steps: Steps | None = None
    """Gradient steps, in place of `num_epochs`; by default as many as these take."""

    batch_size: BatchSize = 128
    """Transitions of each gradient step. Larger batches are less noisy and slower."""

    learning_rate: LearningRate = 3e-3
    """Learning rate of Adam at the start. Higher learns faster, too high diverges."""

    warmup_steps: StepsOrZero = 0
    """Gradient steps over which the learning rate rises from zero at the start.
    Transformers from scratch need some hundred to bear a higher learning rate."""

    anneal_learning_rate: bool = True
    """Let the learning rate fall linearly to zero, which averages out noise at the end.
    Turn it off to go on training later."""

    max_grad_norm: Positive | None = None
    """Gradients with a larger norm are scaled down to it; by default none are. Lower
    prevents large updates and slows learning from rare large errors."""

    value_coef: Coefficient = 0.5
    """Weight of the critic's loss, half the squared error to the returns. Higher counts
    where actor and critic share layers; 0 leaves the critic as it is."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards in the critic's returns, from 0 (only the next one
    counts) to 1 (all count alike). The policy does not depend on it."""

    eval_every: int = 200
    """Gradient steps between evaluations; there is another one at the end, and 0 means
    none at all. A lower number shows progress in finer steps and takes more time."""

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

    def to_play(self) -> Self:
        rule = "yieldrl.collectors.expert:no_expert"  # a data set may be gone
        return replace(super().to_play(), demonstrations=rule, demonstration_steps=1)
