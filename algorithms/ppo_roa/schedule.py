"""How PPO-ROA goes from phase to phase, and what is learned from in which of them."""

from __future__ import annotations

import copy
from typing import Self

from tensordict import TensorDict

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.buffers import Minibatches

from .config import Config
from .model import Model
from .phases import PHASES, Use


class PhasedAlgorithm(ppo.Algorithm):
    """PPO whose policy is another one in every phase.

    Attributes:
        phase_since: The `policy_version` with which the phase of now began.
        rollout_since: The `policy_version` when the rollout of now was begun.
    """

    config: Config
    model: Model

    phase_since = rollout_since = 0

    @property
    def phase(self) -> str:
        """The phase of now."""
        return self.model.phase

    def enter(self, phase: str) -> None:
        """Begin a phase, if it is not the one of now.

        The moving average begins anew, and what acted before is another policy: nothing
        that it began is learned from in this phase.
        """
        if phase == self.phase:
            return
        self.model.enter(phase)
        self.model.restart_average()
        self.counters.policy_version += 1
        self.phase_since = self.counters.policy_version

    @property
    def outdated(self) -> bool:
        """Whether the rollout of now was begun in another phase."""
        return self.rollout_since < self.phase_since

    def acting_copy(self) -> Self:
        """One that only acts; its moving average is its own, for ours moves."""
        acting, model = super().acting_copy(), self.model
        average = copy.deepcopy(model.adapt_ema)
        acting.model.adapt_ema = average.requires_grad_(False).eval()
        return acting

    def learns(self, by: Use) -> bool:
        """Whether a module learns in this way, in the phase of now."""
        return bool(PHASES[self.phase].trained(by))

    def complete(self, rollout: TensorDict) -> TensorDict:
        """Add what PPO adds, and the `phase [T, N]` in which it was collected."""
        rollout = super().complete(rollout)
        phase = self.model.phase_number.to(self.device)
        return rollout.set("phase", phase.expand(rollout.batch_size).clone())

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """The passes over a rollout `[T, N]`, and what to log of it; nothing moves.

        Raises:
            RuntimeError: If it was collected in another phase.
        """
        phase = rollout.get("phase", None)
        if phase is not None and bool((phase != self.model.phase_number).any()):
            collected = [*PHASES][int(phase.flatten()[0])]
            raise RuntimeError(
                f"the rollout was collected in the phase {collected!r}, and this is"
                f" {self.phase!r}, in which another policy acts: collect another one"
            )
        return super().begin(rollout)

    def advance(self) -> None:
        """Begin the phase that is due, if it is a later one than that of now.

        A run that is done and goes on to more `total_steps` does not begin again.
        """
        due, order = self.config.phase_at(self.counters.sample_step), list(PHASES)
        if order.index(due) > order.index(self.phase):
            self.enter(due)
