"""PPO's agent with a memory, from which the student infers privileged observations."""

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor

from yieldrl.algorithms.remembering import RememberingAgent

from .config import Config


class Agent(RememberingAgent):
    """PPO's, with the history of its episodes as memory.

    The teacher acts in the phase `train`, the student in the others.
    """

    config: Config

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        model = self.algorithm.model
        priv_pred, watched = model.infer(inputs)
        seen = {"obs": inputs["obs"], "priv_pred": priv_pred}
        record = self.records_log_prob
        action, extras = model.sample(seen, generator, record=record)
        remembered = model.remember(watched, self.border.actions.to_env(action))
        extras |= {"priv_pred": priv_pred, "remembered": remembered}
        return {"action": action, **extras}

    def act_best(self, inputs: Any) -> tuple[Tensor, Tensor]:
        model = self.algorithm.model
        priv_pred, watched = model.infer(inputs)
        action = model.predict({"obs": inputs["obs"], "priv_pred": priv_pred})
        return action, model.remember(watched, self.border.actions.to_env(action))

    def as_student(self) -> Self:
        """A new agent in which the student acts, with a copy of the current weights."""
        return self._in_phase("finetune")

    def as_teacher(self) -> Self:
        """A new agent in which the teacher acts, with a copy of the current weights."""
        return self._in_phase("train")

    def _in_phase(self, phase: str) -> Self:
        agent = type(self)(self.algorithm.acting_copy(), self.config)
        agent.algorithm.model.enter(phase)
        return agent

    def to_export(self) -> Self:
        """The student, whose model has no modules that only the teacher needs."""
        student = super().to_export()
        student.algorithm.model.become_student()
        return student

    @property
    def learns_since(self) -> int:
        """The `policy_version` with which the phase began: of older ones nothing."""
        return self.algorithm.phase_since

    def state_dict(self) -> dict[str, Any]:
        since = self.algorithm.phase_since, self.algorithm.rollout_since
        return {**super().state_dict(), "since": since}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.algorithm.phase_since, self.algorithm.rollout_since = state["since"]
