"""The agent of PPO-ROA: it watches the episodes that it is in, and infers from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.foundations import spaces
from yieldrl.networks import Memory

from .algorithm import Algorithm
from .config import Config
from .student import export_student


class Agent(ppo.Agent):
    """PPO's, with a history for `sample` and another for `predict`.

    Who acts follows from the phase: the teacher in `train`, the student in the others.

    Attributes:
        sampling: The history of the episodes that it learns from.
        predicting: The history of the episodes in which it acts well.
    """

    algorithm: Algorithm
    config: Config
    has_memory = True

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        size = algorithm.model.memory_size
        self.sampling, self.predicting = (Memory(size, self.device) for _ in range(2))

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        """Forget the episodes that ended."""
        (self.sampling if exploring else self.predicting).begin(where)

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]`, what was inferred, and from which history."""
        model = self.algorithm.model
        inputs, watched = self._watch(obs, self.sampling)
        action, extras = model.sample(
            inputs, self.generator, record=self.records_policy
        )
        self._keep(self.sampling, watched, action)
        extras |= {name: inputs[name] for name in ("memory", "first", "priv_pred")}
        return action, self.sign(extras, len(action))

    def exploit(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        model = self.algorithm.model
        inputs, watched = self._watch(obs, self.predicting)
        action = model.predict(inputs)
        self._keep(self.predicting, watched, action)
        return action

    def state_dict(self) -> dict[str, Any]:
        """PPO's, and the history of the episodes that it learns from."""
        return {**super().state_dict(), "memory": self.sampling.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.sampling.load_state_dict(state["memory"])

    def _watch(self, obs: Any, remembered: Memory) -> tuple[dict[str, Any], Tensor]:
        """What the policy goes by, and the history with these observations in it."""
        memory, first = remembered.recall(spaces.batch_size(obs))
        seen = {"obs": obs, "memory": memory, "first": first}
        priv_pred, watched = self.algorithm.model.infer(seen)
        return {**seen, "priv_pred": priv_pred}, watched

    def _keep(self, remembered: Memory, watched: Tensor, action: Tensor) -> None:
        """Remember a history, and the action after it as the environment gets it."""
        accepted = self.border.actions.to_env(action)
        remembered.keep(self.algorithm.model.remember(watched, accepted))

    def as_student(self) -> Self:
        """An agent beside this one, in which the student acts, with weights of now."""
        return self._in_phase("finetune")

    def as_teacher(self) -> Self:
        """An agent beside this one, in which the teacher acts, with weights of now."""
        return self._in_phase("train")

    def _in_phase(self, phase: str) -> Self:
        agent = type(self)(self.algorithm.acting_copy(), self.config)
        agent.algorithm.enter(phase)
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
