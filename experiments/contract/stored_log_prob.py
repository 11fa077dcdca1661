"""Check that stored log-probabilities are those of the policy that acted."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict

from yieldrl.experiments.contract.report import Report

MAX_COPIES = 8


class StoredLogProbs:
    """Keeps the policies that act, and computes their log-probabilities again.

    A rollout with a `policy_version` is compared with that policy; other learning data
    with the policy that acted last. Policies without `evaluate_actions` are not
    checked.

    Attributes:
        recorded: Whether log-probabilities and versions were stored when acting.
    """

    def __init__(self, agent: Any, report: Report, tolerance: float) -> None:
        self.agent, self.report, self.tolerance = agent, report, tolerance
        self._policies: dict[int, Any] = {}
        self._versions: set[int] = set()  # of all actions, stored or not
        self._due = self.recorded = False

    def acts(self) -> None:
        """Keep a copy of the policy that is about to act."""
        version, model = self.agent.policy_version, self.agent.model
        self._due = True
        self._versions.add(version)
        if hasattr(model, "evaluate_actions") and version not in self._policies:
            self._policies[version] = copy.deepcopy(model)
            for oldest in list(self._policies)[:-MAX_COPIES]:
                del self._policies[oldest]

    def learns(self, data: TensorDict, buffer: Any) -> None:
        """Check the first minibatch after acting, and its rollout.

        `data` is `[B]`, or `[T, n]` of sequences; the buffer may have a rollout.
        """
        if not self._due or not self._policies:
            return
        self._due, policies = False, dict(list(self._policies.items())[-1:])
        if hasattr(buffer, "rollout"):
            rollout = buffer.rollout().flatten(0, 1)
            if {"log_prob", "policy_version"} <= set(rollout.keys()):
                self.recorded = True
                named = set(rollout["policy_version"].unique().tolist())
                wrong = {x for x in named - self._versions if x > min(self._versions)}
                self.report.expect(
                    "policy_version",
                    not wrong,
                    f"transitions name policy_version {sorted(wrong)}, but those that"
                    f" acted were {sorted(self._versions)}: write down the"
                    " agent.policy_version of when the action is chosen",
                )
                self._judge(self._inputs(rollout), rollout, self._policies)
                policies = self._policies if named <= self._policies.keys() else {}
        if "log_prob" in set(data.keys()) and policies:
            flat = data.flatten(0, 1) if data.ndim > 1 else data
            remembers = getattr(self.agent, "has_memory", False)
            self._judge(self._inputs(data if remembers else flat), flat, policies)

    def _inputs(self, data: TensorDict) -> Any:
        inputs = getattr(self.agent.model, "inputs", None)
        return data["obs"] if inputs is None else inputs(data)

    def _judge(
        self, inputs: Any, flat: TensorDict, policies: Mapping[int, Any]
    ) -> None:
        """Compare transitions `[B]` with log-probabilities of these policies.

        For actions of several parts, each with a `log_prob`, all must agree.
        """
        stored = flat["log_prob"].reshape(len(flat), -1)  # [B, K], of K parts
        versions = flat.get("policy_version", None)
        seen = torch.ones(len(flat), dtype=torch.bool, device=stored.device)
        if "valid" in flat.keys():  # noqa: SIM118 - steps that only reset
            seen &= flat["valid"]
        if versions is not None:  # weights that were dropped cannot be checked
            seen &= torch.isin(versions, torch.tensor([*policies], device=seen.device))
        miss = torch.full_like(stored, torch.inf)
        for version, policy in policies.items():
            with torch.no_grad():
                log_prob = policy.evaluate_actions(inputs, flat["action"])[0]
            distance = (log_prob.reshape(stored.shape) - stored).abs()
            if versions is not None:
                distance = distance.where(versions.unsqueeze(1) == version, torch.inf)
            miss = torch.fmin(miss, distance)
        right = (miss <= self.tolerance * (1 + stored.abs())).all(1)
        wrong = (seen & ~right).nonzero().squeeze(1)
        first = int(wrong[0]) if len(wrong) else 0
        self.report.expect(
            "stored_log_prob",
            len(wrong) == 0,
            f"{len(wrong)} of {int(seen.sum())} stored actions have another log_prob"
            " under the weights that acted: of the first"
            f" {float(stored[first].sum()):.6g} is stored,"
            f" {float(miss[first].sum()):.3g} away. Store the action as it was drawn,"
            " before it is clipped, and its own log_prob; evaluate it in eval mode;"
            " move statistics of observations only after log_prob is known",
        )
