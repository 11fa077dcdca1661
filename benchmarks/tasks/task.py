"""What a task is: an algorithm's config, what counts as learned, what stands beside."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Another library's algorithm: same environment, budget and evaluations."""

    algorithm: str
    """Name of its class, for example "SAC"."""

    library: str = "stable_baselines3"
    """Package that has it: this one or "sb3_contrib"."""

    settings: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of its constructor, as the RL Zoo writes them: "lin_0.001" is
    a learning rate that falls linearly to zero, "noise_std" the standard deviation of
    normal action noise, and "activation_fn" in `policy_kwargs` a name from torch.nn."""

    source: str = "the library's defaults"
    """Where these settings come from."""

    policy: str = "MlpPolicy"
    """The library's name for the networks."""

    num_envs: int = 1
    """Environments that it steps side by side."""

    normalize: bool = False
    """Whether observations and rewards are normalized (by its VecNormalize)."""

    env_id: str | None = None
    """The environment that it can step, where the task's is a batched equal of it."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A return that others report, or that mathematics gives."""

    value: float
    """The mean return of an episode."""

    source: str
    """Who says so, and where: "RL Zoo's benchmark.md, one run", "value iteration"."""


UPRIGHT = Published(value=500.0, source="the longest episode")
"""CartPole-v1's best return."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to train, what counts as learned, and what to see it beside."""

    algorithm: str
    """Name of the folder below `algorithms`."""

    tuned: str | None = None
    """Name of a file in the algorithm's `configs`, without `.yaml`."""

    config: dict[str, Any] = field(default_factory=dict)
    """Fields that differ from the tuned file, or from the algorithm's defaults."""

    threshold: float | None = None
    """The final evaluation's mean return at which a seed has learned; None for a task
    that only shows how something else compares."""

    share: float = 0.9
    """Share of the seeds that must have."""

    reference: Reference | None = None
    """The task by another library, for `--side reference` and `--side both`."""

    published: Published | None = None
    """A number to draw beside the curve."""

    above: tuple[str, ...] = ()
    """Tasks of the same world and budget that it must be above: the mean over its
    seeds and all evaluations of training must be higher than that of each of them."""

    def holds(self, returns: Sequence[float]) -> bool:
        """Whether enough of these final returns reach the threshold."""
        return self.passed(returns) >= self.needed(len(returns))

    def passed(self, returns: Sequence[float]) -> int:
        """How many of these returns reach the threshold; all, if there is none."""
        low = float("-inf") if self.threshold is None else self.threshold
        return sum(value >= low for value in returns)

    def needed(self, seeds: int) -> int:
        """How many of so many seeds must reach the threshold."""
        return round(self.share * seeds)

    def make_config(self, seed: int = 1) -> Any:
        """The whole config, of the algorithm's own class.

        Raises:
            ValueError: If there is no such tuned file, or a value does not fit.
        """
        from yieldrl.cli import tuned

        module = importlib.import_module(f"yieldrl.algorithms.{self.algorithm}")
        config_class = module.Trainer.config_class
        if self.tuned is None:
            return config_class(**self.config, seed=seed)
        config = tuned.load(self.tuned, module.Trainer)
        return dataclasses.replace(config, **self.config, seed=seed)
