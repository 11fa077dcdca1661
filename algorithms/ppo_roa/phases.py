"""Which of the six modules does what, in which phase: one table that drives them all.

`rollout` is what happens when acting, `training` when learning from the rollout:

    infer    evaluated, gets no gradient
    ppo      learns by PPO's objective, and its regulariser
    adapt    learns to infer what the encoder makes of the privileged observations
    imitate  learns to act as the teacher does
    average  follows the adaptation module, as a moving average of its weights
    rest     takes no part, and stays bitwise as it is
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Use = Literal["infer", "ppo", "adapt", "imitate", "average", "rest"]


class Module(NamedTuple):
    """What a module does in a phase."""

    rollout: Use
    training: Use


@dataclass(frozen=True)
class Phase:
    """What all modules do in a phase."""

    encoder_priv: Module
    actor: Module
    actor_adapt: Module
    adapt_module: Module
    adapt_ema: Module
    critic: Module

    def trained(self, by: Use) -> tuple[str, ...]:
        """The modules that learn in a way."""
        return tuple(name for name in MODULES if getattr(self, name).training == by)

    @property
    def acts(self) -> str:
        """The actor that acts: the teacher or the student."""
        return "actor" if self.actor.rollout == "infer" else "actor_adapt"

    @property
    def infers(self) -> str:
        """The module that infers while acting."""
        learner = self.adapt_module.rollout == "infer"
        return "adapt_module" if learner else "adapt_ema"


MODULES = tuple(Phase.__dataclass_fields__)

PHASES = {
    "train": Phase(
        encoder_priv=Module(rollout="infer", training="ppo"),
        actor=Module(rollout="infer", training="ppo"),
        actor_adapt=Module(rollout="rest", training="imitate"),
        adapt_module=Module(rollout="infer", training="adapt"),
        adapt_ema=Module(rollout="rest", training="average"),
        critic=Module(rollout="rest", training="ppo"),
    ),
    "adapt": Phase(
        encoder_priv=Module(rollout="rest", training="infer"),
        actor=Module(rollout="rest", training="infer"),
        actor_adapt=Module(rollout="infer", training="imitate"),
        adapt_module=Module(rollout="rest", training="adapt"),
        adapt_ema=Module(rollout="infer", training="average"),
        critic=Module(rollout="rest", training="infer"),
    ),
    "finetune": Phase(
        encoder_priv=Module(rollout="rest", training="infer"),
        actor=Module(rollout="rest", training="rest"),
        actor_adapt=Module(rollout="infer", training="ppo"),
        adapt_module=Module(rollout="rest", training="adapt"),
        adapt_ema=Module(rollout="infer", training="average"),
        critic=Module(rollout="rest", training="ppo"),
    ),
}
"""The phases in their order; `adapt` is that of Kumar et al. 2021, "RMA",
arXiv:2107.04034, section III-B: the student acts, and learns from the frozen teacher in
the states that it gets into itself."""
