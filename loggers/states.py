"""What a logger knows beyond the files it writes: saved with the trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Stateful(Protocol):
    """What can be saved as plain values and tensors, and restored."""

    def state_dict(self) -> dict[str, Any]:
        """Everything it needs to go on."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        ...


def keep(trainer: Any, name: str, part: Stateful, *, restore: bool = True) -> None:
    """Let a part be saved with the trainer, from where the last of its name stood.

    That was in an earlier loop, or in the process that wrote the checkpoint. A trainer
    without `attach` (one that is no `yieldrl.experiments.Run`) keeps nothing.
    """
    attach = getattr(trainer, "attach", None)
    if attach is not None:
        attach(name, part, restore=restore)
