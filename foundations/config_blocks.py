"""A whole run in one file: its blocks, and the config fields of each block."""

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
        *("collection", "max_policy_lag", "when_stale", "ray_address"),
        *("rollout_workers", "inference_actors", "weight_transfer", "learners"),
        *("engine", "zero_stage", "learner_restarts", "eval_actors", "replay_actor"),
    ),
}
"""Block -> fields that `to_blocks` writes there; the others go into `algorithm`."""

GUESTS = {"collector": ("num_steps", "num_envs", "vectorization")}
"""Block -> fields that are read there too. `trainer`, `algorithm` and, of a model that
is not your own, `policy` take every field."""

NAMES = {
    "policy": {"actor_critic": "default"},
    "loggers": {"progress_bar": "progress", "early_stopping": "early_stop"},
}
"""Block -> name of a registered part in other libraries -> our name."""

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
    return Part(NAMES.get(block, {}).get(name, name), {**rest, **cfg})


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
        said = values.get(block)
        if said and said != {"name": "default", "cfg": {}}:
            fields[block] = said
    return fields


def home(field: str) -> str:
    """The block that `to_blocks` writes a field into."""
    return next((b for b, names in HOMES.items() if field in names), "algorithm")


def nearest(name: Any, known: Iterable[str]) -> str:
    """The nearest known name, as the end of an error message."""
    known = sorted(known)
    return close_to(name, known) or f"choose one of {known}"


def close_to(name: Any, known: Iterable[str]) -> str:
    """A question with the nearest known name; empty if none is close."""
    near = difflib.get_close_matches(str(name), sorted(known), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def keys(
    block: str, values: Any, fields: Collection[str] = frozenset()
) -> dict[str, Any]:
    """The entries of a block that can be fields of a config with these `fields`."""
    if block not in ("policy", "algorithm"):
        return _mapping(block, values)
    found = part(block, values)
    if block == "algorithm":
        return found.cfg
    if found.name == VLA:
        return divided(found, fields)[0]
    return {} if found.is_path else found.cfg


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
