"""Chapter 14, debugging, from symptom to cause."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.exercises.ch14_debugging import (
    broken_01,
    broken_02,
    broken_03,
    broken_04,
    broken_05,
    broken_06,
    diagnostics,
)


def diagnose(seen: diagnostics.Readings) -> str:
    """What six small experiments point to.

    Args:
        seen: What they gave; `Readings` says what each should be.

    Returns:
        A key of `BUGS` in `diagnostics.py`: `none`, `end`, `ratio`, `gradient`,
        `statistics`, `credit` or `entropy`.
    """
    # The gap. A rule for each bug: if this reading is not what it should be, it is that
    # one. Their order counts, as one bug may spoil several readings: begin with what
    # the others need.
    # gap: diagnose: an actor that stands still is `gradient`
    if seen.actor == 0:
        return "gradient"
    if seen.approx_kl < 1e-7:
        return "ratio"
    if abs(seen.value - 1) > 0.5:
        return "end"
    if abs(seen.sides - 2) > 0.1:
        return "credit"
    if seen.entropy < 0.9:
        return "entropy"
    if seen.restored > 1e-4:
        return "statistics"
    return "none"
    # end


# A class of each version, as it is now: override what is wrong in it, so that what its
# author wanted stays, and the bug goes. Leave the versions themselves as they are.


class Mended01(broken_01.Algorithm):
    """Advantages in a loop that can be read."""

    # gap
    # Nothing is expected after `terminated`.
    def advantage(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """Advantages `[T, N]`; they do not reach from one episode into the next."""
        return super().advantage(rollout, reward, next_value * ~rollout["terminated"])

    # end


class Mended02(broken_02.Algorithm):
    """PPO that asks the policy for `log_prob`."""

    # gap
    # The ratio starts from what was stored before the first gradient step.
    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """The loss of a minibatch `[B]`, and how far the policy has moved."""
        return ppo.Algorithm.loss(self, data, evaluated)

    # end


class Mended03(broken_03.Algorithm):
    """PPO whose actor has twice the width of its critic."""

    # gap
    # The actor is there before the optimizer asks for its parameters.
    def __init__(self, model: ppo.Model, config: ppo.Config) -> None:
        model.actor = broken_03.wide_actor(model, config)
        ppo.Algorithm.__init__(self, model, config)

    # end


class Mended04(broken_04.Model):
    """PPO's actor and critic, which see standardized observations."""

    # gap
    # The statistics are buffers of the model, which its state holds.
    def __init__(
        self, observation_space: Any, action_space: Any, config: ppo.Config
    ) -> None:
        super().__init__(observation_space, action_space, config)
        for name in ("count", "total", "squares"):
            start = torch.zeros_like(getattr(self, name))
            delattr(self, name)
            self.register_buffer(name, start)

    # end


class Mended05(broken_05.Algorithm):
    """PPO with the rows of Sutton & Barto."""

    # gap
    # `R_{t+1}`, which `A_t` has brought, is in row `t` already.
    def advantages(self, rollout: TensorDict) -> Tensor:
        """Advantages `[T, N]`, of the rows as they are."""
        return ppo.Algorithm.advantages(self, rollout)

    # end


class Mended06(broken_06.Algorithm):
    """PPO with its three terms side by side."""

    # gap
    # A bonus is subtracted from what is minimised.
    def total(self, policy_loss: Tensor, value_loss: Tensor, entropy: Tensor) -> Tensor:
        """The three terms, each with its weight, 0-dim."""
        value_loss = self.config.value_coef * value_loss
        return policy_loss + value_loss - self.config.entropy_coef * entropy

    # end
