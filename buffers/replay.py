"""The replay buffer: a ring of the latest transitions, sampled at random."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import pad

from yieldrl.buffers.spec import check_at_least_one, transition_spec
from yieldrl.buffers.storage import Storage, add_rollout
from yieldrl.core import restore_generator
from yieldrl.core.files import saved_count
from yieldrl.functional import n_step_returns


class ReplayBuffer:
    """A ring of `capacity` transitions `[rows, N]`; the oldest row is overwritten.

    Lin 1992, "Self-Improving Reactive Agents Based On Reinforcement Learning, Planning
    and Teaching"; Mnih et al. 2015. Images stay uint8.

    With `n_step > 1` a sample that begins at step t holds, as in Sutton 1988, "Learning
    to Predict by the Methods of Temporal Differences", and, without off-policy
    correction, in Hessel et al. 2018, arXiv:1710.02298,

    - `reward`: `r_t + gamma r_{t+1} + ... + gamma^(k-1) r_{t+k-1}`,
    - `next_obs`, `terminated` and `truncated` of its last step, `t + k - 1`,
    - `discount`: `gamma^k`, or the product of the transitions' own discounts,

    with k = n, or less if the episode ends before. The latest n - 1 rows cannot be
    sampled yet.

    Args:
        capacity: Transitions to keep, over all environments (rounded down to rows): at
            least one row.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, parallel environments.
        gamma: Discount; samples have it as `discount`, unless their transitions have
            one of their own.
        n_step: `n`, at least 1 and at most the rows that the capacity holds.
        device: Where the tensors live; MemoryError if less is free than they need.
        seed: Seed of `generator`, which draws the samples.
    """

    beside: int = 0
    """Bytes that each transition takes besides its entries."""

    def __init__(
        self,
        capacity: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        gamma: float,
        n_step: int = 1,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        if capacity < num_envs:
            raise ValueError(
                f"capacity = {capacity} does not hold one step of {num_envs}"
                " environments: choose a larger buffer_size"
            )
        self.num_envs, self.gamma, self.n_step = num_envs, gamma, n_step
        self.rows = capacity // num_envs
        if not 1 <= n_step <= self.rows:
            raise ValueError(
                f"n_step = {n_step}: choose at least 1 and at most the {self.rows} rows"
                f" of {num_envs} environments that the capacity holds"
            )
        self.device = torch.device(device)
        spec = transition_spec(observation_space, action_space)
        size = {"field": "buffer_size", "value": capacity, "beside": self.beside}
        self._storage = Storage(self.rows, num_envs, spec, self.device, **size)
        powers = [gamma**k for k in range(n_step + 1)]
        self._discounts = torch.tensor(powers, dtype=torch.float32, device=self.device)
        self.generator = torch.Generator(self.device).manual_seed(seed)
        # Rows begun and rows completed since the first. They differ if an exception
        # interrupted a write: that row is no longer the oldest, nor yet the newest.
        self._begun = self._written = 0

    def __len__(self) -> int:
        rows = self._written - self._oldest - (self.n_step - 1)
        return max(0, rows) * self.num_envs

    @property
    def capacity(self) -> int:
        """Maximal number of transitions."""
        return self.rows * self.num_envs

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`, or the rows of a rollout `[T, N]`.

        ValueError if an entry does not fit; then the row is not counted.
        """
        if add_rollout(self, transition):
            return
        written = self._written
        self._begun = written + 1
        self._storage.write(written % self.rows, transition, first=written == 0)
        self._written = written + 1

    def sample(self, batch_size: int) -> TensorDict:
        """A batch `[B]` drawn uniformly with replacement, with its `discount`.

        RuntimeError without transitions, resets not counted; ValueError if the batch
        size is less than 1.
        """
        if batch_size < 1:
            check_at_least_one(batch_size=batch_size)
        if len(self) == 0:
            raise RuntimeError("the replay buffer is empty: collect first")
        return self._gather(self._sample_index(batch_size))

    def sequences(
        self,
        batch_size: int,
        length: int,
        newest: int | None = None,
        *,
        crossing: bool = False,
    ) -> TensorDict:
        """Sequences of single steps, `[T, B]`, with starts drawn uniformly.

        By default no sequence crosses an episode's end, which can only be its last
        step; with `crossing` the next episode follows, so that all steps are equally
        likely, even of short episodes. Steps that only reset are in no sequence, and
        skipped in one that crosses. `newest` limits sampling to the latest rows.
        RuntimeError if no episode has so many steps; ValueError if a size is less than
        1.
        """
        check_at_least_one(batch_size=batch_size, length=length, newest=newest)
        steps = torch.arange(length, device=self.device).unsqueeze(1)
        if crossing and "valid" not in self._storage:  # any row, without a look at it
            first, count = self._latest(newest)
            starts = max(0, count - length + 1) * self.num_envs
            start = self._drawn(starts, batch_size, length)
            index = (start + (first + steps) * self.num_envs) % self.capacity
        else:
            paths, starts = self._starts(length, newest, crossing=crossing)
            start = starts[self._drawn(len(starts), batch_size, length)]
            index = paths[start + steps]
        return self._single_steps(index.flatten()).view(length, batch_size)

    def has_sequences(self, length: int) -> bool:
        """Whether `sequences` of this length that may cross ends can be drawn."""
        if "valid" not in self._storage:
            return self._latest()[1] >= length
        return len(self._starts(length, crossing=True)[1]) > 0

    def every_step(self, newest: int | None = None) -> TensorDict:
        """Copies of all single steps `[B]`, the oldest first, without resets.

        `number` counts transitions from the first ever written, so it is unique. With
        `newest` only steps of the latest rows. RuntimeError if there is none.
        """
        check_at_least_one(newest=newest)
        first, count = self._latest(newest)
        number = torch.arange(count * self.num_envs, device=self.device)
        number += first * self.num_envs
        if "valid" in self._storage:
            number = number[self._storage["valid"].flatten()[number % self.capacity]]
        if len(number) == 0:
            raise RuntimeError("the replay buffer is empty: collect first")
        return self._single_steps(number % self.capacity).set("number", number)

    def end_episodes(self) -> None:
        """Mark unfinished episodes as truncated: the next step begins new ones."""
        if self._written > 0:
            self._storage.truncate((self._written - 1) % self.rows)

    def state_dict(self) -> dict[str, Any]:
        """The transitions, the positions, and the state of `generator`."""
        return {
            "storage": self._storage.state_dict(min(self._written, self.rows)),
            "written": self._written,
            "begun": self._begun,
            "rows": self.rows,
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state into a ring of equal or larger size; ValueError if unfit."""
        self._begun = self._written = 0
        self._storage.load_state_dict(state["storage"])
        names = "begun", "written", "rows"
        begun, written, rows = (saved_count(state, name) for name in names)
        if self._resized(state):
            # The oldest row goes first in the new ring, an interrupted one last.
            self._storage.roll(rows, -(begun % rows))
            begun = written = rows - (begun - written)
        restore_generator(self.generator, state["generator"])
        self._begun, self._written = begun, written

    @property
    def _oldest(self) -> int:
        """Number of the oldest complete row, counted from the first ever written."""
        return max(0, self._begun - self.rows)

    def _resized(self, state: Mapping[str, Any]) -> bool:
        """Whether a saved ring was full, and this one has another size."""
        return state["begun"] > state["rows"] != self.rows

    def _random(self, below: int, count: int) -> Tensor:
        options = {"generator": self.generator, "device": self.device}
        return torch.randint(below, (count,), **options)

    def _sample_index(self, batch_size: int) -> Tensor:
        """Flat positions of valid transitions."""
        index = self._position(self._random(len(self), batch_size))
        if "valid" not in self._storage:
            return index
        # NEXT_STEP autoreset only: draw again for steps that only reset.
        valid = self._storage["valid"].flatten()
        if not valid.is_cpu:  # to look is to wait for a GPU: it counts them all
            everything = self._position(torch.arange(len(self), device=self.device))
            count = valid[everything].cumsum(0)
            drawn = self._random(2**62, batch_size) % count[-1]
            return everything[torch.searchsorted(count, drawn, right=True)]
        while not bool(valid[index].all()):
            everything = torch.arange(len(self), device=self.device)
            if not bool(valid[self._position(everything)].any()):
                raise RuntimeError("the replay buffer holds only resets: collect more")
            again = self._position(self._random(len(self), batch_size))
            index = torch.where(valid[index], index, again)
        return index

    def _position(self, number: Tensor) -> Tensor:
        """Flat positions of transitions with the numbers `0 ... len(self) - 1`."""
        if self._oldest == 0 or len(self) == self.capacity:  # order does not matter
            return number
        # Count from the oldest row, to leave out the last `n_step - 1` rows.
        return (number + self._oldest * self.num_envs) % self.capacity

    def _gather(self, index: Tensor) -> TensorDict:
        """The batch `[B]` at flat positions `[B]`."""
        return self._single_steps(index) if self.n_step == 1 else self._n_steps(index)

    def _single_steps(self, index: Tensor) -> TensorDict:
        """The single steps `[B]` at flat positions `[B]`, with their `discount`."""
        batch = self._storage.gather(index)
        if "discount" not in self._storage:
            batch["discount"] = torch.full_like(batch["reward"], self.gamma)
        return batch

    def _n_steps(self, index: Tensor) -> TensorDict:
        """The n-step transitions `[B]` that begin at flat positions `[B]`."""
        storage = self._storage
        steps = torch.arange(self.n_step, device=self.device)
        # [B, n]: consecutive rows of the same environment.
        path = (index.unsqueeze(1) + steps * self.num_envs) % self.capacity
        ended = (storage["terminated"] | storage["truncated"]).flatten()[path]
        discount = self._discounts  # [n + 1]
        if "discount" in storage:
            product = storage["discount"].flatten()[path].cumprod(1)
            discount = pad(product, (1, 0), value=1.0)  # [B, n + 1]
        reward = storage["reward"].flatten()[path]
        returns, next_discount, length = n_step_returns(reward, ended, discount)
        last = path.gather(1, length.unsqueeze(1) - 1).squeeze(1)
        later = {"next_obs": last, "terminated": last, "truncated": last}
        batch = storage.gather(index, later)
        batch["reward"], batch["discount"] = returns, next_discount
        return batch

    def _latest(self, newest: int | None = None) -> tuple[int, int]:
        """The number of the oldest of the `newest` rows, and how many these are."""
        most = self.rows if newest is None else newest
        first = max(self._oldest, self._written - most)
        return first, self._written - first

    def _starts(
        self, length: int, newest: int | None = None, *, crossing: bool
    ) -> tuple[Tensor, Tensor]:
        """Flat positions of each environment's transitions in order, and where in these
        a sequence of consecutive steps begins."""
        first, count = self._latest(newest)
        row = torch.arange(first, first + count, device=self.device) % self.rows
        valid = torch.ones(count, self.num_envs, dtype=torch.bool, device=self.device)
        if "valid" in self._storage:
            valid = self._storage["valid"][row]
        env, when = valid.t().nonzero(as_tuple=True)
        index = row[when] * self.num_envs + env
        size = max(0, len(index) - length + 1)
        last = slice(length - 1, None)
        whole = env[:size] == env[last]
        if not crossing:
            flags = self._storage["terminated"] | self._storage["truncated"]
            ended = pad(flags.flatten()[index].cumsum(0), (1, 0))  # before each step
            whole &= ended[:size] == ended[length - 1 : length - 1 + size]
            whole &= when[last] - when[:size] == length - 1
        return index, whole.nonzero().squeeze(1)

    def _drawn(self, starts: int, batch_size: int, length: int) -> Tensor:
        """Draw some of the starts of sequences `[B]`; RuntimeError without any."""
        if starts == 0:
            raise RuntimeError(
                f"no episode has {length} steps in a row among the rows that are kept:"
                " collect more, or ask for shorter sequences"
            )
        return self._random(starts, batch_size)


class ImaginationBuffer(ReplayBuffer):
    """A ring of the latest imagined steps `[rows, B]`, written a segment at a time.

    A segment `[H, B]` has `num_envs = B` branches, each from a real state on. Each step
    has the versions of the weights that made it, `model_version` and `policy_version`;
    `valid`, which is False after a branch's end; and its own `discount`. The last row
    is `truncated` where a branch has not ended, so that values bootstrap from its
    `next_obs`, and sequences never continue into another segment.
    """

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a segment `[H, B]`, as `yieldrl.imagination.imagine` returns it.

        ValueError if a branch has not ended in the last row, or if it has more rows
        than fit.
        """
        if isinstance(transition, TensorDict) and transition.batch_dims > 1:
            last = transition[-1]
            goes_on = last["valid"] & ~(last["terminated"] | last["truncated"])
            if bool(goes_on.any()):
                raise ValueError(
                    "branches of the last row go on, so that the next segment would"
                    " look like their future: mark them as truncated"
                )
            if len(transition) > self.rows:
                raise ValueError(
                    f"a segment of {len(transition)} rows does not fit into"
                    f" {self.rows}: choose a capacity of {transition.numel()} or more"
                )
        super().add(transition)
