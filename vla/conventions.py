"""What numbers mean in the data of pretrained models, where their files do not say."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

Gripper = tuple[float, float]
"""The numbers that open and close a gripper."""

GRIPPER: Gripper = (-1.0, 1.0)
"""Of LIBERO, as of robosuite and Meta-World."""


@dataclass(frozen=True, kw_only=True)
class Convention:
    """The numbers of a data set that OpenVLA was trained on, or OpenVLA-OFT.

    Its loader makes all grippers one number that is not scaled, 1 where they open and
    0 where they close. `run_libero_eval.py` sends `-sign(2 x - 1)` of it; here it is
    `1 - 2 x`, which can be undone, and of which LIBERO takes the sign. All other
    numbers are those of the data set's robot: LIBERO's moves and turns are its own.
    """

    bounds: tuple[str, str] = ("q01", "q99")
    """Entries of the statistics that became -1 and 1."""

    gripper: Gripper | None = (1.0, 0.0)
    """Numbers that open and close it; None where they are the environment's."""

    place: int | None = None
    """Place of the gripper's number where the statistics have no `mask`, which leaves
    it out of what is scaled."""

    def in_environment(
        self, actions: Tensor, statistics: Mapping[str, Any], gripper: Gripper
    ) -> Tensor:
        """Actions `[D]` with the environment's numbers of the gripper."""
        if self.gripper is None:
            return actions
        share = (actions - self.gripper[0]) / (self.gripper[1] - self.gripper[0])
        turned = gripper[0] + share * (gripper[1] - gripper[0])
        return torch.where(self._grippers(actions, statistics), turned, actions)

    def check_gripper(
        self, low: Tensor, high: Tensor, statistics: Mapping[str, Any], gripper: Gripper
    ) -> None:
        """Refuse numbers of a gripper that are the same, or beyond an action space's
        bounds `[D]`, which are NaN where they are unknown."""
        wrong = (low > min(gripper)) | (high < max(gripper))
        wrong |= gripper[0] == gripper[1]
        if self.gripper and bool((wrong & self._grippers(low, statistics)).any()):
            raise ValueError(
                f"{list(gripper)} are to open and close the gripper, and actions are"
                f" from {low.tolist()} to {high.tolist()}: say which numbers do, with"
                " model_config={'gripper': [OPEN, CLOSED]}"
            )

    def _grippers(self, actions: Tensor, statistics: Mapping[str, Any]) -> Tensor:
        """The places of grippers, `[D]` bool."""
        places = range(len(actions))
        mask = statistics.get("mask", [place != self.place for place in places])
        return ~torch.tensor(mask, dtype=torch.bool, device=actions.device)


CONVENTIONS = {
    "libero": Convention(place=6),
    "aloha": Convention(bounds=("min", "max"), gripper=None),
}
"""By the beginning of a data set's name; all others have the defaults."""


def convention_of(dataset: str, entry: str) -> Convention:
    """The convention of a data set's `action` or `proprio`, by its name.

    Proprioception has the robot's own numbers of the gripper.
    """
    known = (own for name, own in CONVENTIONS.items() if dataset.startswith(name))
    found = next(known, Convention())
    return found if entry == "action" else replace(found, gripper=None)
