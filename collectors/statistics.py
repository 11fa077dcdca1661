"""Returns and lengths of ended episodes, also over several processes or steps."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.collectors.stepping import Step, check_answer, named_leaves
from yieldrl.core import ranks, spaces


def mean_logs(episodes: float, returns: float, lengths: float) -> dict[str, float]:
    """The logs of episodes with such sums of returns and lengths, if there are any."""
    if episodes == 0:
        return {}
    means = {"episode_return": returns / episodes, "episode_length": lengths / episodes}
    return {**means, "episodes": episodes}


class ArrayStatistics:
    """For NumPy environments: an episode is reported at the step that ends it."""

    def __init__(self, num_envs: int) -> None:
        self.returns = np.zeros(num_envs)
        self.steps = 0  # of every environment, those that only reset too
        self.started = np.zeros(num_envs, dtype=np.int64)  # `steps` at the first one

    def update(self, step: Step) -> dict[str, float]:
        """Add a step; the means over the episodes that it ended, if any."""
        self.steps += 1
        self.returns += step.reward
        if step.valid is not None:
            self.started += ~step.valid
        if not (np.count_nonzero(step.terminated) or np.count_nonzero(step.truncated)):
            return {}
        ended = step.terminated | step.truncated
        logs = {
            "episode_return": float(self.returns[ended].mean()),
            "episode_length": float((self.steps - self.started[ended]).mean()),
            "episodes": float(ended.sum()),
        }
        self.returns[ended] = 0.0
        self.started[ended] = self.steps
        return logs

    def report(self) -> dict[str, float]:
        """Nothing: `update` has reported all episodes that ended."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Returns and lengths of the episodes under way."""
        return {
            "returns": torch.from_numpy(self.returns.copy()),
            "lengths": torch.from_numpy(self.steps - self.started),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.returns[:] = state["returns"].numpy()
        self.started[:] = self.steps - state["lengths"].numpy()


class TensorStatistics:
    """For tensors, read in blocks `[K, N]` of K = `report_every` steps: to read them is
    to wait for a GPU."""

    def __init__(self, num_envs: int, device: torch.device, report_every: int) -> None:
        self.report_every, self.arrays = report_every, ArrayStatistics(num_envs)
        size = (report_every, num_envs)
        self._reward = torch.zeros(size, dtype=torch.float32, device=device)
        flags = torch.zeros((2, *size), dtype=torch.bool, device=device)
        self._terminated, self._truncated = flags.unbind()
        self._valid = torch.ones_like(self._truncated)
        self._blocks = self._reward, self._terminated, self._truncated, self._valid
        self._row = 0  # how many rows are written

    def __len__(self) -> int:
        return self._row

    def update(self, step: Step) -> dict[str, float]:
        """Add a step; every `report_every` steps the means over ended episodes."""
        row = self._row
        self._reward[row].copy_(step.reward.detach())
        self._terminated[row].copy_(step.terminated)
        self._truncated[row].copy_(step.truncated)
        if step.valid is not None:
            self._valid[row].copy_(step.valid)
        return self.count(step)

    def write_at(self, row: Tensor, step: Step) -> None:
        """Write a step into the row `[1]`, int64, that a GPU reads; `count` it then."""
        entries = step.reward.detach(), step.terminated, step.truncated
        for block, entry in zip(self._blocks[:3], entries, strict=True):
            block.index_copy_(0, row, entry.to(block.dtype).unsqueeze(0))

    def count(self, step: Step) -> dict[str, float]:
        """Count a step that is written; every `report_every` steps the means."""
        self._row += 1
        if self._row < self.report_every:
            return {}
        return self.report(step.next_obs, step.action)

    def report(self, next_obs: Any = None, action: Any = ()) -> dict[str, float]:
        """The means over the episodes that ended since the latest report, if any."""
        count, self._row = self._row, 0
        if count == 0:
            return {}
        next_obs = {} if next_obs is None else next_obs
        leaves = [leaf for _, leaf in named_leaves(next_obs, "")]
        seen = self._reward[:count].sum()
        seen = seen + sum(x.sum() for x in leaves if x.is_floating_point())
        if not math.isfinite(seen):  # synchronizes
            reward = self._reward[:count]
            check_answer(next_obs, "the latest steps", reward=reward, action=action)
        blocks = (block[:count].cpu().numpy() for block in self._blocks)
        rows = zip(*blocks, strict=True)
        steps = (
            Step(None, r, end, cut, None, valid, {}) for r, end, cut, valid in rows
        )
        return mean_episode([self.arrays.update(step) for step in steps])

    def state_dict(self) -> dict[str, Any]:
        """Episodes under way, and the steps not reported yet."""
        pending = [block[: self._row].clone() for block in self._blocks]
        return {**self.arrays.state_dict(), "pending": pending}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, with fewer steps than are reported."""
        pending = state["pending"]
        if len(pending[0]) >= self.report_every:
            raise ValueError(
                f"{len(pending[0])} steps wait to be reported, and here every"
                f" {self.report_every} are: keep report_every as it was saved"
            )
        self.arrays.load_state_dict(state)
        self._row = len(pending[0])
        for block, saved in zip(self._blocks, pending, strict=True):
            block[: self._row].copy_(saved)


class DistributedStatistics:
    """Sums the episode statistics of all processes, every `report_every` steps.

    All report the same logs at the same step, so that a loop which stops because of
    them stops in every process. `local` are the statistics of this one.
    """

    def __init__(self, local: Any, report_every: int, device: torch.device) -> None:
        self.local, self.report_every = local, report_every
        self._sums = torch.zeros(3, dtype=torch.float64, device=device)
        self._steps = 0

    def update(self, step: Step) -> dict[str, float]:
        """Add a step; every `report_every` steps the means over all episodes."""
        return self._reduce(self.local.update(step))

    def report(self) -> dict[str, float]:
        """The means over all episodes since the latest report; a collective call."""
        return self._reduce(self.local.report(), now=True)

    def _reduce(
        self, logs: Mapping[str, float], *, now: bool = False
    ) -> dict[str, float]:
        """Add the logs of this process; the means of all processes, if they are due."""
        if logs:
            means = 1.0, logs["episode_return"], logs["episode_length"]
            sums = torch.tensor([logs["episodes"] * mean for mean in means])
            self._sums += sums.to(self._sums)
        self._steps += not now
        if self._steps % self.report_every and not now:
            return {}
        episodes, returns, lengths = ranks().all_reduce_sum(self._sums).tolist()
        self._sums.zero_()
        return mean_logs(episodes, returns, lengths)

    def state_dict(self) -> dict[str, Any]:
        """The state of this process, and what it has not reported yet."""
        return {**self.local.state_dict(), "unreported": self._sums.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.local.load_state_dict(state)
        if "unreported" in state:
            self._sums.copy_(state["unreported"])


def make_statistics(
    obs: Any, num_envs: int, report_every: int, device: torch.device
) -> Any:
    """Statistics for such observations; collective operations are on `device`."""
    local: Any = ArrayStatistics(num_envs)
    if spaces.holds_tensors(obs):
        _, leaf = named_leaves(obs, "")[0]
        local = TensorStatistics(num_envs, leaf.device, report_every)
    if ranks().count == 1:
        return local
    return DistributedStatistics(local, report_every, device)


def mean_episode(logs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The logs of several steps as one, with the mean over all of their episodes.

    >>> few = {"episode_return": 1.0, "episode_length": 1.0, "episodes": 1.0}
    >>> more = {"episode_return": 4.0, "episode_length": 5.0, "episodes": 3.0}
    >>> mean_episode([few, {}, more])
    {'episode_return': 3.25, 'episode_length': 4.0, 'episodes': 4.0}
    """
    whole = {name: value for log in logs for name, value in log.items()}
    ended = [log for log in logs if "episodes" in log]
    count = sum(log["episodes"] for log in ended)
    names = ("episode_return", "episode_length")
    sums = [sum(log["episodes"] * log[name] for log in ended) for name in names]
    return {**whole, **mean_logs(count, *sums)}
