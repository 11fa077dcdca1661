"""Base class of agents: counters, saving."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.foundations import (
    Config,
    Counting,
    ObservationActionAdapter,
    ranks,
    restore_generator,
)
from yieldrl.runtime.acting_record import ActingRecord
from yieldrl.runtime.learner import Learner
from yieldrl.runtime.precision import in_precision


class AgentBase(ActingRecord, Counting, ABC):
    """Acts and annotates; what is done to whole rollouts may be compiled.

    Args:
        algorithm: The mathematics, with its model.
        config: Says the seed of exploration.

    Attributes:
        generator: The random generator of exploration.
        border: From observations to tensors, and from actions back.
        annotating: `annotate` as a function of tensors, which may be compiled.
    """

    algorithm: Any
    config: Any

    def __init__(self, algorithm: Learner, config: Config) -> None:
        self.algorithm, self.config = algorithm, config
        self.counters, self.device = algorithm.counters, algorithm.device
        seed = ranks().derive_seed(config.seed, "exploration")
        self.generator = torch.Generator(self.device).manual_seed(seed)
        model = algorithm.model
        observed, acted = model.observation_space, model.action_space
        self.border = ObservationActionAdapter(
            observed,
            acted,
            self.device,
            unit_box=model.unit_box,
            tokenizer=getattr(model, "tokenizer", None),
        )
        if type(self).annotate is not AgentBase.annotate:
            function = algorithm.runtime.function
            self.annotating = function("evaluation of rollouts", self._annotate)

    @abstractmethod
    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """Explore as a function of tensors: an `action`, and what the buffer keeps."""

    def acting(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What `act` says of inputs, with products in the precision of the config."""
        act = in_precision(self.config.precision, self.device, self.act)
        return dict(act(inputs, self.generator))

    def annotate(self, obs: Any, action: Tensor) -> dict[str, Tensor]:
        """Numbers that learning needs of actions `[B, ...]`, by the current weights.

        A policy gradient takes their `log_prob [B]` and the states' `value [B]`.
        """
        return {}

    def exploration(self) -> dict[str, Any]:
        """Metrics of exploration, logged beside the episodes that ended."""
        return {}

    def sync_target(self, every: int) -> None:
        """Sync the target, if `every` gradient steps were taken since it was last."""
        self.algorithm.sync_if_due(every)

    def learn(self, data: TensorDict) -> dict[str, Any]:
        """One gradient step on a batch `[B]`, moved to the device if it is not there.

        FloatingPointError if the loss is not finite.
        """
        batch = data if data.device == self.device else data.to(self.device)
        logs = self.algorithm.train_step(batch)
        if batch is not data:  # copy results per sample into the caller's batch
            data.update(batch.exclude(*data.keys()))
        return logs

    def actor(self) -> Self:
        """An agent that explores with a copy of the model, beside this one.

        It stores the log-probability of each action when it is taken.
        """
        actor = type(self)(self.algorithm.acting_copy(), self.config)
        actor.records_log_prob = True
        return actor

    def complete(self, rollout: TensorDict) -> TensorDict:
        """Add log-probabilities, values and advantages to a new rollout `[T, N]`.

        RuntimeError if an older policy acted: see `annotated`.
        """
        return self.algorithm.complete(self.annotated(rollout))

    def state_dict(self) -> dict[str, Any]:
        """Algorithm, counters and the exploration's generator."""
        return {
            "algorithm": self.algorithm.state_dict(),
            "generator": self.generator.get_state(),
            "acted_version": self.acted_version,
            **self.counters_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; an actor's comes without an algorithm."""
        if "algorithm" in state:
            self.algorithm.load_state_dict(state["algorithm"])
        restore_generator(self.generator, state["generator"])
        self.acted_version = state["acted_version"]
        self.restore_counters(state)

    def _annotate(self, inputs: Any) -> dict[str, Tensor]:
        return self.annotate(inputs["obs"], inputs["action"])
