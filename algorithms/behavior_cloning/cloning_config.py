"""Hyper-parameters of the cloning that comes before a policy improves by itself."""

from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import ppo
from yieldrl.core import (
    BatchSize,
    LearningRate,
    Steps,
    StepsOrZero,
    UnitInterval,
)

from .config import Config


@dataclass(frozen=True, kw_only=True)
class CloningConfig(ppo.Config):
    """Fields of algorithms that clone an expert first."""

    demonstration_steps: Annotated[int, Field(ge=0)] = 20_000
    """Environment steps of an expert that is cloned first; 0 begins without it. They
    count in `total_steps`, and annealing begins after them. With a data set say how
    many steps it has."""

    demonstrations: str = "expert"
    """Whom to clone: `expert` is the environment's own (its method `expert`),
    `my_module:function` makes actions of the environments and their observations, and
    anything else is a data set, read as a whole: the folder or the id of one of Minari,
    a folder of LeRobot's (version 3), or an HDF5 file or a folder of them of LIBERO."""

    skip_no_ops: bool = False
    """Leave out a data set's steps in which a robot does nothing, as OpenVLA does: all
    of its action is zero but for the last number, the gripper's, which is as before."""

    expert_noise: UnitInterval = 0.0
    """Probability of executing a random action in place of the expert's, which is
    recorded all the same. Higher demonstrates more recoveries and less of the task."""

    clone_epochs: Annotated[int, Field(ge=1, le=10**6)] = 8
    """Passes over the demonstrations. More fit them more closely, in the end also what
    is accidental about them."""

    clone_steps: Steps | None = None
    """Gradient steps of cloning, in place of `clone_epochs`; by default as many as
    these take."""

    clone_batch_size: BatchSize = 32
    """Transitions of each gradient step of cloning. Larger batches have less noise, and
    take more memory."""

    clone_warmup_steps: StepsOrZero = 100
    """Gradient steps of cloning over which its learning rate rises from zero.
    Transformers from scratch need some hundred to bear a higher learning rate."""

    clone_learning_rate: LearningRate = 8e-4
    """Learning rate of cloning at its start, from which it falls to zero. Pretrained
    models take less, 1e-5 say."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.demonstration_steps >= self.total_steps:
            raise self.error(
                "demonstration_steps",
                f"they are all of total_steps = {self.total_steps}: choose more"
                " total_steps, 0 to begin without, or behavior_cloning to clone alone",
            )
        self.cloning_config()  # ValueError if a field does not fit

    def cloning_config(self) -> Any:
        """The config of the cloning that comes first; None without one."""
        if self.demonstration_steps == 0:
            return None
        same: tuple[str, ...] = "env_id", "num_envs", "seed", "device", "threads"
        same += "demonstrations", "demonstration_steps", "expert_noise", "skip_no_ops"
        same += "gamma", "max_grad_norm", "value_coef"
        values: dict[str, Any] = {name: getattr(self, name) for name in same}
        return Config(
            **values,
            num_epochs=self.clone_epochs,
            learn_steps=self.clone_steps,
            batch_size=self.clone_batch_size,
            learning_rate=self.clone_learning_rate,
            warmup_steps=self.clone_warmup_steps,
            eval_every=0,
        )

    def to_play(self) -> Self:
        return replace(super().to_play(), demonstration_steps=0)

    def improved_share(self, fraction_done: float) -> float:
        """Progress of learning after cloning, 0 to 1, from that of the whole run."""
        cloned = self.demonstration_steps / self.total_steps
        return max(0.0, (fraction_done - cloned) / (1 - cloned))
