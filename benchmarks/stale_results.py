"""Whether a committed result is what its command would measure today: a task, a claim
or a default of an algorithm may have changed since."""

import importlib
import json
import shlex
from collections.abc import Iterator
from typing import Any

from . import learning, parser, peers
from .registry import CLAIMS
from .tasks import TASKS

# algorithm -> fields that its config had once, and values that they could only have:
# one pass has nothing to clip, and SAC adds no noise of its own
REMOVED: dict[str, dict[str, tuple[Any, ...]]] = {
    "a2c": {"num_epochs": (1,), "num_minibatches": (1,), "clip_coef": (0.2,)},
    "sac": dict.fromkeys(("exploration_noise", "policy_noise", "noise_clip"), (0.0,)),
}
REMOVED["sac_discrete"] = REMOVED["sac"]
# fields of every config that are another one now, which changes no result: `speed`
RENAMED = {"compile"}


def differences(name: str, result: dict[str, Any]) -> list[str]:
    """The entries of the result in the file `name` that are no longer so."""
    found, kind = [*_command(result)], result["kind"]
    if kind == "learning":
        return [*found, *_learning(result)]
    if kind == "peers":
        now = peers.WORKLOADS.get(result["workload"])
        keys: tuple[str, ...] = ("title", "settings", "measure", "threads", "warm_up")
    elif kind == "evidence":
        now = CLAIMS[kind].get(result["claim"])
        keys = ("statement", "x_label", "y_label")
    else:
        now = CLAIMS.get(kind, {}).get(result.get("trial", ""))
        keys = ("settings",) if kind in CLAIMS else ()
    for key in keys:
        found += _within(key, result[key], _plain(getattr(now, key, None)))
    return found


def _command(result: dict[str, Any]) -> Iterator[str]:
    """The command must be known, name this result, and run as many seeds."""
    words = shlex.split(result["command"])
    try:
        parsed = parser.parse(words[3:])
    except SystemExit:
        yield f"its command is unknown: {result['command']}"
        return
    keys = ("task", "claim", "workload", "trial", "world")
    wanted = next((result[key] for key in keys if key in result), None)
    if wanted is not None and wanted not in parsed.names:
        yield f"its command measures {parsed.names}, not {wanted}"
    claim = CLAIMS.get(result["kind"], {}).get(wanted or "")
    is_one_run = claim is not None and claim.is_one_run
    seeds = 1 if is_one_run else getattr(parsed, "seeds", len(result["seeds"]))
    if len(result["seeds"]) != seeds:
        yield f"its command runs {seeds} seeds, and it has {len(result['seeds'])}"


def _learning(result: dict[str, Any]) -> Iterator[str]:
    """The task, and every field of the config that there was when it was trained."""
    task = TASKS.get(result["task"])
    if task is None:
        yield f"there is no task {result['task']} any more"
        return
    now = _plain(learning.described(task, result["task"]))
    yield from _within("threshold", result["threshold"], now["threshold"])
    config, removed = now["whole_config"], REMOVED.get(result["algorithm"], {})
    module = importlib.import_module(f"yieldrl.algorithms.{result['algorithm']}")
    for key, then in result["whole_config"].items():
        retired = key in module.Config.retired and then == module.Config.retired[key][0]
        gone = key in RENAMED or retired or then in removed.get(key, ())
        if key in config or not gone:
            yield from _within(key, then, config.get(key))


def _within(key: str, then: Any, now: Any) -> Iterator[str]:
    """All that was written down must be so, but for labels of a claim's sides; what is
    written down since, may be more."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name, value in then.items():
            label = key == "settings.sides" and isinstance(value, str)
            if not (label and name in now):
                yield from _within(f"{key}.{name}", value, now.get(name))
    elif then != now:
        yield f"{key} was {then!r} when it was measured, and is {now!r}"


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
