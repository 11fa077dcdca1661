"""Which weights chose the actions that are learned from, and what they say of them."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.foundations.foreign_names import Renamed

CHUNK = 4096  # transitions annotated at a time, so that images fit into memory


def evaluated(function: Any, model: Any, rollout: TensorDict) -> dict[str, Tensor]:
    """What a function says of all actions of a rollout, `[T, N, ...]` each.

    Args:
        function: Of `Runtime.function`, with inputs `obs` and `action`; draws nothing.
        model: Says what the policy goes by.
        rollout: `[T, N]`; it goes through in parts that fit into memory.
    """
    obs = model.inputs(rollout).flatten(0, 1).split(CHUNK)
    action = rollout["action"].flatten(0, 1).split(CHUNK)
    nothing_drawn = torch.Generator()
    parts = [
        function({"obs": seen, "action": chosen}, nothing_drawn)
        for seen, chosen in zip(obs, action, strict=True)
    ]
    size = rollout.batch_size
    names = parts[0].keys()
    return {k: torch.cat([part[k] for part in parts]).unflatten(0, size) for k in names}


class ActingRecord:
    """What an agent remembers of its acting.

    Where collecting and learning take turns, the weights stand still while a rollout is
    collected: log-probabilities and values of all its actions are computed afterwards,
    in one batch, which takes a tenth of the time. Where the weights may change in
    between, as they do beside a collector in the background, `records_log_prob` says
    so, and every action is annotated and stamped with a `policy_version` when it is
    taken.

    Attributes:
        acted_version: The `policy_version` of the first action that waits to be learned
            from; None if there is none.
    """

    annotating: Any = None
    device: torch.device
    model: Any
    policy_version: int

    records_log_prob = False
    """Whether `log_prob` and `policy_version` are written down with every action."""

    acted_version: int | None = None

    records_policy, acted_since = Renamed("records_log_prob"), Renamed("acted_version")

    def signed(self, extras: dict[str, Tensor], count: int) -> dict[str, Tensor]:
        """Note which weights act; the extras of `count` actions, with the version."""
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
        """A rollout `[T, N]` with what `annotate` says of its actions.

        What acting wrote down stays.

        Raises:
            RuntimeError: If log-probabilities were not written down when acting, and
                the weights that acted are not those of now.
        """
        known = set(rollout.keys())
        if self.annotating is None:  # nothing must be known of its actions
            return rollout
        if "log_prob" in known:
            return rollout
        if self.acted_version != self.policy_version:
            raise RuntimeError(self._said_of_versions())
        found = evaluated(self.annotating, self.model, rollout)
        for name in found.keys() - known:
            rollout[name] = found[name]
        return rollout

    def _said_of_versions(self) -> str:
        acted, now = self.acted_version, self.policy_version
        who = f"policy version {acted}" if acted is not None else "an unknown policy"
        return (
            f"the rollout holds no log_prob, and {who} acted in it, where the weights"
            f" are version {now}: what they say of its actions would be wrong. Set"
            " records_log_prob = True of the agent that acts, before it does; or"
            " clear() the buffer, if it holds the rollout"
        )
