"""Observers of acting and learning: changes by each call, and modes of modules."""

from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.envs.arrays import copied
from yieldrl.experiments.check_algorithm.report import (
    Report,
    Values,
    changed,
    leaves,
    values_of,
)
from yieldrl.foundations.text import listed
from yieldrl.networks import set_train_mode
from yieldrl.runtime import LearningMode

ACTING = ("agent.sample", "agent.predict")


class ChangeLog:
    """Compares the algorithm's values, and the agent's version, with earlier ones.

    Attributes:
        synced: Names of the values that `sync_target` changed.
    """

    def __init__(self, agent: Any, report: Report) -> None:
        self.agent, self.report = agent, report
        self.synced: set[str] = set()
        self._unsynced: dict[str, str] = {}  # changed name -> the cause
        self._known: Values = copied(values_of(self.agent.algorithm))
        self._version: int = self.agent.policy_version
        self._moved: dict[str, str] = {}  # changed weight -> the cause

    def record(self, by: str) -> list[str]:
        """Names of values that changed since the latest call; `by` is the cause."""
        now = values_of(self.agent.algorithm)
        names = changed(self._known, now)
        if names:
            kept = {k: v for k, v in self._known.items() if k in now}
            self._known = kept | copied({k: now[k] for k in names if k in now})
        self._moved |= {k: by for k in names if k.startswith("model.")}
        if by != "sync_target":
            self._unsynced |= dict.fromkeys(names, by)
        return names

    def acted(self, by: str) -> None:
        """Check that acting changed nothing."""
        names = self.record(by)
        self.report.expect(
            "acting_changes_nothing",
            not names,
            f"{by} changed {listed(names)}: change weights, statistics and targets"
            " while learning only, where the buffer's data are at hand",
        )
        self.unchanged_version(by)
        self._moved = {}

    def unchanged_version(self, by: str) -> None:
        """Check that the version stayed, as nothing was learned."""
        now = self.agent.policy_version
        self.report.expect(
            "policy_version",
            now == self._version,
            f"{by} moved policy_version from {self._version} to {now}: raise it only"
            " where the weights may change",
        )
        self._version = now

    def version(self) -> None:
        """Check that the version changed with the weights that act."""
        now, names = self.agent.policy_version, list(self._moved)
        self.report.expect(
            "policy_version",
            not names or now > self._version,
            f"{listed(names)} changed by {self._moved.get(next(iter(names), ''))}, and"
            f" policy_version stayed {now}: raise agent.policy_version by one before"
            " weights or statistics of the model change, as agent.learn does",
        )
        self._version, self._moved = now, {}

    def target(self) -> None:
        """Check that only `sync_target` changed the values that it synchronises."""
        parts = vars(self.agent.algorithm).items()
        modules = [name for name, part in parts if isinstance(part, nn.Module)]
        targets = tuple(f"{name}." for name in modules if "target" in name)
        for name in self._known:
            if name.startswith(targets) or name in self.synced:
                by = self._unsynced.get(name)
                self.report.expect(
                    "target_by_sync_alone",
                    by is None,
                    f"{name} was changed by {by}: leave that to sync_target, which the"
                    " trainer calls through agent.sync_target when it is due",
                )


class Modes:
    """Checks the mode of every module of a model that runs.

    Attributes:
        names: Names of the checked modules, by their `id`.
    """

    def __init__(self, model: nn.Module, report: Report) -> None:
        self.report = report
        self.names = module_names(model)
        self._matters = LearningMode(model).matters
        before = [(part, part.training) for part in model.modules()]
        set_train_mode(model)  # frozen parts may stay in eval mode
        self._trained = {id(part) for part in model.modules() if part.training}
        for part, training in before:
            part.training = training

    def forward(self, part: nn.Module, phase: str) -> None:
        """Check a module before its forward pass."""
        gradients = torch.is_grad_enabled()
        if id(part) not in self.names:
            return
        if phase in ACTING:
            self.acts(part, phase)
            name = self.names[id(part)]
            self._without_gradients(not gradients, f"{phase} ran {name} with gradients")
        elif phase == "algorithm.learn" and gradients:
            self.learns(part)

    def acts(self, part: nn.Module, by: str) -> None:
        """Check a module that acts."""
        self.report.expect(
            "acting_in_eval_mode",
            not part.training,
            f"{by} ran {self._described(part)} in train mode: call model.eval() when"
            " learning is over, and model.train() never to act",
        )

    def acted(self, by: str, answer: Any) -> None:
        """Check the result of acting."""
        parts = leaves(answer, "answer").items()
        graph = [n for n, x in parts if isinstance(x, Tensor) and x.requires_grad]
        self._without_gradients(
            not graph, f"{by} returned {listed(graph)} with a graph"
        )

    def learns(self, part: nn.Module) -> None:
        """Check a module that learns, if the mode matters to it or to others."""
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
    """Names of a model's modules, by their `id`."""
    return {id(part): name or "model" for name, part in model.named_modules()}
