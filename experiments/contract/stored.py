"""Whether stored actions have the log-probability under which they were chosen."""

from __future__ import annotations

import copy
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.experiments.contract.report import Report

MOST_COPIES = 8


class StoredLogProbs:
    """Keeps the policies that act, and asks them again for what they wrote down.

    Where the data says which `policy_version` acted, that one is asked; otherwise those
    of the latest rollout, of which one must agree.

    Args:
        agent: The agent; looked at are policies that have `evaluate_actions`.
        report: Takes what is found.
        tolerance: Largest difference of log-probabilities, in units of one nat and of
            their size: one row and a batch of many are rounded differently.
    """

    def __init__(self, agent: Any, report: Report, tolerance: float) -> None:
        self.agent, self.report, self.tolerance = agent, report, tolerance
        self._policies: dict[int, Any] = {}
        self._due = False

    def acts(self) -> None:
        """Keep a copy of the policy that is about to act."""
        version, model = self.agent.policy_version, self.agent.model
        self._due = True
        if hasattr(model, "evaluate_actions") and version not in self._policies:
            self._policies[version] = copy.deepcopy(model)
            for oldest in list(self._policies)[:-MOST_COPIES]:
                del self._policies[oldest]

    def learns(self, data: TensorDict) -> None:
        """Look at the first minibatch after acting."""
        keys = set(data.keys())
        if not self._due or not self._policies or "log_prob" not in keys:
            return
        self._due = False
        flat = data.flatten(0, 1) if data.ndim > 1 else data  # sequences `[T, n]`
        miss = self._misses(data, flat)
        size = 1 + flat["log_prob"].abs()
        seen = torch.ones_like(miss, dtype=torch.bool)
        if "valid" in keys:
            seen &= flat["valid"]
        if "policy_version" in keys:  # of those that are gone nothing can be said
            kept = torch.tensor(list(self._policies), device=miss.device)
            seen &= torch.isin(flat["policy_version"], kept)
        wrong = (seen & ~(miss <= self.tolerance * size)).nonzero().squeeze(1)
        first = int(wrong[0]) if len(wrong) else 0
        stored = float(flat["log_prob"][first])
        self.report.expect(
            "stored_log_prob",
            len(wrong) == 0,
            f"{len(wrong)} of {int(seen.sum())} stored actions have another log_prob"
            f" under the weights that acted, the first of them {stored:.6g} stored and"
            f" {float(miss[first]):.3g} away from it: store the action as it was drawn"
            " (before it is clipped) with its own log_prob, evaluate it in eval mode,"
            " and move statistics of observations only after log_prob is known",
        )
        if "policy_version" not in keys:
            self._policies.clear()

    @torch.no_grad()
    def _misses(self, data: TensorDict, flat: TensorDict) -> Tensor:
        """How far the stored `log_prob` is from what the policies say, `[B]`."""
        inputs = getattr(self.agent.algorithm, "inputs", lambda data: data["obs"])
        best, signed = torch.full_like(flat["log_prob"], torch.inf), "policy_version"
        for version, policy in self._policies.items():
            log_prob = policy.evaluate_actions(inputs(data), flat["action"])[0]
            miss = (log_prob - flat["log_prob"]).abs()
            if signed in set(flat.keys()):
                miss = miss.where(flat[signed] == version, torch.inf)
            best = torch.fmin(best, miss)
        return best
