"""How PPO-ROA goes from phase to phase, and what is learned from in which of them."""

import copy
from typing import Self

from tensordict import TensorDict

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.buffers import Minibatches

from .config import Config
from .model import Model
from .phases import PHASES


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

        The moving average begins anew. What acted before is another policy, and what it
        began to collect is not learned from.
        """
        if phase == self.phase:
            return
        self.model.enter(phase)
        self.model.move_average(1.0)
        self.counters.policy_version += 1
        self.phase_since = self.counters.policy_version

    def advance(self) -> None:
        """Begin the phase that is due, if it is a later one than that of now.

        A run that is done and goes on to more `total_steps` does not begin again.
        """
        due, order = self.config.phase_at(self.counters.sample_step), list(PHASES)
        if order.index(due) > order.index(self.phase):
            self.enter(due)

    @property
    def outdated(self) -> bool:
        """Whether the rollout of now was begun in another phase."""
        return self.rollout_since < self.phase_since

    def acting_copy(self) -> Self:
        """One that only acts; its moving average is its own, for ours moves."""
        acting, average = super().acting_copy(), copy.deepcopy(self.model.adapt_ema)
        acting.model.adapt_ema = average.requires_grad_(False).eval()
        return acting

    def complete(self, rollout: TensorDict) -> TensorDict:
        """Add what PPO adds, and the `phase [T, N]` in which it was collected."""
        rollout = super().complete(rollout)
        phase = self.model.phase_number.to(self.device)
        return rollout.set("phase", phase.expand(rollout.batch_size).clone())

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """PPO's; a RuntimeError if the rollout was collected in another phase."""
        phase = rollout.get("phase", None)
        if phase is not None and bool((phase != self.model.phase_number).any()):
            collected = [*PHASES][int(phase.flatten()[0])]
            raise RuntimeError(
                f"the rollout was collected in the phase {collected!r}, and this is"
                f" {self.phase!r}, in which another policy acts: collect another one"
            )
        return super().begin(rollout)
