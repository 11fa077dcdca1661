"""Agents that sample from their policy, and that remember their episodes."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from yieldrl import abstractions
from yieldrl.foundations import Config, spaces
from yieldrl.networks import Memory


class SamplingAgent(abstractions.Agent):
    """Samples actions from the policy; a subclass says what is annotated of them."""

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """A random `action [B, ...]` of the policy, and what the buffer keeps of it."""
        model: Any = self.algorithm.model
        record = self.records_log_prob
        action, extras = model.sample(inputs["obs"], generator, record=record)
        return {"action": action, **extras}


class RememberingAgent(abstractions.Agent):
    """A memory for `sample` and another for `predict`, of `model.memory_size` numbers.

    `act` and `act_best` find the `memory [B, M]` from before the observations, and bool
    `first [B]` where episodes begin, beside `obs`; the buffer keeps both. `act` answers
    with the memory to keep, `remembered [B, M]`, too.

    Attributes:
        sampling: What it remembers of the episodes that it learns from.
        predicting: What it remembers of the episodes in which it acts well.
    """

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
        extras = {**self.acting({"obs": obs, **before}, self.generator)}
        self.sampling.keep(extras.pop("remembered"))
        return extras.pop("action"), {**extras, **before}

    def exploit(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        memory, first = self.predicting.recall(spaces.batch_size(obs))
        inputs = {"obs": obs, "memory": memory, "first": first}
        action, remembered = self.act_best(inputs)
        self.predicting.keep(remembered)
        return action

    @abstractmethod
    def act_best(self, inputs: Any) -> tuple[Tensor, Tensor]:
        """The most likely action `[B, ...]`, and the memory to keep."""

    def state_dict(self) -> dict[str, Any]:
        """Every agent's, and what is remembered of the episodes that it learns from."""
        return {**super().state_dict(), "memory": self.sampling.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.sampling.load_state_dict(state["memory"])
