"""What `check_algorithm` looks for, how often it looked, and what it found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

CHECKS = {
    "acting_in_eval_mode": "sample and predict run the model in eval mode",
    "acting_without_gradients": "sample and predict record no gradients",
    "acting_changes_nothing": (
        "sample and predict change no parameter, running statistic or optimizer state"
    ),
    "learning_in_train_mode": "learn runs the model in train mode; afterwards it is"
    " in eval mode",
    "learning_steps_no_environment": "learning steps no environment",
    "evaluating_steps_no_training_environment": "evaluate has environments of its own",
    "stored_log_prob": (
        "before the first update, stored actions have their stored log_prob"
    ),
    "policy_version": (
        "policy_version rises if the weights that act may have changed, and else not"
    ),
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
        found: Name of each check that failed -> what was found, and what to do.
    """

    def __init__(self, name: str, found: dict[str, str]) -> None:
        self.found = found
        lines = [f"- {check}: {text}" for check, text in found.items()]
        title = f"{name} breaks the contract between acting and learning"
        super().__init__("\n".join([title, *lines]))


class Report:
    """Collects findings, the first of each check.

    Attributes:
        looks: Name of each check -> how often it was looked at.
        found: Name of a check -> what was found first.
    """

    def __init__(self) -> None:
        self.looks = dict.fromkeys(CHECKS, 0)
        self.found: dict[str, str] = {}

    def expect(self, check: str, holds: object, otherwise: str) -> None:
        """Count a look; if it does not hold, keep what was wrong and what to do."""
        self.looks[check] += 1
        if not holds:
            self.found.setdefault(check, otherwise)


def listed(names: Sequence[str]) -> str:
    """The first three names, and how many more there are.

    >>> listed(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def expect_metrics(
    report: Report, logs: Mapping[str, Any], by: str, *, finite: bool
) -> None:
    """Look at whether metrics are numbers or detached 0-dim tensors."""
    for name, value in logs.items():
        is_tensor = isinstance(value, Tensor)
        wrong = (is_tensor and value.requires_grad and "a tensor with a graph") or (
            is_tensor and value.ndim > 0 and f"a tensor of shape {tuple(value.shape)}"
        )
        if not wrong and finite and not math.isfinite(value):
            wrong = str(float(value))
        report.expect(
            "metrics",
            not wrong,
            f"{by} gave {name} = {wrong}: log detached means, and leave out what is not"
            " known (results per sample are written into the batch)",
        )
