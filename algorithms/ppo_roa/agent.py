"""The agent of PPO-ROA: it watches the episodes that it is in, and infers from them."""

from typing import Any, Self

import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.on_policy import PhasedAgent, RememberingAgent

from .algorithm import Algorithm
from .config import Config


class Agent(RememberingAgent, PhasedAgent, ppo.Agent):
    """PPO's, with the history of its episodes as memory.

    The phase says who acts: the teacher in `train`, the student in the others.
    """

    algorithm: Algorithm
    config: Config

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        model = self.algorithm.model
        priv_pred, watched = model.infer(inputs)
        known = {"obs": inputs["obs"], "priv_pred": priv_pred}
        answer = ppo.Agent.act(self, {"obs": known}, generator)
        accepted = self.border.actions.to_env(answer["action"])
        remembered = model.remember(watched, accepted)
        return {**answer, "priv_pred": priv_pred, "remembered": remembered}

    def act_best(self, inputs: Any) -> tuple[Tensor, Tensor]:
        model = self.algorithm.model
        priv_pred, watched = model.infer(inputs)
        action = model.predict({"obs": inputs["obs"], "priv_pred": priv_pred})
        return action, model.remember(watched, self.border.actions.to_env(action))

    def as_student(self) -> Self:
        """An agent beside this one, in which the student acts, with weights of now."""
        return self._in_phase("finetune")

    def as_teacher(self) -> Self:
        """An agent beside this one, in which the teacher acts, with weights of now."""
        return self._in_phase("train")

    def _in_phase(self, phase: str) -> Self:
        agent = type(self)(self.algorithm.acting_copy(), self.config)
        agent.algorithm.model.enter(phase)
        return agent

    def to_export(self) -> Self:
        """The student; what only a teacher has is taken out of its model."""
        student = super().to_export()
        student.algorithm.model.become_student()
        return student
