"""What an algorithm keeps: parts that are saved by name, and a learning rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.optim import Optimizer

from yieldrl.foundations import CheckpointError


class Learner:
    """Attributes that have a `state_dict` are saved and restored, by their names.

    Model, target copy, optimizers, schedules: a new one needs no new line.
    """

    optimizer: Optimizer

    @property
    def learning_rate(self) -> float:
        """The learning rate from which annealing starts; set it whenever you like."""
        group = self.optimizer.param_groups[0]
        return group.get("initial_lr", group["lr"])

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        for group in self._param_groups():
            group["lr"] = group["initial_lr"] = value

    def anneal(self, fraction_done: float) -> None:
        """Let the learning rate fall linearly over training."""
        for group in self._param_groups():
            start = group.setdefault("initial_lr", group["lr"])
            group["lr"] = start * max(0.0, 1.0 - fraction_done)

    def state_dict(self) -> dict[str, Any]:
        """Model, target, optimizer: everything that learning needs to go on."""
        return {name: part.state_dict() for name, part in self._stateful()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            CheckpointError: If it has other parts than this algorithm.
        """
        parts = dict(self._stateful())
        if parts.keys() != state.keys():
            raise CheckpointError(
                f"{type(self).__qualname__} has the parts {sorted(parts)}, the"
                f" checkpoint {sorted(state)}: load it with the class that saved it"
            )
        for name, part in parts.items():
            part.load_state_dict(state[name])

    def _param_groups(self) -> list[dict[str, Any]]:
        parts = vars(self).values()
        optimizers = [part for part in parts if isinstance(part, Optimizer)]
        return [group for one in optimizers for group in one.param_groups]

    def _stateful(self) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in vars(self).items() if hasattr(v, "state_dict")]
