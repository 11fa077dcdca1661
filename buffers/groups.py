"""Episodes of a rollout, in groups with the same start, as for GRPO."""

from dataclasses import dataclass
from typing import Self

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.functional import discounted_returns

SAID = ("valid", "episode", "begins", "ends")
"""Entries that `yieldrl.envs.wrappers.GroupStarts` adds to each transition."""

PLAYED = "reward", "terminated", "truncated", "discount", "policy_version"


@dataclass
class EpisodeGroups:
    """K groups of G episodes, one of each environment of a group, `[K, G]`.

    Its tensors are on the CPU, wherever the rollout is: their sizes depend on numbers,
    which a GPU is waited for once, by the copy of a few entries.

    Attributes:
        returns: Discounted sums of rewards, float32; only valid where `whole`.
        whole: Whether the episode began and ended within the rollout.
        mixed: Whether several policies acted in the group, `[K]`.
        length: Steps of each episode, int64.
        first: Index of its first step in the flattened rollout, `t * N + n`.
        place: For each `valid` step, the index of its episode, `k * G + g`.
        valid: Whether a step of the rollout belongs to an episode, `[T, N]`.
        device: Where the rollout is, and what is spread to its steps.
    """

    returns: Tensor
    whole: Tensor
    mixed: Tensor
    length: Tensor
    first: Tensor
    place: Tensor
    valid: Tensor
    device: torch.device

    @classmethod
    def of(cls, rollout: TensorDict, group_size: int, gamma: float) -> Self:
        """The groups of a rollout `[T, N]` of environments in `GroupStarts`.

        Raises:
            ValueError: If the rollout lacks the entries that mark starts and ends.
        """
        if lacking := sorted({*SAID} - set(rollout.keys())):
            raise ValueError(
                f"the rollout lacks {lacking}, which say where episodes begin and end:"
                " step the environments in yieldrl.envs.wrappers.GroupStarts"
            )
        device, num_envs = rollout["valid"].device, rollout.batch_size[1]
        rollout = rollout.select(*SAID, *PLAYED, strict=False)
        if device.type != "cpu":
            rollout = rollout.consolidate().cpu()  # one copy
        valid = rollout["valid"]
        t, n = valid.nonzero(as_tuple=True)
        groups = num_envs // group_size
        number = rollout["episode"][t, n] * groups + n // group_size
        starts, k = number.unique(return_inverse=True)
        place, size = k * group_size + n % group_size, (len(starts), group_size)
        returns = discounted_returns(
            rollout["reward"],
            torch.zeros_like(rollout["reward"]),
            rollout["terminated"],
            rollout["truncated"],
            rollout.get("discount", gamma),
        )
        begins, ends = rollout["begins"][t, n], rollout["ends"][t, n]
        length = place.bincount(minlength=starts.numel() * group_size)
        ended, first = torch.zeros_like(length), torch.full_like(length, -1)
        ended[place[ends]] = 1
        first[place[begins]] = (t * num_envs + n)[begins]
        whole = (ended > 0) & (first >= 0)
        version = rollout.get("policy_version", torch.zeros_like(rollout["episode"]))
        return cls(
            returns=returns.flatten()[first.clamp(min=0)].view(size),
            whole=whole.view(size),
            mixed=_differ(version[t, n], k, len(starts)),
            length=length.view(size),
            first=first.view(size),
            place=place,
            valid=valid,
            device=device,
        )

    def spread(self, values: Tensor) -> Tensor:
        """Spread values of episodes `[K, G]` to their steps, `[T, N]`; 0 elsewhere."""
        steps = torch.zeros(self.valid.shape, dtype=values.dtype)
        steps[self.valid] = values.flatten()[self.place]
        return self._sent(steps)

    def episodes(self, rollout: TensorDict, which: Tensor) -> TensorDict:
        """Selected episodes as padded rows `[E, T]`, copies; padding is not `valid`.

        Args:
            rollout: The rollout to cut, `[T, N]`.
            which: The episodes to select, bool `[K, G]`.
        """
        length, first = self.length[which], self.first[which]
        longest = int(length.max()) if len(length) else 1
        step = torch.arange(longest)
        inside = step < length.unsqueeze(1)
        num_envs = rollout.batch_size[1]
        index = first.unsqueeze(1) + num_envs * step
        index = self._sent(torch.where(inside, index, first.unsqueeze(1)))
        return rollout.flatten(0, 1)[index].set("valid", self._sent(inside))

    def pairs(self, rollout: TensorDict) -> TensorDict:
        """Pairs of complete episodes `[P, 2, T]` of groups of two, the better first.

        Pairs with equal returns are left out. Padding as in `episodes`.
        """
        first, second = self.returns.unbind(1)
        differ = self.whole.all(1) & (first != second)
        rows = self.episodes(rollout, differ.unsqueeze(1).expand_as(self.whole))
        rows = rows.view(-1, 2, rows.shape[1])
        better = (second > first)[differ].long()
        order = torch.stack((better, 1 - better), dim=1)
        pair = torch.arange(len(rows)).unsqueeze(1)
        return rows[self._sent(pair), self._sent(order)]

    def _sent(self, x: Tensor) -> Tensor:
        return x.to(self.device, non_blocking=True)


def _differ(values: Tensor, k: Tensor, count: int) -> Tensor:
    """Whether values `[V]` that share an index in `k [V]` differ, bool `[count]`."""
    like = values.new_zeros(count)
    low, high = (
        like.scatter_reduce(0, k, values, reduce, include_self=False)
        for reduce in ("amin", "amax")
    )
    return low != high
