"""The agent of PPO-ROA: it watches the episodes that it is in, and infers from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.foundations import spaces
from yieldrl.on_policy import RememberingAgent

from .algorithm import Algorithm
from .config import Config
from .student import export_student


class Agent(RememberingAgent, ppo.Agent):
    """PPO's, with the history of its episodes as memory.

    Who acts follows from the phase: the teacher in `train`, the student in the others.
    """

    algorithm: Algorithm
    config: Config

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]`, what was inferred, and from which history."""
        memory, first = self.sampling.recall(spaces.batch_size(obs))
        inputs = {"obs": obs, "memory": memory, "first": first}
        extras = {**self.acting(inputs, self.generator)}
        self.sampling.keep(extras.pop("remembered"))
        action = extras.pop("action")
        extras |= {"memory": memory, "first": first}
        return action, extras

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        model = self.algorithm.model
        priv_pred, watched = model.infer(inputs)
        known = {"obs": inputs["obs"], "priv_pred": priv_pred}
        answer = super().act({"obs": known}, generator)
        accepted = self.border.actions.to_env(answer["action"])
        remembered = model.remember(watched, accepted)
        return {**answer, "priv_pred": priv_pred, "remembered": remembered}

    def exploit(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        model = self.algorithm.model
        memory, first = self.predicting.recall(spaces.batch_size(obs))
        seen = {"obs": obs, "memory": memory, "first": first}
        priv_pred, watched = model.infer(seen)
        action = model.predict({**seen, "priv_pred": priv_pred})
        accepted = self.border.actions.to_env(action)
        self.predicting.keep(model.remember(watched, accepted))
        return action

    @property
    def learns_since(self) -> int:
        """The `policy_version` with which the phase began: of older ones nothing."""
        return self.algorithm.phase_since

    def state_dict(self) -> dict[str, Any]:
        """What every agent with a memory has, and when phase and rollout began."""
        since = self.algorithm.phase_since, self.algorithm.rollout_since
        return {**super().state_dict(), "since": since}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.algorithm.phase_since, self.algorithm.rollout_since = state["since"]

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

    def export(self, path: str | Path) -> None:
        """Write the student to a file that PyTorch loads without this package.

        `torch.export.load(path).module()` is a function of observations `[B, ...]`
        without privileged entries, `memory [B, M]` (zeros at first) and bool `first
        [B]`, where an episode begins. It answers with the environment's action and
        the memory that goes into the next call. M is `agent.model.memory_size`.
        """
        agent = self.as_student()
        export_student(agent.algorithm.model, agent.border.actions, path)
