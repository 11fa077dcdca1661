"""A stepper of rollout workers that records how episodes ended."""

from typing import Any

import numpy as np

from yieldrl.collectors.outcomes import successes, task_names
from yieldrl.collectors.stepping import Step, Stepper
from yieldrl.distributed.stats import End
from yieldrl.foundations.conversion import as_array


class NotingStepper(Stepper):
    """A stepper that records which episodes were a success, if infos tell it."""

    def __init__(self, envs: Any) -> None:
        super().__init__(envs)
        self._ends: list[End] = []

    def step(self, action: Any) -> Step:
        """Take one step in every environment."""
        step = super().step(action)
        ended = np.flatnonzero(as_array(step.ended))
        count = self.envs.num_envs
        said = successes(step.info, count) if len(ended) else None
        if said is not None:
            names = task_names(step.info, count)
            self._ends += [(names[i], bool(said[i])) for i in ended]
        return step

    def take(self) -> list[End]:
        """The episodes that ended since the last call."""
        ends, self._ends = self._ends, []
        return ends
