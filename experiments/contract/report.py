"""The checks, their report, and comparisons of values before and after."""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.core import rng_state
from yieldrl.experiments.parts import concerns

CHECKS = {
    "acting_in_eval_mode": "sample and predict run the model in eval mode",
    "acting_without_gradients": "sample and predict record no gradients",
    "acting_changes_nothing": "sample and predict change no parameter, running"
    " statistic or optimizer state",
    "learning_in_train_mode": "learn runs the model in train mode; afterwards it is"
    " in eval mode",
    "learning_steps_no_environment": "learning steps no environment",
    "evaluating_steps_no_training_environment": "evaluate has environments of its own",
    "stored_log_prob": "before the first update, stored actions have their stored"
    " log_prob",
    "policy_version": "policy_version rises if the weights that act may have changed,"
    " and else not",
    "predict_is_deterministic": "predict gives the same again and draws no numbers",
    "metrics": "learn returns finite numbers, or detached 0-dim tensors",
    "learning_moves_parameters": "learn changes a parameter",
    "target_by_sync_alone": "sync_target alone moves the target, and not while acting",
    "counters": "learn_step counts calls of learn, sample_step environment steps",
    "state_dict": "load_state_dict restores what was saved, and the actions with it",
    "acting_copy": "agent.actor() goes on acting as the agent did when it was made",
}
"""Name of each check -> what must be true."""


class ContractError(ValueError):
    """An algorithm breaks the contract between acting and learning.

    Attributes:
        found: Name of each check that failed -> the problem, and what to do.
    """

    def __init__(self, name: str, found: dict[str, str]) -> None:
        self.found = found
        lines = [f"- {check}: {text}" for check, text in found.items()]
        title = f"{name} breaks the contract between acting and learning"
        super().__init__("\n".join([title, *lines]))


class Report:
    """Counts how often each check was made, and keeps its first failure in `found`."""

    def __init__(self) -> None:
        self.looks = dict.fromkeys(CHECKS, 0)
        self.found: dict[str, str] = {}

    def expect(self, check: str, holds: object, otherwise: str) -> None:
        """Count a check; if it fails, keep the first message."""
        self.looks[check] += 1
        if not holds:
            self.found.setdefault(check, otherwise)

    def expect_metrics(self, logs: Mapping[str, Any], by: str, *, finite: bool) -> None:
        """Check that metrics are numbers or detached 0-dim tensors."""
        for name, value in logs.items():
            wrong = ""
            if isinstance(value, Tensor) and value.requires_grad:
                wrong = "a tensor with a graph"
            elif isinstance(value, Tensor) and value.ndim > 0:
                wrong = f"a tensor of shape {tuple(value.shape)}"
            elif finite and not math.isfinite(value):
                wrong = str(float(value))
            self.expect(
                "metrics",
                not wrong,
                f"{by} gave {name} = {wrong}: log detached means, and leave out what is"
                " not known (results per sample are written into the batch)",
            )


def warn_of_concerns(trainer: Any) -> None:
    """Warn of the `concerns` of the algorithm and its model, if there are any."""
    for concern in concerns(trainer.agent.algorithm):
        warnings.warn(f"{trainer.run.name}: {concern}", UserWarning, stacklevel=4)


Values = dict[str, Any]
"""Dotted name -> tensor, array or plain value: `model.actor.layers.0.weight`."""


def leaves(part: Any, name: str = "") -> Values:
    """Nested mappings, lists and tuples as one flat dict.

    >>> leaves({"lr": 0.1, "betas": [0.9, 0.99]})
    {'lr': 0.1, 'betas.0': 0.9, 'betas.1': 0.99}
    """
    if isinstance(part, list | tuple):
        part = dict(enumerate(part))
    if not isinstance(part, Mapping):
        return {name: part}
    flat: Values = {}
    for key, value in part.items():
        flat |= leaves(value, f"{name}.{key}" if name else str(key))
    return flat


def values_of(algorithm: Any) -> Values:
    """All saved values of an algorithm, and buffers of its model that are not saved."""
    buffers = {f"model.{name}": b for name, b in algorithm.model.named_buffers()}
    return buffers | leaves(algorithm.state_dict())


def changed(before: Values, after: Values) -> list[str]:
    """Names of values that differ, were added or were removed."""
    differing = [k for k in after if k in before and not same(before[k], after[k])]
    return differing + sorted(before.keys() ^ after.keys())


def same(one: Any, two: Any) -> bool:
    """Whether two values are equal, bit by bit; NaN equals NaN."""
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        if one.shape != two.shape or one.dtype != two.dtype:
            return False
        two = two.to(one.device)
        return bool(((one == two) | ((one != one) & (two != two))).all())
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return bool(np.array_equal(one, two))
    return bool(one == two) or bool(one != one and two != two)


def generators(*owners: Any) -> Values:
    """The states of all generators: the global ones, and attributes of the owners."""
    states = leaves(rng_state(), "global")
    for owner in owners:
        for name, value in vars(owner).items():
            name = f"{type(owner).__name__}.{name}"
            if isinstance(value, torch.Generator):
                states[name] = value.get_state()
            elif isinstance(value, np.random.Generator):
                states |= leaves(value.bit_generator.state, name)
    return states
