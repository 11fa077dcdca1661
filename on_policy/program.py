"""A policy with a memory as a program of `torch.export`."""

import io
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.core import spaces
from yieldrl.core.files import write_whole
from yieldrl.core.trees import map_tensors


class Program(nn.Module):
    """From observations and a memory to the action, and the memory after it."""

    def __init__(self, agent: Any) -> None:
        super().__init__()
        self.model = agent.algorithm.model
        self.agent: Any = agent  # the model's owner

    def forward(self, obs: Any, memory: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        seen = {"obs": obs, "memory": memory, "first": first}
        action, remembered = self.agent.act_best(seen)
        return self.agent.border.actions.to_env(action), remembered


def write_program(agent: Any, path: str | Path) -> None:
    """Write what an agent that remembers its episodes does to a file, whole or not."""
    model, batch = agent.algorithm.model, torch.export.Dim.DYNAMIC
    space = spaces.part(model.observation_space, model.needed_obs)
    obs = spaces.examples(space)
    memory = torch.zeros(2, model.memory_size, dtype=torch.float32)
    inputs = obs, memory, torch.ones(2, dtype=torch.bool)
    shapes: Any = map_tensors(lambda _: {0: batch}, obs), {0: batch}, {0: batch}
    program, content = Program(agent).eval(), io.BytesIO()
    with torch.no_grad():
        exported = torch.export.export(program, inputs, dynamic_shapes=shapes)
    torch.export.save(exported, content)
    write_whole(Path(path), content.getvalue())
