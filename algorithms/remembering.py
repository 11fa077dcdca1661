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

    `act` finds the `memory [B, M]` from before the observations, and bool `first [B]`
    where episodes begin, beside `obs`; the buffer keeps both. By default it asks
    `model.act` for the policy and the memory after these observations.

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
        chosen = self.act(inputs, None)
        self.predicting.keep(chosen["remembered"])
        return chosen["action"]

    def act(self, inputs: Any, generator: torch.Generator | None) -> dict[str, Any]:
        """An `action [B, ...]`, random by the generator, or the most likely one without
        it; the memory after it as `remembered`; and what else the buffer keeps."""
        policy, remembered = self.algorithm.model.act(inputs)
        action = policy.mode() if generator is None else policy.sample(generator)
        chosen = {"action": action, "remembered": remembered}
        if self.records_log_prob:
            chosen["log_prob"] = policy.log_prob(action)
        return chosen

    def export(self, path: str | Path) -> None:
        """Write the policy to a file that PyTorch loads without this package.

        `torch.export.load(path).module()` is a function of observations `[B, ...]` that
        the actor reads, `memory [B, M]` (zeros at first) and bool `first [B]`, where an
        episode begins. It answers with the environment's action and the memory that
        goes into the next call. M is `agent.model.memory_size`. RuntimeError if PyTorch
        cannot trace the model.
        """
        agent, batch = self.to_export(), torch.export.Dim.DYNAMIC
        model, program, content = agent.model, Program(agent).eval(), io.BytesIO()
        obs = spaces.examples(spaces.part(model.observation_space, model.needed_obs))
        memory = torch.zeros(2, model.memory_size, dtype=torch.float32)
        inputs = obs, memory, torch.ones(2, dtype=torch.bool)
        shapes: Any = map_tensors(lambda _: {0: batch}, obs), {0: batch}, {0: batch}
        with torch.no_grad():
            exported = torch.export.export(program, inputs, dynamic_shapes=shapes)
        torch.export.save(exported, content)
        write_whole(Path(path), content.getvalue())

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
        chosen = self.agent.act(seen, None)
        return self.agent.border.actions.to_env(chosen["action"]), chosen["remembered"]
