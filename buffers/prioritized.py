"""A replay buffer that gives more often what there is more to learn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.n_step import NStepReplayBuffer
from yieldrl.buffers.replay import ReplayBuffer
from yieldrl.buffers.sum_tree import SumTree


class PrioritizedReplayBuffer(ReplayBuffer):
    """A ring sampled in proportion to how wrong the values were the last time.

    Schaul et al. 2016, "Prioritized Experience Replay", arXiv:1511.05952, the
    proportional variant: `P(i) = p_i^alpha / sum_k p_k^alpha` with `p = |td_error| +
    epsilon`. New transitions get the largest priority that was ever given, so that each
    is soon seen once. A sample also holds the positions `index`, which
    `update_priorities` wants back, and the importance `weight`.

    Args:
        capacity: Transitions to keep, over all environments.
        observation_space: Space of one observation.
        action_space: Space of one action.
        alpha: How much priorities matter: 0 is uniform, 1 in full proportion.
        epsilon: Added to each error, so that nothing is forgotten for good.
        kwargs: The other arguments of `ReplayBuffer`.
    """

    def __init__(
        self,
        capacity: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        alpha: float = 0.6,
        epsilon: float = 1e-6,
        **kwargs: Any,
    ) -> None:
        super().__init__(capacity, observation_space, action_space, **kwargs)
        self.alpha, self.epsilon = alpha, epsilon
        self._tree = SumTree(self.capacity, self.device)
        self._highest = self._tree.leaves.new_ones(())  # p^alpha, as all in the tree
        self._new = 0  # rows written since the last sample

    def add(self, transition: Mapping[str, Any]) -> None:
        super().add(transition)
        self._new += 1

    def sample(self, batch_size: int, beta: float = 1.0) -> TensorDict:
        """A batch `[B]` drawn by priority, with its `index` and `weight`.

        Args:
            batch_size: `B`.
            beta: How much of the bias `weight` corrects: 0 nothing, 1 all of it.

        Raises:
            RuntimeError: If nothing was added yet, or nothing but resets.
        """
        batch = super().sample(batch_size)
        # (N P(i))^-beta over the batch's largest: the size and the sum cancel out.
        priority = self._tree.leaves[batch["index"]]
        batch["weight"] = ((priority / priority.min()) ** -beta).float()
        return batch

    def update_priorities(self, index: Tensor, td_error: Tensor) -> None:
        """Remember how wrong the values of a sample were.

        Args:
            index: The sample's `index`, `[B]`.
            td_error: TD errors of either sign, or losses, `[B]`.
        """
        index = index.to(self.device)
        error = td_error.detach().to(self._highest).abs()
        priority = (error + self.epsilon) ** self.alpha
        self._highest = torch.maximum(self._highest, priority.max())
        # What must not be drawn has none, and gets none by a late answer.
        known = self._tree.leaves[index] > 0
        self._tree.write(index, priority * known)

    def state_dict(self) -> dict[str, Any]:
        """The ring's state, the priorities, and how many rows are new."""
        rows = min(self._written, self.rows)
        return {
            **super().state_dict(),
            "priority": self._tree.leaves.view(self.rows, -1)[:rows].clone(),
            "highest": self._highest,
            "new": self._new,
            "horizon": self.horizon,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, into a ring of this size or a larger one.

        Raises:
            ValueError: If it does not fit.
        """
        super().load_state_dict(state)
        priority = state["priority"]
        if self._written != state["written"]:  # the ring was turned
            priority = priority.roll(-(state["written"] % state["rows"]), 0)
        self._tree.fill(priority.flatten().to(self._highest))
        self._highest.copy_(state["highest"])
        # With another horizon other rows wait for their future.
        self._new = state["new"] + abs(self.horizon - state["horizon"])

    def _sample_index(self, batch_size: int) -> Tensor:
        """One position from each of B equal parts of the sum of all priorities."""
        self._give_new_priorities()
        total = self._tree.total()
        looking_is_free = self.device.type == "cpu"
        if looking_is_free and "valid" in self._storage and total == 0:
            raise RuntimeError("the replay buffer holds only resets: collect more")
        dice = torch.rand(
            batch_size,
            generator=self._generator,
            dtype=total.dtype,
            device=self.device,
        )
        parts = torch.arange(batch_size, device=self.device)
        return self._tree.find((parts + dice) * (total / batch_size))

    def _gather(self, index: Tensor) -> TensorDict:
        batch = super()._gather(index)
        batch["index"] = index
        return batch

    def _give_new_priorities(self) -> None:
        """To all rows since the last sample at once; none to those without a future."""
        if self._new == 0:
            return
        waiting = self.horizon - 1
        rows = min(self._new + waiting, self._written, self.rows)
        time = torch.arange(self._written - rows, self._written, device=self.device)
        may = (time < self._written - waiting).unsqueeze(1).expand(-1, self.num_envs)
        row = time % self.rows
        if "valid" in self._storage:
            may = may & self._storage["valid"][row]
        envs = torch.arange(self.num_envs, device=self.device)
        index = row.unsqueeze(1) * self.num_envs + envs
        self._tree.write(index.flatten(), (self._highest * may).flatten())
        self._new = 0


class PrioritizedNStepReplayBuffer(PrioritizedReplayBuffer, NStepReplayBuffer):
    """Samples drawn by priority that look n steps ahead; arguments of both."""
