"""No value of a config gets further than its construction if nothing can hold it."""

import dataclasses
import importlib
import inspect
import json
import math
import re
import typing
from typing import Any, Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.cli import catalog
from yieldrl.cli.field_options import docstrings
from yieldrl.foundations import Config
from yieldrl.foundations.validation import most_threads

CLASSES = {
    name: importlib.import_module(f"yieldrl.algorithms.{name}").Trainer.config_class
    for name in catalog.folders()
}
DIFFERENT = list({kind: name for name, kind in reversed(CLASSES.items())}.values())
"""A name for each class: some algorithms have that of another one."""

WHOLE = [-(2**64), -1, 0, 1, 2, 7, 2**10, 2**16, 2**20, 2**24, 10**9, 2**31 - 1, 2**31]
WHOLE += [2**53, 2**63, 2**64, 10**400, 10**5000]
REAL = [0.0, -0.0, 5e-324, 1e-300, 1e-45, 1e-38, 1e-8, 0.5, 1.0, 1e3, 1e18, 3e38, 1e39]
REAL += [1e300, -1e300, math.inf, -math.inf, math.nan, 2**64, 10**400]
WIDTHS = [(), (1,), (0,), (-1,), (True,), (2**16, 2**16), (2**31,), (1,) * 1000]
WIDTHS += [(2**14, 2**14), (2**14,) * 3, (10**400,)]
NAMES = ["", "a/b", "a" * 300, "a\0b", "\ud800", ".", "..", "/a", "C:/a", "nul"]


def values_for(hint: Any) -> list[Any]:
    """Values of a field's type, from the smallest to what no machine can hold."""
    if typing.get_origin(hint) is Literal:
        return [*typing.get_args(hint), "other"]
    kinds = {typing.get_origin(kind) or kind for kind in (hint, *typing.get_args(hint))}
    values: list[Any] = [None] if type(None) in kinds else []
    values += WIDTHS if hint == tuple[int, ...] else []
    values += [False, True] if bool in kinds else []
    values += WHOLE if int in kinds and tuple not in kinds else []
    values += REAL if float in kinds else []
    return values + (NAMES if str in kinds and tuple not in kinds else [])


def changes(config_class: type[Config]) -> st.SearchStrategy[dict[str, Any]]:
    """Up to three fields with extreme values."""
    hints = typing.get_type_hints(config_class)
    names = [entry.name for entry in dataclasses.fields(config_class)]
    names = [name for name in names if values_for(hints[name])]
    return st.lists(st.sampled_from(names), min_size=1, max_size=3).flatmap(
        lambda chosen: st.fixed_dictionaries(
            {name: st.sampled_from(values_for(hints[name])) for name in chosen}
        )
    )


def derived(config: Config) -> dict[str, Any]:
    """The numbers that properties of a config compute."""
    names = [name for name in dir(type(config)) if not name.startswith("_")]
    properties = [n for n in names if isinstance(getattr(type(config), n), property)]
    return {name: getattr(config, name) for name in properties}


def assert_can_be_held(config: Config) -> None:
    """Every number fits a tensor, and all of them the files of a run."""
    json.dumps(config.to_dict()).encode()
    for name, value in {**vars(config), **derived(config)}.items():
        if isinstance(value, int):
            assert abs(value) <= 10**12, name
            torch.tensor(value)
        elif isinstance(value, float):
            assert math.isfinite(torch.tensor(value).square().item()), name
    for name, value in derived(config).items():
        assert isinstance(value, str) or value < 2**31, name


def assert_refused_or_held(name: str, **chosen: Any) -> None:
    """What no machine can hold is refused in a short sentence that names a field."""
    try:
        config = CLASSES[name](**chosen)
    except ValueError as error:
        message = str(error)
    else:
        assert_can_be_held(config)
        return
    names = "|".join(entry.name for entry in dataclasses.fields(CLASSES[name]))
    assert re.match(rf"Config\.({names}) = .+: .+", message)
    assert len(message) < 700


def inherited(config_class: type[Config]) -> dict[str, Any]:
    """Field -> default, of a parent that is tried too and checks as this class does."""
    parent, *others = config_class.__bases__
    if others or parent not in CLASSES.values():
        return {}
    fields = {entry.name: entry.default for entry in dataclasses.fields(parent)}
    methods = {name for name in dir(parent) if not name.startswith("__")} - set(fields)
    found, its = (
        {
            name: inspect.getattr_static(kind, name)
            for name in ("__post_init__", *methods)
        }
        for kind in (config_class, parent)
    )
    return fields if found == its else {}


def rejects_or_holds_all(names: list[str]) -> None:
    """Also in a class that has no check of its own: of fields that are new or begin
    with another value there."""
    for name in names:
        hints, known = typing.get_type_hints(CLASSES[name]), inherited(CLASSES[name])
        for entry in dataclasses.fields(CLASSES[name]):
            if entry.name in known and known[entry.name] == entry.default:
                continue
            for value in values_for(hints[entry.name]):
                assert_refused_or_held(name, **{entry.name: value})


def test_every_extreme_value_is_refused_by_name_or_can_be_held() -> None:
    rejects_or_holds_all(["ppo", "dqn"])


@pytest.mark.slow
def test_every_extreme_value_of_every_algorithm() -> None:
    rejects_or_holds_all(DIFFERENT)


@given(data=st.data())
@settings(max_examples=60)
def test_extreme_values_together_are_refused_by_name_or_can_be_held(
    data: st.DataObject,
) -> None:
    name = data.draw(st.sampled_from(DIFFERENT))
    assert_refused_or_held(name, **data.draw(changes(CLASSES[name])))


def test_every_number_has_a_largest_value() -> None:
    for config_class in (CLASSES[name] for name in DIFFERENT):
        hints = typing.get_type_hints(config_class)
        for entry in dataclasses.fields(config_class):
            kinds = {hints[entry.name], *typing.get_args(hints[entry.name])}
            if kinds & {int, float} and hints[entry.name] != tuple[int, ...]:
                said = rf"^Config\.{entry.name} = 9+.*: "
                with pytest.raises(ValueError, match=said):
                    config_class(**{entry.name: 10**19 - 1})


TOO_LARGE: list[tuple[str, dict[str, Any], str]] = [
    ("ppo", {"threads": 10**9}, rf"threads = 10+: .*at most {most_threads()}$"),
    ("ppo", {"num_envs": 10**7}, r"num_envs = 10+: .*at most 1048576$"),
    ("ppo", {"eval_every": 2**64}, r"eval_every = 18446744073709551616: .*10{12}$"),
    ("ppo", {"learning_rate": 1e38}, r"learning_rate = 1e\+38: .*at most 1000$"),
    ("dqn", {"buffer_size": 2**40}, r"buffer_size = .*at most 2147483647$"),
    ("c51", {"v_max": 1e-320}, r"v_min = 0.0: .*float32 cannot tell 51 atoms"),
    ("c51", {"v_min": 1e8, "v_max": 1e8 + 1}, r"v_min = 100000000.0: .*float32"),
    ("sac", {"target_entropy": 1e38}, r"target_entropy = 1e\+38: .*at most"),
    ("ppo_lstm", {"lstm_size": 10**6}, r"lstm_size = 1000000: .*at most 4096$"),
    ("ppo", {"num_steps": 2**20, "num_envs": 2**20}, r".*choose at most 2047,"),
    ("dqn", {"hidden_sizes": (2**16, 2**16)}, r".*at most 268,435,456 b"),
    ("dqn", {"hidden_sizes": (2**20,)}, r".*every width must be at most 65536$"),
    ("dqn", {"hidden_sizes": (8,) * 100}, r".*choose at most 64 layers$"),
    ("dqn", {"num_envs": 10**5000}, r"num_envs = a int of more than 4 000 digits"),
    ("dqn", {"run_name": "a" * 256}, r"run_name = .*at most 255 bytes"),
    ("dqn", {"run_root": "a\0"}, r"run_root = .*none of them zero"),
]


def test_what_no_machine_holds_is_refused() -> None:
    for name, values, message in TOO_LARGE:
        with pytest.raises(ValueError, match=rf"^Config\.{message}"):
            CLASSES[name](**values)


def test_a_large_value_that_machines_can_hold_is_taken() -> None:
    CLASSES["ppo"](num_envs=65_536, num_steps=64, threads=256, hidden_sizes=(4096,) * 3)
    CLASSES["rainbow"](batch_size=32_768, buffer_size=10**7, n_step=20, num_atoms=201)
    CLASSES["ppo"](max_grad_norm=1e10, total_steps=10**11, learning_rate=10)


UNUSED = {
    "a2c": "num_epochs num_minibatches clip_coef clip_value target_kl desired_kl",
    "behavior_cloning": "actor_obs critic_obs",
    "c51": "error_clip",
    "rainbow": "error_clip",
    "vla_ppo": "actor_obs critic_obs",
    "sac": "exploration_noise policy_noise noise_clip",
    "sac_discrete": "exploration_noise policy_noise noise_clip",
    "mbpo": "exploration_noise policy_noise noise_clip",
}


def test_what_means_nothing_to_a_variant_is_not_a_field_there() -> None:
    for name, fields in UNUSED.items():
        for field in fields.split():
            config_class = CLASSES[name]
            assert field not in config_class().to_dict()
            with pytest.raises(TypeError, match=f"has no field '{field}'"):
                config_class(**{field: None})
            with pytest.raises(ValueError, match=f"has no field '{field}'"):
                config_class.from_dict({field: None})


def test_what_cannot_be_compiled_says_why() -> None:
    for config_class in CLASSES.values():
        assert not config_class().compile
        if config_class.uncompiled is None:
            assert config_class(compile=True).compile
            continue
        with pytest.raises(ValueError, match=re.escape(config_class.uncompiled)):
            config_class(compile=True)


def test_every_field_has_a_help_of_its_own() -> None:
    for config_class in (CLASSES["ppo"], CLASSES["dqn"], CLASSES["vla_ppo"]):
        texts = docstrings(config_class)
        for entry in dataclasses.fields(config_class):
            assert len(texts[entry.name]) > 20, entry.name
