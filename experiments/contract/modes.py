"""In which mode a model acts and learns, and whether it records gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.experiments.contract.report import Report, listed
from yieldrl.experiments.contract.values import leaves
from yieldrl.networks import set_train_mode
from yieldrl.runtime import LearningMode

ACTING = ("agent.sample", "agent.predict")


class Modes:
    """Looks at every part of a model that runs.

    Args:
        model: The model.
        report: Takes what is found.
        phase: Says what goes on.

    Attributes:
        names: Of the parts that are looked at, by their `id`.
    """

    def __init__(
        self, model: nn.Module, report: Report, phase: Callable[[], str]
    ) -> None:
        self.report, self.phase = report, phase
        self.names = module_names(model)
        self._trained = _in_train_mode(model)
        self._matters = LearningMode(model).matters

    def forward(self, part: nn.Module) -> None:
        """Look at a part that is about to run."""
        phase, gradients = self.phase(), torch.is_grad_enabled()
        if id(part) not in self.names:
            return
        if phase in ACTING:
            self.acts(part)
            name = self.names[id(part)]
            self._without_gradients(not gradients, f"{phase} ran {name} with gradients")
        elif phase == "algorithm.learn" and gradients:
            self.learns(part)

    def acts(self, part: nn.Module) -> None:
        """Look at a part that acts."""
        self.report.expect(
            "acting_in_eval_mode",
            not part.training,
            f"{self.phase()} ran {self._described(part)} in train mode: call"
            " model.eval() when learning is over, and model.train() never to act",
        )

    def acted(self, by: str, answer: Any) -> None:
        """Look at what acting returned."""
        parts = leaves(answer, "answer").items()
        graph = [n for n, x in parts if isinstance(x, Tensor) and x.requires_grad]
        self._without_gradients(
            not graph, f"{by} returned {listed(graph)} with a graph"
        )

    def learns(self, part: nn.Module) -> None:
        """Look at a part that learns, if the mode matters to it or to others.

        What learning leaves in eval mode, a frozen part say, stays there.
        """
        self.report.expect(
            "learning_in_train_mode",
            part.training or id(part) not in self._trained or not self._matters,
            f"algorithm.learn ran {self._described(part)} in eval mode: learn through"
            " agent.learn, which switches, and leave the mode alone",
        )

    def _described(self, part: nn.Module) -> str:
        return f"{self.names[id(part)]} ({type(part).__name__})"

    def _without_gradients(self, holds: bool, what: str) -> None:
        self.report.expect(
            "acting_without_gradients",
            holds,
            f"{what}: act under torch.inference_mode(), as Agent.sample and predict do",
        )


def module_names(model: nn.Module) -> dict[int, str]:
    """Names of a model's parts, by their `id`."""
    return {id(part): name or "model" for name, part in model.named_modules()}


def _in_train_mode(model: nn.Module) -> set[int]:
    """The `id`s of what learning puts into train mode; the mode stays."""
    before = [(part, part.training) for part in model.modules()]
    set_train_mode(model)
    trained = {id(part) for part in model.modules() if part.training}
    for part, training in before:
        part.training = training
    return trained
