"""The base of every algorithm's config: typed, frozen, validated, loadable."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import typeguard
import yaml


@dataclass(frozen=True, kw_only=True)
class Config:
    """What every algorithm needs to know before it starts.

    An algorithm's own config inherits these fields and adds its hyper-parameters.
    The docstring under a field is its help text on the command line.

    Raises:
        ValueError: If a value has the wrong type or range. The message names the
            field, the value that was got and the remedy.
    """

    env_id: str = "CartPole-v1"
    """Id of a registered environment, for example `Pendulum-v1`, `ALE/Pong-v5` or
    `yieldrl/CartPole-v1`; `my_module:MyEnv-v0` imports `my_module` first."""

    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments for the environment's constructor."""

    wrappers: tuple[str, ...] = ()
    """Wrappers to put around every environment, the innermost first, for example
    `gymnasium.wrappers:FlattenObservation`. A vector environment that you pass is taken
    as it is; an id that makes a batch in one object is refused."""

    num_envs: int = 4
    """Number of environments stepped side by side."""

    vectorization: Literal["auto", "sync", "async"] = "auto"
    """How environments become a batch: `sync` one after the other, `async` one
    process each, `auto` the environment's own batched version where it has one
    that can reset within a step, `sync` otherwise."""

    total_steps: int = 100_000
    """Environment steps to train for, counted over all environments."""

    seed: int = 1
    """Seed of networks, exploration, sampling and environments."""

    device: str = "auto"
    """Where networks and buffers live: `cpu`, `cuda`, `cuda:1`, `mps`; `auto` takes
    a GPU if there is one."""

    threads: int | None = None
    """CPU threads for PyTorch. By default one for vector observations (more is
    slower for narrow networks) and PyTorch's own choice for images."""

    compile: bool = False
    """Compile the update with `torch.compile`: seconds once, faster ever after. A
    narrow network of DQN's family then also acts in NumPy."""

    eval_every: int = 10_000
    """Evaluate each time this many more steps were taken, and at the end; 0 never."""

    eval_episodes: int = 10
    """Episodes of each evaluation."""

    run_root: str = "runs"
    """Folder that holds the runs."""

    run_name: str | None = None
    """Folder of this run below `run_root`; by default algorithm, environment, seed
    and time."""

    def __post_init__(self) -> None:
        self._check_types()
        self._check_range("num_envs", low=1)
        self._check_range("total_steps", low=1)
        self._check_range("seed", low=0, high=2**31 - 1)
        self._check_range("eval_every", low=0)
        self._check_range("eval_episodes", low=1)
        if self.threads is not None:
            self._check_range("threads", low=1)
        if not self.env_id:
            raise self.error("env_id", "name an environment, e.g. 'CartPole-v1'")
        if self.run_name is not None and not Path(self.run_name).name:
            raise self.error("run_name", "give a folder name, or None for a default")

    def error(self, name: str, remedy: str) -> ValueError:
        """The error that says which field has which value, and what to do."""
        value = getattr(self, name)
        return ValueError(f"{type(self).__qualname__}.{name} = {value!r}: {remedy}")

    def _check_range(
        self, name: str, low: float, high: float = math.inf, *, above: bool = False
    ) -> None:
        """Refuse a number outside `[low, high]`, or `(low, high]` with `above`."""
        value = getattr(self, name)
        # Written so that NaN, which compares false with everything, is refused.
        if (value > low if above else value >= low) and value <= high:
            return
        least = f"above {low}" if above else f"at least {low}"
        most = "" if high == math.inf else f" and at most {high}"
        raise self.error(name, f"choose a number {least}{most}")

    def _check_types(self) -> None:
        hints = typing.get_type_hints(type(self))
        for entry in dataclasses.fields(self):
            value, hint = getattr(self, entry.name), hints[entry.name]
            try:
                typeguard.check_type(value, hint, collection_check_strategy=_ALL)
            except typeguard.TypeCheckError as reason:
                raise self.error(entry.name, f"wrong type: it {reason}") from None
            if isinstance(value, bool) and hint is not bool:
                raise self.error(entry.name, f"wrong type: it must be {hint}")
            if isinstance(value, float) and not math.isfinite(value):
                raise self.error(entry.name, "choose a finite number")

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values that JSON, YAML and checkpoints can hold."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The config that `to_dict` or a config file describes.

        Raises:
            ValueError: If a name is unknown (the nearest known one is proposed) or a
                value does not fit its field.
        """
        hints = typing.get_type_hints(cls)
        known = [entry.name for entry in dataclasses.fields(cls)]
        for name in values:
            if name in known:
                continue
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {sorted(known)}"
            raise ValueError(f"{cls.__qualname__} has no field {name!r}: {hint}")
        return cls(**{key: _coerce(value, hints[key]) for key, value in values.items()})

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Load a `.json`, `.yaml` or `.yml` file of field names and values.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is malformed or does not describe this config.
        """
        return cls.from_dict(read_file(path))


_ALL = typeguard.CollectionCheckStrategy.ALL_ITEMS  # not the first alone


def read_file(path: str | Path) -> dict[str, Any]:
    """Read a config file as a mapping of field names to plain values."""
    path = Path(path)
    if path.suffix not in {".json", ".yaml", ".yml"}:
        raise ValueError(f"{path}: a config file ends in .json, .yaml or .yml")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such config file")
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as reason:
        raise ValueError(f"{path}: not a readable config file: {reason}") from reason
    values = {} if values is None else values
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected names and values, got {type(values)}")
    return values


def _coerce(value: Any, hint: Any) -> Any:
    """Mend what JSON and YAML cannot say: tuples, and YAML's `3e-4`, a string."""
    if isinstance(value, list) and typing.get_origin(hint) is tuple:
        return tuple(value)
    if isinstance(value, str) and float in (hint, *typing.get_args(hint)):
        try:
            return float(value)
        except ValueError:
            return value
    return value
