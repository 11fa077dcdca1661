"""Checkpoints of wrappers."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from gymnasium.vector import VectorWrapper
from torch import Tensor

from yieldrl.envs.batched.tree import clone, layout, tree_map


class CheckpointWrapper(VectorWrapper):
    """A wrapper whose tensors can be saved, with the environments inside."""

    carried: ClassVar[tuple[str, ...]] = ()
    """Attributes that belong to the current episodes: tensors, or dicts of them."""

    learned: ClassVar[tuple[str, ...]] = ()
    """Attributes that are kept across episodes."""

    inside: torch.device
    _resets: Tensor | None

    @property
    def restorable(self) -> bool:
        """Whether the state of the environments inside can be restored."""
        inner = hasattr(self.env, "state_dict")
        return inner and getattr(self.env, "restorable", True)

    def state_dict(self) -> dict[str, Any]:
        """The wrapper's tensors, and the environments' state if they have one."""
        inner = getattr(self.env, "state_dict", None)
        return {"wrapper": self._own(), "envs": inner() if inner else None}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit. If it
        holds no state of the environments, reset them before the next step."""
        own, wrapper = layout(self._own()), saved.get("wrapper", {})
        if layout(wrapper) != own:
            raise ValueError(
                f"saved was {layout(wrapper)}, {type(self).__name__} has {own}: wrap as"
                " many of the same environments in the same order"
            )
        for name in self.learned:  # in place: evaluation environments share them
            tree_map(Tensor.copy_, getattr(self, name), wrapper[name])
        for name in (*self.carried, "_resets"):
            copied = tree_map(lambda x: x.to(self.inside, copy=True), wrapper[name])
            setattr(self, name, copied)
        if saved["envs"] is not None:
            inner: Any = self.env
            inner.load_state_dict(saved["envs"])

    def _own(self) -> dict[str, Any]:
        names = (*self.learned, *self.carried, "_resets")
        return {name: clone(getattr(self, name)) for name in names}
