"""Training in phases, each with another acting policy.

The phase follows from the environment steps so far. A rollout belongs to the phase in
which it was begun, and is not learned from in another one.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from gymnasium import Space
from pydantic.dataclasses import dataclass
from tensordict import TensorDict

from yieldrl.abstractions import Logs
from yieldrl.buffers import Minibatches
from yieldrl.on_policy.algorithm import OnPolicyAlgorithm
from yieldrl.on_policy.config import OnPolicyConfig
from yieldrl.on_policy.model import ActorCritic


@dataclass(frozen=True, kw_only=True)
class PhasedConfig(OnPolicyConfig):
    """Fields of algorithms with phases: the environment steps of each phase."""

    phases: ClassVar[Mapping[str, int]]
    """The phases in their order, and how many tenths of the steps each takes by
    default; the last one takes what is left."""

    phase_steps: tuple[int, ...] = ()
    """Environment steps of the phases in their order, which add up to `total_steps`; 0
    leaves a phase out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        steps, total = self.phase_steps, self.total_steps
        if steps and (len(steps) != len(self.phases) or min(steps) < 0):
            remedy = f"give {len(self.phases)} numbers, 0 or more"
            raise self.error("phase_steps", f"{remedy}, for {', '.join(self.phases)}")
        if steps and sum(steps) != total:
            differ = f"they add up to {sum(steps)}, and total_steps is {total}"
            raise self.error("phase_steps", f"{differ}: choose the same for both")

    def phase_lengths(self) -> dict[str, int]:
        """Environment steps of each phase."""
        *shares, _ = [
            self.total_steps * tenths // 10 for tenths in self.phases.values()
        ]
        default = (*shares, self.total_steps - sum(shares))
        return dict(zip(self.phases, self.phase_steps or default, strict=True))

    def phase_at(self, sample_step: int) -> str:
        """The phase of a rollout that begins after so many environment steps."""
        end, lengths = 0, self.phase_lengths()
        for name, length in lengths.items():
            end += length
            if sample_step < end:
                return name
        return [name for name, length in lengths.items() if length > 0][-1]


class PhasedModel(ActorCritic):
    """A model that knows its phase, which is saved with the weights.

    Attributes:
        phase_number: The index of the current phase, int64, 0-dim.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        config: PhasedConfig,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        self.phases = tuple(config.phases)
        first = self.phases.index(config.phase_at(0))
        self.register_buffer("phase_number", torch.tensor(first))

    @property
    def phase(self) -> str:
        """The current phase."""
        return self.phases[int(self.phase_number)]

    def enter(self, phase: str) -> None:
        """Begin a phase."""
        self.phase_number.fill_(self.phases.index(phase))

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        # The phase stays on the CPU, so that reading it does not synchronize a GPU.
        phase = self.phase_number
        super()._apply(*args, **kwargs)
        self.phase_number = phase
        return self


class PhasedAlgorithm(OnPolicyAlgorithm):
    """Learns in each phase from what was collected in it.

    Attributes:
        phase_since: The `policy_version` with which the current phase began.
        rollout_since: The `policy_version` when the current rollout was begun.
    """

    config: PhasedConfig
    model: Any
    phase_since = rollout_since = 0

    @property
    def phase(self) -> str:
        """The phase of now."""
        return self.model.phase

    def enter(self, phase: str) -> None:
        """Begin a phase, if it is not the current one, with a new `policy_version`."""
        if phase == self.phase:
            return
        self.model.enter(phase)
        self.counters.policy_version += 1
        self.phase_since = self.counters.policy_version

    def advance(self) -> None:
        """Begin the phase that is due, if it is later than the current one.

        A finished run that is continued to more `total_steps` does not begin again.
        """
        due = self.config.phase_at(self.counters.sample_step)
        if self.model.phases.index(due) > self.model.phases.index(self.phase):
            self.enter(due)

    @property
    def outdated(self) -> bool:
        """Whether the current rollout was begun in another phase."""
        return self.rollout_since < self.phase_since

    def complete(self, rollout: TensorDict) -> TensorDict:
        """Complete a rollout, and add the `phase [T, N]` in which it was collected."""
        rollout = super().complete(rollout)
        phase = self.model.phase_number.to(self.device)
        return rollout.set("phase", phase.expand(rollout.batch_size).clone())

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """Start the update; RuntimeError if another phase collected the rollout."""
        phase = rollout.get("phase", None)
        if phase is not None and bool((phase != self.model.phase_number).any()):
            collected = self.model.phases[int(phase.flatten()[0])]
            raise RuntimeError(
                f"the rollout was collected in the phase {collected!r}, and this is"
                f" {self.phase!r}, in which another policy acts: collect another one"
            )
        return super().begin(rollout)
