"""What a config takes, files give back equal; all else is refused by its field."""

import dataclasses
import enum
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.algorithms import ppo
from yieldrl.experiments import save_checkpoint
from yieldrl.foundations import Config
from yieldrl.foundations.plain import plain, tagged


class Color(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    ASYNC = "async"


class Level(enum.IntEnum):
    HIGH = 3


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True, kw_only=True)
class Wide(Config):
    """A config with the types that need care."""

    anything: Any = None
    """Anything."""

    pairs: tuple[tuple[int, float], ...] = ()
    """Tuples in a tuple."""

    maybe: tuple[str, ...] | None = None
    """A tuple or none."""

    word: float | str = "a"
    """A number or text, which may look like a number."""

    flag: bool | None = None
    """Yes, no or neither."""


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(["1", "3e-4", "yes", "null", "~", "=", "<<", "2001-01-01", "0x1"])
    | st.integers(-(2**63), 2**63 - 1).map(np.int64)
    | st.floats(allow_nan=False).map(np.float64)
    | st.floats(allow_nan=False, width=32).map(np.float32)
    | st.booleans().map(np.bool_)
    | st.text(max_size=5).map(np.str_)
    | st.sampled_from([Word.ASYNC, Level.HIGH, np.uint8(200), Path("a/b")])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.text(max_size=3).map(np.str_), inner)
        | st.dictionaries(st.integers(0, 9) | st.booleans(), inner, max_size=2)
        | st.dictionaries(st.tuples(st.integers(0, 3)), inner, max_size=2)
    ),
    max_leaves=6,
)
wides = st.builds(
    Wide,
    env_kwargs=st.dictionaries(st.text(max_size=3), values, max_size=3),
    anything=values.filter(lambda x: not isinstance(x, float) or math.isfinite(x)),
    pairs=st.lists(st.tuples(st.integers(), st.floats(-1e9, 1e9)), max_size=2).map(
        tuple
    ),
    maybe=st.none() | st.lists(st.text(max_size=3).map(np.str_), max_size=2).map(tuple),
    word=st.floats(-1e9, 1e9) | st.sampled_from(["1", "3e-4", "nan", ""]),
    flag=st.none() | st.booleans().map(np.bool_),
)


def types_of(value: Any) -> Any:
    """The types of everything in a value, because 1 equals True and 1.0."""
    if isinstance(value, dict):
        return {(type(key), key): types_of(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [types_of(child) for child in value]
    return type(value)


def is_read_back(config: Config, values: dict[str, Any]) -> bool:
    again = type(config).from_dict(values)
    return again == config and types_of(vars(again)) == types_of(vars(config))


@given(config=wides)
@settings(max_examples=100)
def test_json_and_yaml_give_a_config_back(config: Wide) -> None:
    values = config.to_dict()
    assert is_read_back(config, values)
    assert is_read_back(config, json.loads(json.dumps(values)))
    assert is_read_back(config, yaml.safe_load(yaml.safe_dump(values)))
    assert dataclasses.replace(config) == config


@given(config=wides)
@settings(max_examples=25)
def test_a_checkpoint_gives_a_config_back(
    config: Wide, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("plain") / "one.pt"
    save_checkpoint({"config": config.to_dict()}, path)
    assert is_read_back(config, torch.load(path, weights_only=True)["config"])


@given(value=values)
@settings(max_examples=100)
def test_plain_undoes_tagged(value: Any) -> None:
    found = plain(value)
    again = plain(json.loads(json.dumps(tagged(found))))
    assert again == found
    assert types_of(again) == types_of(found)
    assert types_of(plain(found)) == types_of(found)


def test_numbers_and_text_of_numpy_become_pythons() -> None:
    config = ppo.Config(
        learning_rate=np.float64(3e-4),
        num_envs=np.int64(2),  # type: ignore[arg-type]
        normalize_advantage=np.bool_(False),  # type: ignore[arg-type]
        collection=np.str_("async"),  # type: ignore[arg-type]
        hidden_sizes=(np.int32(8), 8),  # type: ignore[arg-type]
        run_root=Path("a/b"),  # type: ignore[arg-type]
        env_kwargs={"size": (np.int64(3), 4), "rate": [np.float32(0.5)]},
    )
    assert config == ppo.Config(
        learning_rate=3e-4,
        num_envs=2,
        normalize_advantage=False,
        collection="async",
        hidden_sizes=(8, 8),
        run_root="a/b",
        env_kwargs={"size": (3, 4), "rate": [0.5]},
    )
    assert types_of(vars(config)) == types_of(vars(ppo.Config.from_dict(vars(config))))
    assert type(config.learning_rate) is float
    assert type(config.num_envs) is int


def test_a_config_does_not_share_what_it_was_given() -> None:
    given: dict[str, Any] = {"size": [3, 4]}
    config = Config(env_kwargs=given)
    given["size"].append(object())
    assert config.env_kwargs == {"size": [3, 4]}


itself: list[Any] = []
itself.append(itself)


REFUSED = [
    (np.arange(3), r"numpy\.ndarray at \['a'\].*tolist"),
    (torch.tensor(1.0), r"torch\.Tensor at \['a'\].*tolist"),
    ({"b": [1, {2}]}, r"builtins\.set at \['a'\]\['b'\]\[1\].*envs=lambda"),
    (Color.RED, r"Color at \['a'\].*Give its value, 'red', or its name, 'RED'"),
    (Point(1, 2), r"Point at \['a'\]"),
    (b"text", r"builtins\.bytes at"),
    (np.datetime64("2001-01-01"), r"numpy\.datetime64 at"),
    (print, r"builtins\.builtin_function_or_method at"),
    (math.nan, r"NaN at \['a'\] equals nothing"),
    (np.float32("nan"), r"NaN at \['a'\] equals nothing"),
    (10**5000, r"the whole number at \['a'\] has more than 600 digits"),
    ("\ud800", r"valid Unicode at \['a'\]"),
    ({"\ud800": 1}, r"valid Unicode at \['a'\]"),
    ({"__mapping__": [1]}, r"__mapping__ at \['a'\] takes pairs"),
    (itself, "nested more than 32 times"),
]


def test_what_no_file_can_hold_is_refused_by_its_field() -> None:
    for value, said in REFUSED:
        with pytest.raises(ValueError, match=rf"^Config\.env_kwargs = .*: .*{said}"):
            Config(env_kwargs={"a": value})
        with pytest.raises(ValueError, match=r"^Wide\.anything = "):
            Wide(anything=value)


def test_a_file_can_say_tuples_and_other_keys(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("env_kwargs: {size: {__tuple__: [3, 4]}, names: {0: left}}\n")
    config = Config.from_file(path)
    assert config.env_kwargs == {"size": (3, 4), "names": {0: "left"}}
    written = config.to_dict()["env_kwargs"]
    assert written["names"] == {"__mapping__": [[0, "left"]]}
