"""A whole run in one file: its blocks, and the config fields of each block."""

import dataclasses
import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

BLOCKS = ("trainer", "env", "policy", "algorithm", "collector", "loggers")

HOMES = {
    "trainer": (
        *("total_steps", "seed", "device", "threads", "log_every", "eval_every"),
        *("eval_episodes", "run_root", "run_name"),
    ),
    "env": ("env_id", "env_kwargs", "wrappers", "num_envs", "vectorization"),
    "collector": (
        *("collection", "max_policy_lag", "when_stale", "wait_for_all", "ray_address"),
        *("rollout_workers", "env_timeout", "inference_actors", "learners"),
        *("engine", "zero_stage", "learner_restarts", "eval_actors", "replay_actor"),
    ),
}
"""Block -> fields that `to_blocks` writes there; the others go into `algorithm`."""

WORDS = {
    "buffer_size": "num_steps",
    "buffer_type": "collection",
    "iterations": "total_steps",
    "n_steps": "num_steps",
    "n_envs": "num_envs",
    "n_epochs": "num_epochs",
    "batch_size": "num_minibatches",
    "eval_freq": "eval_every",
    "env.name": "env_id",
    "env.id": "env_id",
    "env.cfg": "env_kwargs",
    "collector.name": "collection",
}
"""Name in the founding documents, or `block.name` -> our field, if it has no field of
its own; some values are converted, see `to_fields`."""

MODES = {"standard": "sync", "vla": "async"}
"""`buffer_type` -> `collection`."""

VLA = "vla"
"""The policy whose values are arguments of its own, not config fields; entries of its
`vla_config` are fields only if the config has such fields."""


class Part(NamedTuple):
    """An algorithm, a model or a logger, with its values."""

    name: str  # registered, or the path of your own class, `package.module:Class`
    cfg: dict[str, Any]

    @property
    def is_path(self) -> bool:
        """Whether the name is the path of the user's own class."""
        return ":" in self.name or "." in self.name


def has_blocks(values: Mapping[str, Any]) -> bool:
    """Whether a file has blocks; otherwise it holds an algorithm's fields only."""
    return any(name in BLOCKS for name in values)


def part(block: str, values: Any, default: str = "") -> Part:
    """Read a part: `name` and its values, or `name` and `cfg`; or ValueError."""
    values = {"name": values} if isinstance(values, str) else values
    rest = _mapping(block, values)
    name, cfg = rest.pop("name", default), _mapping(block, rest.pop("cfg", None))
    if not isinstance(name, str):
        raise ValueError(f"block {block!r}: name = {name!r}: give a text")
    for key in rest.keys() & cfg.keys():
        raise ValueError(f"block {block!r}: {key!r} stands in 'cfg' and beside it")
    name = "default" if name == "actor_critic" else name  # as in the documents
    return Part(name, {**rest, **cfg})


def to_blocks(config: Any) -> dict[str, dict[str, Any]]:
    """All fields of a config, grouped by block."""
    blocks: dict[str, dict[str, Any]] = {block: {} for block in (*HOMES, "algorithm")}
    for name, value in config.to_dict().items():
        blocks[home(name)][name] = value
    return blocks


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a run's file in one mapping, with `policy` and `loggers`."""
    if not has_blocks(values):
        return dict(values)
    fields: dict[str, Any] = {}
    for block in (*HOMES, "algorithm"):
        fields |= keys(block, values.get(block))
    for block in ("policy", "loggers"):
        given = values.get(block)
        if given and given != {"name": "default", "cfg": {}}:
            fields[block] = given
    return fields


def home(field: str) -> str:
    """The block that `to_blocks` writes a field into."""
    return next((b for b, names in HOMES.items() if field in names), "algorithm")


def nearest(name: Any, known: Iterable[str]) -> str:
    """The three nearest known names, as the end of an error message.

    >>> nearest("gama", ["gamma", "gae_lambda", "seed"])
    "did you mean 'gamma'?"
    """
    close = difflib.get_close_matches(str(name), known := sorted(known), n=3)
    if not close:
        return f"choose one of {known}"
    return f"did you mean {' or '.join(map(repr, close))}?"


def to_fields(values: Mapping[str, Any], config_class: type[Any]) -> dict[str, Any]:
    """Config fields from the blocks of a file, by our names or the documents'.

    `iterations` become steps, and `batch_size` minibatches, of rollouts of `num_steps`
    of each of `num_envs` environments. ValueError, with the nearest names, if a block
    or a key is unknown, or if two keys say the same.
    """
    for name in [name for name in values if name not in BLOCKS]:
        raise ValueError(f"no block is called {name!r}: {nearest(name, BLOCKS)}")
    known = {entry.name for entry in dataclasses.fields(config_class)}
    fields: dict[str, Any] = {}
    said_by: dict[str, str] = {}  # field -> block and key
    for block in BLOCKS[:-1]:
        for key, value in keys(block, values.get(block), known).items():
            field = key
            if key not in known:
                field = WORDS.get(f"{block}.{key}", WORDS.get(key, key))
            if field not in known:
                hint = nearest(key, known | WORDS.keys())
                raise ValueError(f"block {block!r} has no key {key!r}: {hint}")
            if field in fields:
                where = f"{said_by[field]} and {key!r} of the block {block!r}"
                raise ValueError(f"{where} both say {field!r}: leave one out")
            said_by[field] = f"{key!r} of the block {block!r}"
            fields[field] = MODES.get(value, value) if key == "buffer_type" else value
    for word in ("iterations", "batch_size"):
        if said_by.get(WORDS[word], "").startswith(f"{word!r} "):
            fields[WORDS[word]] = _of_rollouts(word, fields, config_class)
    return fields


def _of_rollouts(word: str, fields: Mapping[str, Any], config_class: type[Any]) -> int:
    """Steps of so many rollouts, or minibatches of so many transitions."""
    value = fields[WORDS[word]]
    names = ("num_steps", "num_envs")
    sizes = [fields.get(name, getattr(config_class, name, None)) for name in names]
    if not all(type(x) is int and x > 0 for x in (value, *sizes)):
        raise ValueError(
            f"{word} = {value!r} of rollouts with {names} = {sizes}: give whole"
            " numbers, at least 1"
        )
    rollout = sizes[0] * sizes[1]
    if word == "iterations":
        return value * rollout
    if rollout % value:
        raise ValueError(
            f"batch_size = {value}: it must divide a rollout, which has num_steps *"
            f" num_envs = {rollout} transitions"
        )
    return rollout // value


def keys(
    block: str, values: Any, fields: Collection[str] = frozenset()
) -> dict[str, Any]:
    """The entries of a block that can be fields of a config with these `fields`."""
    if block not in ("policy", "algorithm"):
        return _mapping(block, values)
    chosen = part(block, values)
    if block == "algorithm":
        return chosen.cfg
    if chosen.name == VLA:
        return divided(chosen, fields)[0]
    return {} if chosen.is_path else chosen.cfg


def divided(
    policy: Part, fields: Collection[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a VLA policy's values into config fields and its own arguments."""
    if "model_path" not in fields:
        return {}, policy.cfg
    arguments = dict(policy.cfg)
    return _mapping("policy", arguments.pop("vla_config", None)), arguments


def _mapping(block: str, values: Any) -> dict[str, Any]:
    if values is None:
        return {}
    if isinstance(values, dict):
        return dict(values)
    raise ValueError(f"block {block!r}: expected keys and values, got {values!r}")
