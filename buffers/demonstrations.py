"""Demonstrations of an expert, and minibatches of its next actions and returns."""

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.minibatches import random_order
from yieldrl.buffers.rollout import StepRows
from yieldrl.buffers.spec import check_at_least_one
from yieldrl.functional import discounted_returns


class Windows:
    """Minibatches of windows: the next L actions from each step of an episode.

    Episodes that have not ended at the last row count as truncated there. Steps that
    are not `valid` only reset an environment. On a GPU this synchronizes.

    Args:
        rollout: Transitions `[T, N]`.
        length: `L`, actions of a window; None for single actions.
        gamma: Discount of the returns.
        seed: Epoch k is shuffled by a generator seeded with `seed + k`.

    Attributes:
        steps: The transitions in the order `t * N + n`, `[T * N]`.
        left: Steps to the end of each step's episode, including itself, `[T * N]`;
            0 at steps that only reset.
        starts: Flat positions `[W]` of all windows, by False, and by True of those with
            all L actions.
    """

    def __init__(
        self, rollout: TensorDict, length: int | None, gamma: float, seed: int
    ) -> None:
        self.length, self.seed = length, seed
        terminated, truncated = rollout["terminated"], rollout["truncated"]
        self._device = terminated.device
        self.steps = rollout.flatten(0, 1)
        steps, self._num_envs = rollout.batch_size
        row = torch.arange(steps, device=self._device).unsqueeze(1)
        end = torch.where(terminated | truncated, row, steps - 1)
        end = end.flip(0).cummin(0).values.flip(0)  # the next end at or after each step
        left = (end - row + 1) * rollout.get("valid", True)
        goes_on = ~terminated.gather(0, end)
        rewards = rollout["reward"], torch.zeros_like(rollout["reward"])
        returns = discounted_returns(*rewards, terminated, truncated, gamma)
        place = torch.arange(self._num_envs, device=self._device)
        self.left, self._returns = left.flatten(), returns.flatten()
        self._end = (end * self._num_envs + place).flatten()  # the last transition
        # Of the value after it: 0 if the episode terminated.
        self._discount = (gamma**left * goes_on).flatten()
        self._cut = bool((goes_on & (left > 0)).any())  # whether any did not
        enough = {False: self.left >= 1, True: self.left >= (length or 1)}
        self.starts = {
            whole: kept.nonzero().squeeze(1) for whole, kept in enough.items()
        }
        self._epoch: tuple[int, bool, Tensor] | None = None

    def num_minibatches(self, batch_size: int, *, whole: bool = False) -> int:
        """Minibatches of an epoch, each of at most `batch_size`; or RuntimeError.

        With `whole` only windows with all L actions count.
        """
        count = len(self.starts[whole])
        if count == 0:
            raise RuntimeError(
                f"no episode has {self.length if whole else 1} steps: choose shorter"
                " chunks, or demonstrate more"
            )
        return -(-count // batch_size)

    def minibatch(
        self, number: int, batch_size: int, *, whole: bool = False, values: bool = True
    ) -> TensorDict:
        """Minibatch number `number`, `[B]`; copies, which stay valid after the rollout.

        It holds `obs` and `action [B, ...]`; with chunks the next actions
        `[B, L, ...]`, and `num_steps [B]`, the number that exist: actions after the
        episode's end repeat its last action, and must be masked.

        Args:
            number: Index from 0, counted over all epochs.
            batch_size: Windows per minibatch (some have one less).
            whole: Leave out windows with fewer than `L` actions.
            values: Add a critic's targets: discounted `returns [B]` up to the episode's
                end. If any episode was cut, also `next_obs`, its last observation,
                and `discount [B]` of its value (0 if it terminated): the target
                is `returns + discount * V(next_obs)`.
        """
        parts = self.num_minibatches(batch_size, whole=whole)
        epoch, place = divmod(number, parts)
        order = self._order(epoch, whole)
        count = len(order)
        index = order[count * place // parts : count * (place + 1) // parts]
        batch = TensorDict({"obs": self.steps["obs"][index]}, [len(index)])
        if self.length is None:
            batch["action"] = self.steps["action"][index]
        else:
            batch["num_steps"] = self.left[index].clamp(max=self.length)
            batch["action"] = self.steps["action"][self._steps(index, self.length)]
        if values:
            batch["returns"] = self._returns[index]
        if values and self._cut:
            batch["discount"] = self._discount[index]
            batch["next_obs"] = self.steps["next_obs"][self._end[index]]
        return batch

    def _steps(self, index: Tensor, length: int) -> Tensor:
        """Flat positions `[B, L]` of windows that begin at positions `[B]`."""
        ahead = torch.arange(length, device=self._device)
        last = self.left[index].unsqueeze(1) - 1
        return index.unsqueeze(1) + torch.minimum(ahead, last) * self._num_envs

    def _order(self, epoch: int, whole: bool) -> Tensor:
        """Shuffled starts of the windows of an epoch: flat positions `[W]`."""
        if self._epoch is None or self._epoch[:2] != (epoch, whole):
            starts = self.starts[whole]
            order = random_order(len(starts), self._device, self.seed + epoch)
            self._epoch = epoch, whole, starts[order]
        return self._epoch[2]


class Demonstrations(StepRows):
    """Transitions `[T, N]` of an expert, drawn in minibatches and never cleared.

    Actions are the environment's, which an agent of behaviour cloning converts.
    `windows` cuts them into minibatches. An episode that is unfinished at the last row
    counts as truncated there.

    >>> space = gym.spaces.Discrete(9)
    >>> buffer = Demonstrations(3, space, space, num_envs=1, chunk_length=2, gamma=0.5)
    >>> for t in range(3):
    ...     step = {"obs": [t], "next_obs": [t + 1], "action": [t], "reward": [1.0]}
    ...     buffer.add({**step, "terminated": [t == 2], "truncated": [False]})
    >>> batch = buffer.windows.minibatch(0, batch_size=3)
    >>> batch = batch[batch["obs"].argsort()]
    >>> batch["action"].tolist(), batch["num_steps"].tolist()
    ([[0, 1], [1, 2], [2, 2]], [2, 2, 1])
    >>> batch["returns"].tolist()
    [1.75, 1.5, 1.0]

    Args:
        num_steps: `T`, steps of every environment, at least 1.
        observation_space: Space of one observation.
        action_space: Space of one action, not of a chunk of them.
        num_envs: `N`, parallel environments of the expert.
        chunk_length: `L`, actions of a window, at least 1; None for single actions.
        gamma: Discount of the returns.
        device: Where the tensors live; MemoryError if less is free than they need.
        seed: Seed of the order of minibatches.
        exact_obs: Whether to store observations in float64 that float32 does not hold.
    """

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        chunk_length: int | None = None,
        gamma: float = 0.99,
        device: torch.device | str = "cpu",
        seed: int = 0,
        exact_obs: bool = False,
    ) -> None:
        check_at_least_one(chunk_length=chunk_length)
        super().__init__(
            num_steps,
            observation_space,
            action_space,
            num_envs=num_envs,
            device=device,
            exact_obs=exact_obs,
            field="demonstration_steps",
            value=num_steps * num_envs,
            beside=5 * 8,  # bytes of its windows and its index in an epoch
        )
        self.observation_space, self.action_space = observation_space, action_space
        self.chunk_length, self.gamma, self.seed = chunk_length, gamma, seed
        self._windows: tuple[int, Windows] | None = None  # of so many rows

    def __len__(self) -> int:
        return self._row * self.num_envs

    @property
    def windows(self) -> Windows:
        """Minibatches of the transitions so far."""
        if self._windows is None or self._windows[0] != self._row:
            settings = self.chunk_length, self.gamma, self.seed
            self._windows = self._row, Windows(self.rollout(), *settings)
        return self._windows[1]

    def extend(self, rollout: TensorDict) -> None:
        """Write several steps at once, `[K, N]`, with no more than its own entries."""
        end = self._row + len(rollout)
        rows = self._storage.tensordict(end, self._row)
        rows.update_(rollout.select(*rows.keys()))
        self._row = end

    def episodes(self) -> Iterator[TensorDict]:
        """The episodes `[K]`, environment by environment; the last may be cut."""
        rollout = self.rollout()
        left = self.windows.left.view(rollout.batch_size)
        for n in range(self.num_envs):
            row, ahead = 0, left[:, n].tolist()
            while row < self._row:
                if ahead[row] > 0:  # skips steps that only reset the environment
                    yield rollout[row : row + ahead[row], n]
                row += max(1, ahead[row])

    def statistics(self) -> dict[str, float]:
        """Mean return, mean length and number of the episodes that ended."""
        ended = [e for e in self.episodes() if e["terminated"][-1] | e["truncated"][-1]]
        if not ended:
            return {}
        return {
            "episode_return": sum(float(e["reward"].sum()) for e in ended) / len(ended),
            "episode_length": sum(map(len, ended)) / len(ended),
            "episodes": float(len(ended)),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        self._windows = None
        super().load_state_dict(state)
