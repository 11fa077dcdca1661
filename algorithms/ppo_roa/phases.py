"""The phases of PPO-ROA: a table of the role of each module in each phase.

`rollout` is its role when acting, `training` when learning from the rollout:

    forward  evaluated without gradient
    ppo      learns by PPO's objective, and its regulariser
    adapt    learns to infer the encoder's latent of the privileged observations
    imitate  learns to act like the teacher
    average  moving average of the adaptation module's weights
    unused   not evaluated, and does not change
"""

from typing import Literal, NamedTuple

Use = Literal["forward", "ppo", "adapt", "imitate", "average", "unused"]


class Module(NamedTuple):
    """The role of one module in a phase."""

    rollout: Use
    training: Use


PHASES = {
    "train": {
        "encoder_priv": Module(rollout="forward", training="ppo"),
        "actor": Module(rollout="forward", training="ppo"),
        "actor_adapt": Module(rollout="unused", training="imitate"),
        "adapt_module": Module(rollout="forward", training="adapt"),
        "adapt_ema": Module(rollout="unused", training="average"),
        "critic": Module(rollout="unused", training="ppo"),
    },
    "adapt": {
        "encoder_priv": Module(rollout="unused", training="forward"),
        "actor": Module(rollout="unused", training="forward"),
        "actor_adapt": Module(rollout="forward", training="imitate"),
        "adapt_module": Module(rollout="unused", training="adapt"),
        "adapt_ema": Module(rollout="forward", training="average"),
        "critic": Module(rollout="unused", training="forward"),
    },
    "finetune": {
        "encoder_priv": Module(rollout="unused", training="forward"),
        "actor": Module(rollout="unused", training="unused"),
        "actor_adapt": Module(rollout="forward", training="ppo"),
        "adapt_module": Module(rollout="unused", training="adapt"),
        "adapt_ema": Module(rollout="forward", training="average"),
        "critic": Module(rollout="unused", training="ppo"),
    },
}
"""The phases in their order; `adapt` is that of Kumar et al. 2021, "RMA",
arXiv:2107.04034, section III-B: the student acts, and learns from the frozen teacher in
the states that it gets into itself."""

NAMES = tuple(PHASES)
MODULES = tuple(PHASES["train"])


def trained(phase: str, *ways: Use) -> list[str]:
    """The names of the modules that learn in these ways in a phase."""
    roles = PHASES[phase].items()
    return [name for way in ways for name, role in roles if role.training == way]
