"""What a search for hyperparameters draws from: usual ranges, and the user's.

A range is `LOW..HIGH`, `LOW..HIGH:log` (on a logarithmic scale), or a list of choices;
in a file it may be `{low: LOW, high: HIGH, log: true}` as well.
"""

import importlib
import json
import re
import typing
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from yieldrl.core import Config
from yieldrl.core.checked import in_a_line
from yieldrl.core.files import SUFFIXES, YamlLoader, read_file

USUAL: dict[str, Any] = {
    "learning_rate": ("3e-5..1e-2:log", "0.05..1.0"),  # of networks, of tables
    "gamma": [0.9, 0.95, 0.98, 0.99, 0.995, 0.999],
    # Rollouts.
    "num_steps": ([32, 64, 128, 256, 512], [4, 8, 16, 32, 64]),
    "num_epochs": "1..20:log",
    "num_minibatches": [1, 2, 4, 8, 16, 32],
    "gae_lambda": [0.8, 0.9, 0.95, 0.98, 1.0],
    "clip_coef": "0.1..0.4",
    "entropy_coef": "1e-5..0.1:log",
    "num_episodes": [4, 8, 16, 32],
    # Replay.
    "batch_size": [64, 128, 256, 512],
    "train_every": [1, 2, 4, 8],
    "gradient_steps": [1, 2, 4],
    "tau": "1e-3..0.1:log",
    "n_step": "1..10",
    # Exploration.
    "exploration_fraction": "0.05..0.6",
    "epsilon_end": "0.01..0.2",
    "exploration_noise": "0.03..0.5:log",
    "visit_power": "0.3..1",
}
"""Field -> its usual range; of several the first that holds the config's own value."""

FIXED = ("seed", "total_steps", "eval_every", "eval_episodes", "run_root", "run_name")
"""Fields that must be alike in all trials, which could not be compared otherwise."""


def make_space(
    config: Config, words: Iterable[str], fixed: Collection[str] = ()
) -> dict[str, Any]:
    """Field -> range, as words of a command line say; without words the usual ones.

    Args:
        config: Its values are those where the search begins.
        words: Files of ranges by field, `NAME=RANGE`, or `NAME` (its usual range).
        fixed: Fields that are not tuned.

    Raises:
        ValueError: If there is no such field, or a range does not fit it.
    """
    given: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        try:
            if not equals and Path(name).suffix in SUFFIXES:
                given |= read_file(name)
            else:
                given[name] = yaml.load(text, YamlLoader)
        except yaml.YAMLError as reason:
            raise ValueError(f"--space {word}: not readable: {reason}") from None
    config.refuse_names(given)
    if both := sorted({*given} & {*fixed}):
        raise ValueError(f"{both[0]} is tuned and set as well: leave one of them out")
    own = config.to_dict()
    usual: dict[str, Any] = {}
    for name in [name for name in USUAL if name in own]:
        ranges = USUAL[name] if isinstance(USUAL[name], tuple) else (USUAL[name],)
        for one in reversed(ranges):
            if holds(distribution(config, name, one), own[name]):
                usual[name] = one
    given = given or {name: None for name in usual if name not in fixed}
    space = {k: usual.get(k) if one is None else one for k, one in given.items()}
    for name, one in space.items():
        distribution(config, name, one)  # or say what is wrong
    return space


def distribution(config: Config, name: str, given: Any) -> Any:
    """Optuna's distribution for a range of a field; choices that are lists are texts.

    ValueError if the field cannot have a value of the range, or must not differ.
    """
    optuna = importlib.import_module("optuna.distributions")
    hint = typing.get_type_hints(type(config), include_extras=True)[name]
    field = TypeAdapter(hint).validate_python
    ends = re.fullmatch(r"(?P<low>.+)\.\.(?P<high>.+?)(?P<log>:log)?", str(given))
    ends = given if isinstance(given, Mapping) else ends.groupdict() if ends else {}
    try:
        if name in FIXED:
            raise ValueError("it must be the same in all trials: leave it out")
        if isinstance(given, list) and len({*map(label, given)}) > 1:
            return optuna.CategoricalDistribution([label(field(x)) for x in given])
        if not {"low", "high"} <= {*ends} <= {"low", "high", "log"}:
            raise ValueError("write LOW..HIGH, LOW..HIGH:log or [A, B]")
        low, high = field(ends["low"]), field(ends["high"])
        if type(low) not in (int, float) or low >= high:
            raise ValueError("choose numbers, low < high, or [A, B]")
        whole = isinstance(low, int)
        kind = optuna.IntDistribution if whole else optuna.FloatDistribution
        return kind(low, high, log=bool(ends.get("log")))
    except ValueError as error:
        said = in_a_line(error, name) if isinstance(error, ValidationError) else error
        raise ValueError(f"range of {name}, {given!r}: {said}") from None


def holds(distribution: Any, value: Any) -> bool:
    """Whether a range has the value of a field."""
    if hasattr(distribution, "choices"):
        return label(value) in distribution.choices
    return value is not None and distribution.low <= value <= distribution.high


def label(value: Any) -> Any:
    """A value of a field as Optuna and its pictures take it."""
    return json.dumps(value) if isinstance(value, list | tuple) else value


def from_label(drawn: Any) -> Any:
    """The value of a field for one that Optuna has drawn."""
    is_list = isinstance(drawn, str) and drawn.startswith("[")
    return json.loads(drawn) if is_list else drawn
