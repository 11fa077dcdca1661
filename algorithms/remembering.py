"""Agents that remember their episodes, and their export as programs."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from yieldrl import abstractions
from yieldrl.core import Config, in_precision, spaces
from yieldrl.core.files import write_whole
from yieldrl.core.trees import map_tensors
from yieldrl.networks import Memory


class RememberingAgent(abstractions.Agent):
    """A memory for `sample` and another for `predict`, of `model.memory_size` numbers.

    `act` and `act_best` find the `memory [B, M]` from before the observations, and bool
    `first [B]` where episodes begin, beside `obs`; the buffer keeps both. By default
    they ask `model.act` for the policy and the memory after these observations.

    Attributes:
        sampling: What it remembers of the episodes that it learns from.
        predicting: What it remembers of the episodes in which it acts well.
    """

    algorithm: Any  # with a recurrent model
    has_memory = True

    def __init__(self, algorithm: Any, config: Config) -> None:
        super().__init__(algorithm, config)
        size = algorithm.model.memory_size
        self.sampling, self.predicting = (Memory(size, self.device) for _ in range(2))

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        """Forget the episodes that ended."""
        (self.sampling if exploring else self.predicting).begin(where)

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """A random action `[B, ...]`, and from which memory it was chosen."""
        memory, first = self.sampling.recall(spaces.batch_size(obs))
        before = {"memory": memory, "first": first}
        act = in_precision(self.config.precision, self.device, self.act)
        extras = act({"obs": obs, **before}, self.generator)
        self.sampling.keep(extras.pop("remembered"))
        return extras.pop("action"), {**extras, **before}

    def exploit(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        memory, first = self.predicting.recall(spaces.batch_size(obs))
        inputs = {"obs": obs, "memory": memory, "first": first}
        action, remembered = self.act_best(inputs)
        self.predicting.keep(remembered)
        return action

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """A random action of the policy of `model.act`, and the memory after it."""
        policy, remembered = self.algorithm.model.act(inputs)
        action = policy.sample(generator)
        chosen = {"action": action, "remembered": remembered}
        if self.records_log_prob:
            chosen["log_prob"] = policy.log_prob(action)
        return chosen

    def act_best(self, inputs: Any) -> tuple[Tensor, Tensor]:
        """The most likely action `[B, ...]`, and the memory to keep."""
        policy, remembered = self.algorithm.model.act(inputs)
        return policy.mode(), remembered

    def export(self, path: str | Path) -> None:
        """Write the policy to a file that PyTorch loads without this package.

        `torch.export.load(path).module()` is a function of observations `[B, ...]` that
        the actor reads, `memory [B, M]` (zeros at first) and bool `first [B]`, where an
        episode begins. It answers with the environment's action and the memory that
        goes into the next call. M is `agent.model.memory_size`. RuntimeError if PyTorch
        cannot trace the model.
        """
        write_program(self.to_export(), path)

    def to_export(self) -> Self:
        """An agent beside this one, on the CPU, that acts and has no critic."""
        algorithm = self.algorithm.acting_copy()
        algorithm.device, model = torch.device("cpu"), algorithm.model.cpu()
        model.critic = model.critic_encoder = None
        return type(self)(algorithm, self.config)

    def state_dict(self) -> dict[str, Any]:
        """Every agent's, and what is remembered of the episodes that it learns from."""
        return {**super().state_dict(), "memory": self.sampling.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.sampling.load_state_dict(state["memory"])


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
