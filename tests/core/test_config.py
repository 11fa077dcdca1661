"""Configs: typed, in range, loadable, and clear about what is wrong."""

import dataclasses
import json
import os
from contextlib import nullcontext
from typing import Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import dqn, ppo
from yieldrl.core import Config
from yieldrl.core.files import wrong_name
from yieldrl.core.named_code import UntrustedError, refuse_untrusted


@dataclass(frozen=True, kw_only=True)
class Small(Config):
    """A config with a field of every kind."""

    rate: float = 0.1
    """A number."""

    limit: float | None = None
    """A number or none."""

    sizes: tuple[int, ...] = (64, 64)
    """Whole numbers."""

    mode: Literal["fast", "slow"] = "fast"
    """One of two words."""

    flag: bool = False
    """Yes or no."""


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)
floats = st.floats(allow_nan=False, allow_infinity=False)
smalls = st.builds(
    Small,
    env_id=st.text(min_size=1, max_size=20),
    env_kwargs=st.dictionaries(st.text(max_size=5), plain, max_size=3),
    num_envs=st.integers(1, 10**6),
    seed=st.integers(0, 2**31 - 1),
    threads=st.none() | st.integers(1, 64),
    run_name=st.none() | st.from_regex(r"\w\w[\w .:#-]*_", fullmatch=True),
    rate=floats,
    limit=st.none() | floats,
    sizes=st.lists(st.integers(), max_size=4).map(tuple),
    mode=st.sampled_from(["fast", "slow"]),
    flag=st.booleans(),
)


@given(config=smalls)
@settings(max_examples=100)
def test_a_config_survives_dict_json_and_yaml(config):
    values = config.to_dict()
    assert Small.from_dict(values) == config
    assert Small.from_dict(json.loads(json.dumps(values))) == config
    assert Small.from_dict(yaml.safe_load(yaml.safe_dump(values))) == config


def test_a_config_cannot_be_changed_and_can_be_replaced():
    config = Small()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.rate = 1.0  # type: ignore[misc]
    assert dataclasses.replace(config, rate=1.0).rate == 1.0
    with pytest.raises(ValueError, match="num_envs"):
        dataclasses.replace(config, num_envs=0)


WRONG = [
    (Small, {"num_envs": 0}, r"Small\.num_envs = 0: .* greater than or equal to 1"),
    (Small, {"env_id": ""}, r"env_id = '': name an environment"),
    (Small, {"rate": "high"}, r"rate = 'high': .* valid number"),
    (Small, {"mode": "medium"}, r"mode = 'medium': .*'fast' or 'slow'"),
    (Small, {"sizes": (64, "wide")}, r"sizes\.1 = 'wide': .* valid integer"),
    (ppo.Config, {"num_minibatches": 1000}, "a rollout has only 512 transitions"),
    (ppo.Config, {"num_minibatches": 512}, "normalize_advantage = True: .*=False"),
    (dqn.Config, {"buffer_size": 1, "num_envs": 2}, "buffer_size = 1: .*least 2"),
]


def test_a_wrong_value_is_named():
    for config_class, values, message in WRONG:
        with pytest.raises(ValueError, match=message):
            config_class.from_dict(values)


def test_an_unknown_name_is_met_with_the_nearest_known_one():
    with pytest.raises(ValueError, match="no field 'num_env': did you mean 'num_envs'"):
        Small.from_dict({"num_env": 4})
    with pytest.raises(ValueError, match=r"'xyzzy': choose one of .*'env_id'"):
        Small.from_dict({"xyzzy": 4})


def test_yaml_and_json_cannot_say_everything(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("rate: 3e-4\nlimit: 1e-2\nsizes: [32, 16]\nrun_name: 1e3x\n")
    config = Small.from_file(path)
    assert (config.rate, config.limit, config.sizes) == (3e-4, 1e-2, (32, 16))
    assert config.run_name == "1e3x"
    path.write_text("# nothing\n")
    assert Small.from_file(path) == Small()


def test_a_bad_file_is_refused(tmp_path):
    for name, text, message in (
        ("config.ini", "rate = 1", "a config file ends in .json, .yaml, .yml or .toml"),
        ("config.toml", "rate =", "not a readable config file"),
        ("config.json", "{", "not a readable config file"),
        ("config.yaml", "- 1\n- 2\n", "expected names and values, got .*list"),
        ("config.yaml", "rate: fast\n", "rate = 'fast': .* valid number"),
        ("config.yaml", "3: 4\n", "no field 3"),
        ("config.json", "\ud800", "not a readable config file"),
    ):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(ValueError, match=rf"{name}: .*{message}"):
            Small.from_file(path)
    with pytest.raises(FileNotFoundError, match=r"none\.yaml: no such config file"):
        Small.from_file(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("values", "trusted"),
    [
        ({"env_id": "gymnasium_evil:Env"}, False),
        ({"wrappers": ["gymnasium.wrappers:FlattenObservation", "evil:wrap"]}, False),
        ({"wrappers": ["gymnasium.wrappers:FlattenObservation"]}, True),
        ({"env_id": "gymnasium_robotics:FetchReach-v4"}, True),
        ({"env_id": "CartPole-v1"}, True),
    ],
)
def test_code_of_strangers_is_refused(values, trusted):
    refused = pytest.raises(UntrustedError, match="trust=True")
    with nullcontext() if trusted else refused:
        refuse_untrusted(values)


OUTSIDE = ["..", "../x", "../../x", "a/../..", "a/../b", "a/..", "/x", "//x", "/"]
OUTSIDE += ["/tmp/x/../y"]
NOTHING = ["", " ", ".", "./", "\t"]


def test_a_run_name_is_a_folder_below_run_root(tmp_path):
    for name in (*OUTSIDE, *NOTHING):
        said = "give a folder name" if name in NOTHING else ""
        with pytest.raises(ValueError, match=rf"Config\.run_name = .*: .*{said}"):
            Config(run_name=name)
    path = tmp_path / "run.yaml"
    path.write_text("trainer: {run_name: ../../x}\n")
    message = r"run_name = '\.\./\.\./x': a run lies below run_root"
    with pytest.raises(ValueError, match=message):
        Config.from_file(path)
    for name in ("a", "a/b", "..a", "a..b", ".a", "seed:1", "Läufe", "a b", "a" * 240):
        assert wrong_name(name) is None
        folder = tmp_path / str(Config(run_name=name).run_name)
        folder.mkdir(parents=True, exist_ok=True)
        assert os.path.commonpath([tmp_path, folder.resolve()]) == str(tmp_path)
