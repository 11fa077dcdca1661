"""Names of config fields in other libraries (SB3, CleanRL), for files with blocks."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from yieldrl.foundations.config_blocks import (
    BLOCKS,
    GUESTS,
    HOMES,
    close_to,
    home,
    keys,
    nearest,
)
from yieldrl.foundations.validation import FieldError, truncated_repr

Look = Callable[[str], int]
"""Function of a field: its value in the file or its default, an integer."""


def _kind(given: Any, look: Look) -> str:
    kinds = {"standard": "sync", "vla": "async"}
    if given not in kinds:
        raise ValueError(f"choose one of {list(kinds)}")
    return kinds[given]


def _steps(given: Any, look: Look) -> int:
    return _whole(given) * look("num_steps") * look("num_envs")


def _minibatches(given: Any, look: Look) -> int:
    rollout = look("num_steps") * look("num_envs")
    if rollout % _whole(given):
        raise ValueError(
            f"it must divide the rollout of num_steps * num_envs = {look('num_steps')}"
            f" * {look('num_envs')} = {rollout} transitions"
        )
    return rollout // given


def _whole(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ValueError("give a whole number, at least 1")
    return given


class Alias(NamedTuple):
    """Our field for a name of another library, and the conversion of its value."""

    field: str
    value: Callable[[Any, Look], Any] = lambda given, look: given


ALIASES = {
    # Steps, rollouts and minibatches. Off-policy algorithms have fields buffer_size and
    # batch_size of their own, which keep their meaning.
    "buffer_size": Alias("num_steps"),
    "n_steps": Alias("num_steps"),
    "buffer_type": Alias("collection", _kind),  # standard: sync, vla: async
    "iterations": Alias("total_steps", _steps),  # iterations * num_steps * num_envs
    "total_timesteps": Alias("total_steps"),
    "n_epochs": Alias("num_epochs"),
    "update_epochs": Alias("num_epochs"),
    "batch_size": Alias("num_minibatches", _minibatches),  # of a rollout / it
    "minibatch_size": Alias("num_minibatches", _minibatches),
    "n_envs": Alias("num_envs"),
    "train_freq": Alias("train_every"),
    "target_update_interval": Alias("target_every"),
    # Coefficients.
    "lr": Alias("learning_rate"),
    "clip_range": Alias("clip_coef"),
    "clip_range_vf": Alias("clip_value"),
    "ent_coef": Alias("entropy_coef"),
    "vf_coef": Alias("value_coef"),
    "exploration_final_eps": Alias("epsilon_end"),
    # The run.
    "eval_freq": Alias("eval_every"),
    "num_eval_episodes": Alias("eval_episodes"),
    "exp_name": Alias("run_name"),
    # Names with a meaning in one block only.
    "env.name": Alias("env_id"),
    "env.id": Alias("env_id"),
    "env.cfg": Alias("env_kwargs"),
    "env.kwargs": Alias("env_kwargs"),
    "collector.name": Alias("collection"),
}
"""Name in other libraries, or `block.name` -> our field."""


def field_for(name: str, config_class: type[Any]) -> str | None:
    """The config field for a name of another library; None without one."""
    field = ALIASES[name].field if name in ALIASES else None
    return field if field in _fields(config_class) else None


class _Given(NamedTuple):
    block: str
    key: str
    value: Any
    alias: Alias


def to_fields(values: Mapping[str, Any], config_class: type[Any]) -> dict[str, Any]:
    """Config fields, by our names, from the blocks of a file.

    ValueError, with the nearest name, if a key is unknown, or two set the same field.
    """
    given = _given(values, config_class)

    def look(name: str) -> int:
        if name not in _fields(config_class):
            raise ValueError(f"{config_class.__module__} has no {name} to count it in")
        value = given[name].value if name in given else getattr(config_class, name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"it needs {name}, which is {value!r}")
        return value

    found: dict[str, Any] = {}
    for name, (block, key, value, alias) in given.items():
        try:
            found[name] = alias.value(value, look)
        except ValueError as reason:
            raise ValueError(f"block {block!r}: {key} = {value!r}: {reason}") from None
    return found


def named_as_in_file(
    error: FieldError, values: Mapping[str, Any], config_class: type[Any]
) -> ValueError:
    """The error of a field, which names the block and key used in the file."""
    given = _given(values, config_class).get(error.field)
    if given is None:
        return error
    ours = f", our {error.field} = {error.value}" if given.key != error.field else ""
    return ValueError(
        f"block {given.block!r}: {given.key} = {truncated_repr(given.value)}{ours}:"
        f" {error.remedy}"
    )


def _given(values: Mapping[str, Any], config_class: type[Any]) -> dict[str, _Given]:
    known = _fields(config_class)
    for name in [name for name in values if name not in BLOCKS]:
        if (ours := _alias("", name, known).field) in known:
            said = f"{name!r} stands beside the blocks: it goes into {home(ours)!r}"
            raise ValueError(said)
        raise ValueError(f"no block is called {name!r}: {nearest(name, BLOCKS)}")
    found: dict[str, _Given] = {}
    for block in BLOCKS[:-1]:
        for key, value in keys(block, values.get(block), known).items():
            alias = _alias(block, key, known)
            _check(block, key, alias.field, config_class)
            if (other := found.get(alias.field)) is not None:
                raise ValueError(
                    f"{other.key!r} of the block {other.block!r} and {key!r} of the"
                    f" block {block!r} both say {alias.field!r}: leave one out"
                )
            found[alias.field] = _Given(block, key, value, alias)
    return found


def _fields(config_class: type[Any]) -> set[str]:
    return {entry.name for entry in dataclasses.fields(config_class)}


def _alias(block: str, key: Any, known: set[str]) -> Alias:
    alias = ALIASES.get(f"{block}.{key}", ALIASES.get(key))
    return Alias(key) if key in known or alias is None else alias


def _check(block: str, key: Any, ours: str, config_class: type[Any]) -> None:
    """Raise ValueError if a key is no field, or belongs to another block."""
    fields = here = _fields(config_class)
    if block not in ("trainer", "algorithm", "policy"):
        here = {*HOMES.get(block, ()), *GUESTS.get(block, ())} & fields
    if ours in here:
        return
    start = f"block {block!r} has no key {key!r}: "
    if ours in fields:
        raise ValueError(f"{start}it goes into the block {home(ours)!r}")
    elsewhere = {*config_class.__dataclass_fields__, *config_class.absent}
    if ours in elsewhere or key in ALIASES:
        means = "it means" if ours == key else f"it is our {ours!r}, which means"
        owner = config_class.__module__
        raise ValueError(f"{start}{means} nothing to {owner}, leave it out")
    theirs = [(name.rpartition("."), alias.field) for name, alias in ALIASES.items()]
    known = {key for (of, _, key), it in theirs if of in ("", block) and it in here}
    known |= here
    if block == "env" and not close_to(key, known):
        raise ValueError(f"{start}arguments of the environment go into 'env_kwargs'")
    raise ValueError(start + nearest(key, known))
