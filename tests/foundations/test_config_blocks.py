"""The blocks of a run's file: where fields stand, and what has a name."""

from typing import Any

import pytest

from yieldrl.algorithms import dqn, ppo, reinforce
from yieldrl.foundations import Config
from yieldrl.foundations.config_blocks import (
    Part,
    flat,
    has_blocks,
    home,
    part,
    to_blocks,
)


@pytest.mark.parametrize("config_class", [dqn.Config, ppo.Config, reinforce.Config])
def test_a_config_survives_its_blocks(config_class: type[Config]) -> None:
    config = config_class(env_id="Pendulum-v1", seed=5, num_envs=3)
    blocks = to_blocks(config)
    assert list(blocks) == ["trainer", "env", "collector", "algorithm"]
    assert has_blocks(blocks)
    assert not has_blocks(config.to_dict())
    assert config_class.from_dict(blocks) == config
    assert flat(blocks) == flat(config.to_dict()) == config.to_dict()


def test_every_field_has_one_home() -> None:
    blocks = to_blocks(ppo.Config())
    assert list(blocks["env"]) == [
        "env_id",
        "env_kwargs",
        "wrappers",
        "num_envs",
        "vectorization",
    ]
    assert blocks["collector"] == {
        "collection": "sync",
        "max_policy_lag": 1,
        "when_stale": "wait",
        "ray_address": "",
        "rollout_workers": 1,
        "inference_actors": 0,
        "weight_transfer": "store",
        "learners": 0,
        "engine": "ddp",
        "zero_stage": 2,
        "learner_restarts": 0,
        "eval_actors": 0,
        "replay_actor": False,
    }
    assert (home("seed"), home("gamma")) == ("trainer", "algorithm")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("ppo", Part("ppo", {})),
        (None, Part("", {})),
        ({"name": "ppo", "gamma": 0.9}, Part("ppo", {"gamma": 0.9})),
        ({"name": "ppo", "cfg": {"gamma": 0.9}}, Part("ppo", {"gamma": 0.9})),
        ({"name": "ppo", "cfg": None}, Part("ppo", {})),
        ({"name": "a", "cfg": {"name": "b"}}, Part("a", {"name": "b"})),
    ],
)
def test_values_stand_beside_a_name_or_in_cfg(said: Any, expected: Part) -> None:
    assert part("algorithm", said) == expected


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (3, "block 'policy': expected keys and values, got 3"),
        ({"name": 3}, "block 'policy': name = 3: give a text"),
        ({"cfg": [1]}, "block 'policy': expected keys and values, got [1]"),
        (
            {"width": 1, "cfg": {"width": 2}},
            "block 'policy': 'width' stands in 'cfg' and beside it",
        ),
    ],
)
def test_what_is_written_otherwise_is_refused(said: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 (compared below)
        part("policy", said)
    assert str(error.value) == message


def test_a_path_is_told_from_a_registered_name() -> None:
    assert Part("nets:Wide", {}).is_path
    assert Part("nets.Wide", {}).is_path
    assert not Part("default", {}).is_path
