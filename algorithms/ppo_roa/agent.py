"""The agent of PPO-ROA: it watches the episodes that it is in, and infers from them."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from yieldrl.algorithms import ppo
from yieldrl.foundations import spaces
from yieldrl.on_policy import RememberingAgent

from .algorithm import Algorithm
from .config import Config
from .phases import MODULES, PHASES


class Agent(RememberingAgent, ppo.Agent):
    """PPO's, with the history of its episodes as memory.

    The phase says who acts: the teacher in `train`, the student in the others.
    """

    algorithm: Algorithm
    config: Config

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        model = self.algorithm.model
        priv_pred, watched = model.infer(inputs)
        known = {"obs": inputs["obs"], "priv_pred": priv_pred}
        answer = super().act({"obs": known}, generator)
        accepted = self.border.actions.to_env(answer["action"])
        remembered = model.remember(watched, accepted)
        return {**answer, "priv_pred": priv_pred, "remembered": remembered}

    def act_best(self, inputs: Any) -> tuple[Tensor, Tensor]:
        model = self.algorithm.model
        priv_pred, watched = model.infer(inputs)
        action = model.predict({"obs": inputs["obs"], "priv_pred": priv_pred})
        return action, model.remember(watched, self.border.actions.to_env(action))

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

        Raises:
            RuntimeError: If PyTorch cannot trace the model.
        """
        agent = self.as_student()
        model: Any = agent.algorithm.model
        obs = {}
        for name in model.actor_obs:
            leaf = model.observation_space[name]
            shape, dtype = spaces.shape_of(leaf), spaces.tensor_dtype(leaf)
            obs[name] = torch.zeros(2, *shape, dtype=dtype)
        memory = torch.zeros(2, model.memory_size, dtype=torch.float32)
        inputs = obs, memory, torch.ones(2, dtype=torch.bool)
        batch = torch.export.Dim.DYNAMIC
        shapes: Any = {name: {0: batch} for name in obs}, {0: batch}, {0: batch}
        student = Student(agent).cpu().eval()
        with torch.no_grad():
            program = torch.export.export(student, inputs, dynamic_shapes=shapes)
        path, whole = Path(path), io.BytesIO()
        torch.export.save(program, whole)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(whole.getvalue())
        part.replace(path)  # never half a file


class Student(nn.Module):
    """From observations and a memory to the action, and the memory after it.

    It uses an agent up: what only a teacher or a critic has is taken out of the model.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.model: Any = agent.algorithm.model
        self.actions = agent.border.actions
        for name in MODULES:
            if getattr(PHASES["finetune"], name).rollout == "rest":
                delattr(self.model, name)
        self.model.critic_encoder = self.model.log_std = None
        number = int(self.model.phase_number)  # a constant of the program
        del self.model.phase_number
        vars(self.model)["phase_number"] = number

    def forward(
        self, obs: dict[str, Tensor], memory: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        seen = {"obs": obs, "memory": memory, "first": first}
        inferred, watched = self.model.infer(seen)
        action = self.model.predict({**seen, "latent": inferred})
        accepted = self.actions.to_env(action)
        return accepted, self.model.remember(watched, accepted)
