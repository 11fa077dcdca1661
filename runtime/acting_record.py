"""Log-probabilities of collected actions, stored when acting or computed afterwards."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

CHUNK = 4096  # transitions annotated at a time, so that images fit into memory


def evaluated(function: Any, model: Any, rollout: TensorDict) -> dict[str, Tensor]:
    """The results of a function for all actions of a rollout, `[T, N, ...]` each.

    Args:
        function: Of `obs` and `action` by these names, to results by theirs.
        model: Its `inputs` selects the policy's inputs.
        rollout: `[T, N]`; it is evaluated in parts that fit into memory.
    """
    obs = model.inputs(rollout).flatten(0, 1).split(CHUNK)
    action = rollout["action"].flatten(0, 1).split(CHUNK)
    parts = [
        function({"obs": seen, "action": chosen})
        for seen, chosen in zip(obs, action, strict=True)
    ]
    size = rollout.batch_size
    names = parts[0].keys()
    return {k: torch.cat([part[k] for part in parts]).unflatten(0, size) for k in names}


class ActingRecord:
    """Stores log-probabilities and the policy version of an agent's actions.

    Where collecting and learning take turns, the weights do not change while a rollout
    is collected: log-probabilities and values of all its actions are computed
    afterwards, in one batch, which takes a tenth of the time. Where the weights may
    change in between, as with a collector in the background, `records_log_prob` is
    True, and each action is stored with its `log_prob` and `policy_version`.

    Attributes:
        acted_version: The `policy_version` of the first action that was not learned
            from yet; None if there is none.
    """

    annotating: Any = None
    device: torch.device
    model: Any
    policy_version: int

    records_log_prob = False
    """Whether `log_prob` and `policy_version` are stored with every action."""

    acted_version: int | None = None

    def with_policy_version(
        self, extras: dict[str, Tensor], count: int
    ) -> dict[str, Tensor]:
        """Set `acted_version`; the extras of `count` actions, with the version."""
        if self.annotating is None:
            return extras
        if self.acted_version is None:
            self.acted_version = self.policy_version
        if not (self.records_log_prob and "log_prob" in extras):
            return extras
        version = torch.full((count,), self.policy_version, device=self.device)
        return {**extras, "policy_version": version}

    @torch.no_grad()
    def annotated(self, rollout: TensorDict) -> TensorDict:
        """Add the results of `annotate` to a rollout `[T, N]`, unless acting did.

        RuntimeError if it has no log-probabilities and an older policy acted.
        """
        known = set(rollout.keys())
        if self.annotating is None:
            return rollout
        if "log_prob" in known:
            return rollout
        if self.acted_version != self.policy_version:
            raise RuntimeError(self._version_error())
        found = evaluated(self.annotating, self.model, rollout)
        for name in found.keys() - known:
            rollout[name] = found[name]
        return rollout

    def _version_error(self) -> str:
        acted, now = self.acted_version, self.policy_version
        who = f"policy version {acted}" if acted is not None else "an unknown policy"
        return (
            f"the rollout holds no log_prob, and was collected by {who}: version {now},"
            " the current one, cannot compute it any more. Set records_log_prob = True"
            " on the acting agent before it acts; or clear() the buffer, if it holds"
            " the rollout"
        )
