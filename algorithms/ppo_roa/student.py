"""The student by itself: all that a robot needs, and nothing of this package."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch
from gymnasium.spaces import Dict
from torch import Tensor, nn

from yieldrl.foundations import spaces

from .model import Model
from .phases import MODULES, PHASES


class Student(nn.Module):
    """From observations and a memory to the action, and the memory after it.

    Args:
        model: A copy that nobody else needs: what only a teacher or a critic has is
            taken out of it.
        actions: What the policy's actions mean to the environment.
    """

    def __init__(self, model: Model, actions: spaces.ActionTransform) -> None:
        super().__init__()
        phase = PHASES["finetune"]
        for name in MODULES:
            if getattr(phase, name).rollout == "rest":
                delattr(model, name)
        model.critic_encoder = model.log_std = None
        number = int(model.phase_number)  # a constant of the program
        del model.phase_number
        vars(model)["phase_number"] = number
        self.model, self.actions = model, actions

    def forward(
        self, obs: dict[str, Tensor], memory: Tensor, first: Tensor
    ) -> tuple[Tensor, Tensor]:
        seen = {"obs": obs, "memory": memory, "first": first}
        inferred, watched = self.model.infer(seen)
        action = self.model.predict({**seen, "latent": inferred})
        accepted = self.actions.to_env(action)
        return accepted, self.model.remember(watched, accepted)


def export_student(
    model: Model, actions: spaces.ActionTransform, path: str | Path
) -> None:
    """Write the student of a model, which is used up, to a file of `torch.export`.

    Raises:
        RuntimeError: If PyTorch cannot trace the model.
    """
    space, size = model.observation_space, model.memory_size
    assert isinstance(space, Dict)
    obs = {name: _zeros(space[name]) for name in model.actor_obs}
    inputs = (
        obs,
        torch.zeros(2, size, dtype=torch.float32),
        torch.ones(2, dtype=torch.bool),
    )
    student = Student(model, actions).cpu().eval()
    batch = torch.export.Dim.DYNAMIC
    shapes: Any = {name: {0: batch} for name in obs}, {0: batch}, {0: batch}
    with torch.no_grad():
        program = torch.export.export(student, inputs, dynamic_shapes=shapes)
    path, whole = Path(path), io.BytesIO()
    torch.export.save(program, whole)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(whole.getvalue())
    part.replace(path)  # never half a file


def _zeros(space: Any) -> Tensor:
    """Two observations of a space, to trace the model with."""
    return torch.zeros(2, *spaces.shape_of(space), dtype=spaces.tensor_dtype(space))
