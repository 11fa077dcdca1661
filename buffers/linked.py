"""A storage without `next_obs`, which is read from the following row."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.spec import Spec
from yieldrl.buffers.storage import Storage
from yieldrl.core import spaces
from yieldrl.core.trees import flatten, nest


class Kept(NamedTuple):
    """Next observations that a row stores itself."""

    envs: Tensor  # indices of environments, int64 [k]
    leaves: dict[spaces.Path, Tensor]  # [k, ...] each


class LinkedStorage(Storage):
    """A storage in which `next_obs` is the `obs` of the next row, not stored again.

    Each row stores the final observations of episodes that ended there, the latest row
    the next observations of all environments. Reading and `state_dict` give the same as
    in a `Storage`; next observations are copies instead of views.

    Args:
        rows: As in `Storage`, like all arguments.
        num_envs: Environments, `N`.
        spec: Layout of a transition, with `next_obs`.
        device: Where the tensors live.
        kwargs: The rest.
    """

    def __init__(
        self, rows: int, num_envs: int, spec: Spec, device: torch.device, **kwargs: Any
    ) -> None:
        once = {path: spec[path] for path in spec if path[0] != "next_obs"}
        super().__init__(rows, num_envs, once, device, **kwargs)
        self._seen = {p: leaf for p, leaf in self._leaves.items() if p[0] == "obs"}
        self._kept: list[Kept | None] = [None] * rows
        self._all = torch.arange(num_envs, device=device)

    def write(self, row: int, transition: Mapping[str, Any], *, first: bool) -> None:
        kept = Kept(self._all, self._copies(transition))
        super().write(row, transition, first=first)
        self._kept[row] = kept
        if row > 0:  # this row holds next_obs of the row before
            self._narrow(row - 1)

    def tensordict(self, end: int | None = None, begin: int = 0) -> TensorDict:
        data = super().tensordict(end, begin)
        rows = range(begin, self.rows if end is None else end)
        return data.update(self._next_obs(rows))

    def state_dict(self, rows: int | None = None) -> dict[str, Any]:
        following = self._next_obs(range(self.rows if rows is None else rows))
        return {**super().state_dict(rows), **following}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        once = {name: part for name, part in state.items() if name != "next_obs"}
        following = dict(flatten({"next_obs": state.get("next_obs", {})}))
        for path, leaf in self._seen.items():
            if not self._fits(following.get(("next_obs", *path[1:])), leaf.tensor):
                raise ValueError(
                    "buffer entry 'next_obs' is not what the checkpoint has: the config"
                    " or the environment differs"
                )
        super().load_state_dict(once)
        rows = len(next(iter(following.values())))
        for row in range(rows):
            leaves = {p: x[row].to(self.device) for p, x in following.items()}
            self._kept[row] = Kept(self._all, leaves)
        for row in range(rows - 1):
            self._narrow(row)

    def _copies(self, transition: Mapping[str, Any]) -> dict[spaces.Path, Tensor]:
        """Copy next observations `[N, ...]` of a transition; ValueError if unfit."""
        if "next_obs" not in transition:
            raise ValueError("a transition lacks ['next_obs']")
        found = dict(flatten({"next_obs": transition["next_obs"]}))
        copies = {}
        for path, leaf in self._seen.items():
            here = ("next_obs", *path[1:])
            value = None if here not in found else self._tensor(here, found.pop(here))
            if value is None or value.shape != leaf.row:
                got = "nothing" if value is None else f"{tuple(value.shape)}"
                raise self._misfit(path, f"{got} in 'next_obs'")
            copy = torch.empty_like(leaf.tensor[0])
            copies[here] = copy.copy_(value.detach(), non_blocking=True)
        if found:
            raise ValueError(f"a transition adds {sorted(map('.'.join, found))}")
        return copies

    def _narrow(self, row: int) -> None:
        """Drop next observations, except of ended episodes, that the next row has."""
        kept = self._kept[row]
        if kept is not None and kept.envs is self._all:
            ended = self["terminated"][row] | self["truncated"][row]
            envs = ended.nonzero().squeeze(1)
            few = {p: x.index_select(0, envs) for p, x in kept.leaves.items()}
            self._kept[row] = Kept(envs, few) if len(envs) else None

    def _next_obs(self, rows: Sequence[int]) -> dict[str, Any]:
        """Next observations `[rows, N, ...]`, nested like observations."""
        last = self.rows - 1
        after = torch.tensor([min(row + 1, last) for row in rows], device=self.device)
        leaves: dict[spaces.Path, Tensor] = {
            ("next_obs", *path[1:]): leaf.tensor.index_select(0, after.long())
            for path, leaf in self._seen.items()
        }
        for i, row in enumerate(rows):
            if (found := self._kept[row]) is not None:
                for path, tensor in found.leaves.items():
                    leaves[path][i, found.envs] = tensor
        return nest(leaves.items())
