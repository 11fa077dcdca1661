"""Learning tasks, as `tasks.yaml` lists them, and the figures that compare several."""

import dataclasses
import importlib
from dataclasses import field
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass

from yieldrl.core.files import read_file


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Another library's algorithm: same environment, budget and evaluations."""

    algorithm: str  # name of its class, for example "SAC"
    library: str = "stable_baselines3"  # package that has it: this one or "sb3_contrib"
    # keyword arguments of its constructor, as the RL Zoo writes them: "lin_0.001" is a
    # learning rate that falls linearly to zero, "noise_std" the standard deviation of
    # normal action noise
    settings: dict[str, Any] = field(default_factory=dict)
    source: str = "the library's defaults"  # where these settings come from
    policy: str = "MlpPolicy"  # the library's name for the networks
    num_envs: int = 1  # environments that it steps side by side
    # whether observations and rewards are normalized (by its VecNormalize)
    normalize: bool = False


@dataclass(frozen=True, kw_only=True)
class Published:
    """A return that others report, or that mathematics gives."""

    value: float  # the mean return of an episode
    source: str  # where it is from: "RL Zoo's benchmark.md, one run", "value iteration"


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to train, what counts as learned, and what to compare it with."""

    algorithm: str  # name of the folder below `algorithms`
    # name of a file in the algorithm's `configs`, without `.yaml`
    tuned: str | None = None
    # fields that differ from the tuned file, or from the algorithm's defaults
    config: dict[str, Any] = field(default_factory=dict)
    # the final evaluation's mean return at which a seed has learned; None for a task
    # that only shows how something else compares
    threshold: float | None = None
    share: float = 0.9  # share of the seeds that must have learned
    # the task by another library, for `--side both`
    reference: Reference | None = None
    published: Published | None = None  # a number to draw beside the curve

    def make_config(self, seed: int = 1) -> Any:
        """The whole config, of the algorithm's own class."""
        return make_config(self.algorithm, self.tuned, self.config | {"seed": seed})


def make_config(algorithm: str, tuned: str | None, fields: dict[str, Any]) -> Any:
    """An algorithm's config: its defaults or a tuned file, and `fields` over them."""
    from yieldrl.cli import catalog

    trainer_class = trainer_class_of(algorithm)
    if tuned is None:
        return trainer_class.config_class(**fields)
    return dataclasses.replace(catalog.load_config(tuned, trainer_class), **fields)


def trainer_class_of(algorithm: str) -> Any:
    return importlib.import_module(f"yieldrl.algorithms.{algorithm}").Trainer


def make_trainer(
    algorithm: str, fields: dict[str, Any], tuned: str | None = None, **parts: Any
) -> Any:
    """A trainer on the CPU, if fields say nothing else, of such a config."""
    config = make_config(algorithm, tuned, {"device": "cpu"} | fields)
    return trainer_class_of(algorithm)(config, **parts)


_FILE = read_file(Path(__file__).with_suffix(".yaml"))
# task -> what it is. `docs/results/TASK.json` keeps the result.
TASKS: dict[str, Task] = {name: Task(**of) for name, of in _FILE["tasks"].items()}
# package -> its name as it writes it
LIBRARIES = {"stable_baselines3": "Stable-Baselines3", "sb3_contrib": "SB3-Contrib"}
# task -> fields of the agent that comes along, over those of the task
AGENTS: dict[str, dict[str, Any]] = _FILE["agents"]
# figure -> tasks of one environment, drawn on one pair of axes by `plot`
FIGURES: dict[str, list[str]] = _FILE["figures"]
