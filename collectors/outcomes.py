"""Results of an evaluation: returns, lengths and successes of its episodes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from yieldrl.core.conversion import as_array
from yieldrl.envs.answers import SUCCESS, succeeded, success_entry
from yieldrl.envs.autoreset import final_info_entry

Episode = tuple[float, int, bool, str]
"""Its return, its length, whether it was a success, and the name of its task."""


@dataclass(frozen=True)
class Evaluation:
    """Returns, lengths and successes of evaluation episodes, `[episodes]` each."""

    returns: np.ndarray
    lengths: np.ndarray
    successes: np.ndarray | None = None  # None if unknown
    tasks: np.ndarray | None = None  # task names; None if unknown

    def logs(self) -> dict[str, float]:
        """Mean return, its spread and extremes, mean length, number of episodes.

        And `success_rate`, in [0, 1], and `success_rate/NAME` of each task, if the
        environments say it.
        """
        success, tasks = self.successes, self.tasks
        rate = {} if success is None else {"success_rate": success.mean()}
        if success is not None and tasks is not None:
            for name in np.unique(tasks):
                rate[f"success_rate/{name}"] = success[tasks == name].mean()
        logs = {
            **rate,
            "episode_return": self.returns.mean(),
            "episode_return_std": self.returns.std(),
            "episode_return_min": self.returns.min(),
            "episode_return_max": self.returns.max(),
            "episode_length": self.lengths.mean(),
            "episodes": len(self.returns),
        }
        return {name: float(value) for name, value in logs.items()}

    def success_interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the probability of success.

        Wilson 1927, "Probable Inference, the Law of Succession, and Statistical
        Inference": it stays within 0 and 1, also where all or none succeed.
        """
        assert self.successes is not None
        n, rate, z = len(self.successes), float(self.successes.mean()), 1.959964
        middle = rate + z**2 / (2 * n)
        half = z * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
        low, high = ((middle + sign * half) / (1 + z**2 / n) for sign in (-1, 1))
        return max(0.0, low), min(1.0, high)

    def of_task(self, name: str) -> Self:
        """The same episodes, all of one task; of no name, as they are."""
        return replace(self, tasks=np.full(len(self.returns), name)) if name else self

    @classmethod
    def of(cls, episodes: Sequence[Episode], known: bool) -> Self:
        """Of single episodes, at least one; `known` is whether successes are said."""
        columns = zip(*episodes, strict=True)
        returns, lengths, successes, tasks = map(np.array, columns)
        named = tasks if tasks.astype(bool).any() else None
        return cls(returns, lengths, successes if known else None, named)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Several evaluations as one, in their order."""

        def column(name: str, missing: Any = None) -> Any:
            values = [getattr(part, name) for part in parts]
            if all(value is None for value in values):
                return None
            sizes = [len(part.returns) for part in parts]
            pairs = zip(values, sizes, strict=True)
            return np.concatenate(
                [np.full(n, missing) if x is None else x for x, n in pairs]
            )

        columns = column("returns"), column("lengths")
        return cls(*columns, column("successes", missing=False), column("tasks", ""))


def successes(info: Mapping[str, Any], num_envs: int) -> np.ndarray | None:
    """Which of the episodes that a step ended were a success, bool `[N]`.

    It is meaningless where the episode goes on, and None if no info says anything.
    SAME_STEP environments have `final_info`, of arrays or, of old, one for each.
    """
    final = info.get("final_info")
    if final is not None and not isinstance(final, Mapping):
        said = [succeeded(each or {}) for each in final]
        return None if all(x is None for x in said) else np.array(said, dtype=np.bool_)
    for name in SUCCESS:
        if name in info or name in (final or {}):
            values = final_info_entry(info, name)
            if not isinstance(values, Mapping):
                break
    else:
        values = None if final is None else success_entry(final)
        values = success_entry(info) if values is None else values
    return None if values is None else as_array(values).reshape(num_envs).astype(bool)


def task_names(info: Mapping[str, Any], num_envs: int) -> list[str]:
    """The `task` of each environment by the info of a step; '' if there is none.

    >>> task_names({"task": np.array(["open", "close"])}, 2)
    ['open', 'close']
    """
    final = info.get("final_info")
    if final is not None and not isinstance(final, Mapping):
        said = [(each or {}).get("task") for each in final]
    else:
        said = final_info_entry(info, "task")
    if said is None or isinstance(said, Mapping):
        return [""] * num_envs
    return ["" if name is None else str(name) for name in said]
