"""Prioritized replay: transitions drawn in proportion to their TD errors."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.replay import ReplayBuffer

WIDTH = 64
"""Children per node: with 64, a search among a million leaves takes four steps."""


class SumTree:
    """Non-negative numbers, under a tree of sums of 64 children each.

    Each change recomputes sums from the children, so an index may occur twice in a
    batch, and rounding errors do not accumulate. Initially all `size` numbers are zero.
    """

    def __init__(self, size: int, device: torch.device) -> None:
        self.size = size
        dtype = torch.float32 if device.type == "mps" else torch.float64
        self._levels: list[Tensor] = []  # [nodes, WIDTH] each, the root last
        count = size
        while not self._levels or count > 1:
            count = -(-count // WIDTH)
            self._levels.append(torch.zeros(count, WIDTH, dtype=dtype, device=device))
        self._consistent = True  # whether every node is the sum of its children

    @property
    def leaves(self) -> Tensor:
        """The numbers, `[size]`; changed by `write` and `fill`."""
        return self._levels[0].view(-1)[: self.size]

    def total(self) -> Tensor:
        """The sum of all numbers, 0-dim."""
        self._repair()
        return self._levels[-1].sum()

    def write(self, index: Tensor, value: Tensor) -> None:
        """Set the numbers at `index [B]` to `value [B]`."""
        self._repair()
        leaves = self._levels[0].view(-1)
        self._consistent = False
        leaves[index] = value.to(leaves.dtype)
        for below, above in pairwise(self._levels):
            index = index // WIDTH
            above.view(-1)[index] = below.index_select(0, index).sum(1)
        self._consistent = True

    def fill(self, values: Tensor) -> None:
        """Set the first numbers to `values [K]` and all others to zero."""
        self._consistent = False
        self.leaves.zero_()[: len(values)] = values
        self._repair()

    def find(self, value: Tensor) -> Tensor:
        """The positions `[B]` at which the cumulative sum exceeds `value [B]`.

        Values uniform in `[0, total)` find positions in proportion to their numbers.
        """
        self._repair()
        node = torch.zeros_like(value, dtype=torch.int64)
        value = value.to(self._levels[0].dtype)
        for level in reversed(self._levels):
            children = level.index_select(0, node)  # [B, WIDTH]
            ends = children.cumsum(1)
            # Rounding must not select a child after the last positive one.
            last = ends[:, -1].nextafter(torch.zeros_like(value))
            value = torch.minimum(value, last).unsqueeze(1)
            child = torch.searchsorted(ends, value, right=True) % WIDTH
            begin = ends.gather(1, child) - children.gather(1, child)
            value = (value - begin).clamp(min=0).squeeze(1)
            node = node * WIDTH + child.squeeze(1)
        return node

    def _repair(self) -> None:
        """Recompute all sums if an exception interrupted a change."""
        if self._consistent:
            return
        for below, above in pairwise(self._levels):
            above.view(-1)[: len(below)] = below.sum(1)
        self._consistent = True


class PrioritizedReplayBuffer(ReplayBuffer):
    """A replay buffer sampled in proportion to the latest TD errors.

    Schaul et al. 2016, "Prioritized Experience Replay", arXiv:1511.05952, the
    proportional variant: `P(i) = p_i^alpha / sum_k p_k^alpha` with `p = |td_error| +
    epsilon`. New transitions get the largest priority so far, so that each is drawn
    soon. A sample also holds `index`, for `update_priorities`, and the importance
    `weight`.

    Args:
        args: The arguments of `ReplayBuffer`, as are `kwargs`.
        alpha: Exponent of priorities: 0 is uniform, 1 is fully proportional.
        epsilon: Added to each error, so that a transition without one is still drawn.
        kwargs: See `args`.
    """

    beside = 9  # bytes in the sum tree: a float64, and one more per 64 leaves

    def __init__(
        self, *args: Any, alpha: float = 0.6, epsilon: float = 1e-6, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.alpha, self.epsilon = alpha, epsilon
        self._on_cpu = self.device.type == "cpu"  # checks need no synchronization there
        self._tree = SumTree(self.capacity, self.device)
        self._highest = self._tree.leaves.new_ones(())  # p^alpha, as in the tree
        self._known = 0  # number of rows with priorities; later rows lack them

    def sample(self, batch_size: int, beta: float = 1.0) -> TensorDict:
        """A batch `[B]` drawn by priority, with its `index` and `weight`.

        `index` counts transitions from the first ever written, so it is unique, unlike
        a position in the ring. `weight` corrects the bias, fully if `beta` is 1.
        """
        batch = super().sample(batch_size)
        # (N P(i))^-beta over the batch's largest: N and the sum cancel.
        priority = self._tree.leaves[batch["index"] % self.capacity]
        batch["weight"] = ((priority / priority.min()) ** -beta).float()
        return batch

    def update_priorities(self, index: Tensor, td_error: Tensor) -> None:
        """Set the priorities of a sample's transitions from their new TD errors.

        Transitions that were overwritten since are skipped. ValueError if the arguments
        differ in length and, on a CPU, if an error is not finite; on a GPU, where a
        check would synchronize, such an error counts as the largest so far.

        Args:
            index: The sample's `index`, `[B]`.
            td_error: TD errors of either sign, or losses, `[B]`.
        """
        if index.ndim != 1 or index.shape != td_error.shape:
            raise ValueError(
                f"update_priorities takes index [B] and td_error [B], got"
                f" {list(index.shape)} and {list(td_error.shape)}: one error for each"
                " transition of the sample"
            )
        index = index.to(self.device)
        error = td_error.detach().to(self._highest).abs()
        priority = (error + self.epsilon) ** self.alpha
        if not self._on_cpu:
            priority = priority.where(priority.isfinite(), self._highest)
        largest = priority.max()
        if self._on_cpu and not math.isfinite(largest):
            wrong = (~error.isfinite()).nonzero().flatten().tolist()
            raise ValueError(
                f"td_error is not finite at {wrong[:8]} of {len(error)}, the largest"
                f" priority would be {float(largest)}. Lower the learning rate, or look"
                " for extreme rewards"
            )
        self._highest = torch.maximum(self._highest, largest)
        place = index % self.capacity
        before = self._tree.leaves[place]
        # A row that must not be sampled keeps priority zero.
        drawable = (before > 0) & (index >= self._oldest * self.num_envs)
        self._tree.write(place, priority.where(drawable, before))

    def state_dict(self) -> dict[str, Any]:
        """The ring's state, the priorities, and the number of rows without one."""
        rows = min(self._written, self.rows)
        return {
            **super().state_dict(),
            "priority": self._tree.leaves.view(self.rows, -1)[:rows].clone(),
            "highest": self._highest,
            "new": self._written - self._known,
            "n_step": self.n_step,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        priority = state["priority"]
        if self._resized(state):
            turned = priority.roll(-(state["begun"] % state["rows"]), 0)
            priority = turned[: self._written]
        self._tree.fill(priority.flatten().to(self._highest))
        self._highest.copy_(state["highest"])
        # With another n_step, other rows cannot be sampled yet.
        new = state["new"] + abs(self.n_step - state["n_step"])
        self._known = self._written - new

    def _sample_index(self, batch_size: int) -> Tensor:
        """Stratified sampling: one position per B-th of the sum of priorities."""
        self._give_new_priorities()
        total = self._tree.total()
        if self._on_cpu and "valid" in self._storage and total == 0:
            raise RuntimeError("the replay buffer holds only resets: collect more")
        like: dict[str, Any] = {"dtype": total.dtype, "device": self.device}
        uniform = torch.rand(batch_size, generator=self.generator, **like)
        parts = torch.arange(batch_size, device=self.device)
        return self._tree.find((parts + uniform) * (total / batch_size))

    def _gather(self, index: Tensor) -> TensorDict:
        batch = super()._gather(index)
        # Positions after the latest row were written one round earlier.
        behind = (self._written * self.num_envs - 1 - index) // self.capacity
        batch["index"] = index + behind * self.capacity
        return batch

    def _give_new_priorities(self) -> None:
        """Give a priority to all new rows that may now be sampled."""
        if self._known == self._begun:
            return
        waiting = self.n_step - 1
        rows = min(self._begun - self._known + waiting, self._begun, self.rows)
        time = torch.arange(self._begun - rows, self._begun, device=self.device)
        # An interrupted row is the last one, and gets no priority.
        may = (time < self._written - waiting).unsqueeze(1).expand(-1, self.num_envs)
        row = time % self.rows
        if "valid" in self._storage:
            may = may & self._storage["valid"][row]
        envs = torch.arange(self.num_envs, device=self.device)
        index = row.unsqueeze(1) * self.num_envs + envs
        self._tree.write(index.flatten(), (self._highest * may).flatten())
        self._known = self._written
