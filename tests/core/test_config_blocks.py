"""The blocks of a run's file: fields, what has a name, words of founding documents."""

import re

import pytest

from yieldrl.algorithms import a2c, dqn, ppo, ppo_lstm
from yieldrl.core.config_blocks import (
    Part,
    flat,
    has_blocks,
    part,
    to_blocks,
    to_fields,
)


def test_a_config_survives_its_blocks():
    config = ppo.Config(env_id="Pendulum-v1", seed=5, num_envs=3)
    blocks = to_blocks(config)
    assert list(blocks) == ["trainer", "env", "collector", "algorithm"]
    assert {"env_id", "wrappers", "num_envs", "vectorization"} < blocks["env"].keys()
    assert {"collection", "rollout_workers"} < blocks["collector"].keys()
    assert has_blocks(blocks)
    assert not has_blocks(config.to_dict())
    assert ppo.Config.from_dict(blocks) == config
    assert flat(blocks) == flat(config.to_dict()) == config.to_dict()


def test_values_stand_beside_a_name_or_in_cfg_and_nowhere_else():
    for said, expected in (
        ("ppo", Part("ppo", {})),
        (None, Part("", {})),
        ({"name": "ppo", "gamma": 0.9}, Part("ppo", {"gamma": 0.9})),
        ({"name": "ppo", "cfg": {"gamma": 0.9}}, Part("ppo", {"gamma": 0.9})),
        ({"name": "ppo", "cfg": None}, Part("ppo", {})),
        ({"name": "a", "cfg": {"name": "b"}}, Part("a", {"name": "b"})),
    ):
        assert part("algorithm", said) == expected
    paths = [Part(name, {}).is_path for name in ("nets:Wide", "nets.Wide", "default")]
    assert paths == [True, True, False]
    for said, message in (
        (3, "expected keys and values, got 3"),
        ({"name": 3}, "name = 3: give a text"),
        ({"cfg": [1]}, r"expected keys and values, got \[1\]"),
        ({"width": 1, "cfg": {"width": 2}}, "'width' stands in 'cfg' and beside it"),
    ):
        with pytest.raises(ValueError, match=f"block 'policy': {message}"):
            part("policy", said)


TRANSLATED = [
    (ppo.Config, {"trainer": {"buffer_type": "vla"}}, {"collection": "async"}),
    (ppo_lstm.Config, {"algorithm": {"batch_size": 512}}, {"num_minibatches": 4}),
    (a2c.Config, {"trainer": {"iterations": 3}}, {"total_steps": 3 * 16 * 8}),
    (
        ppo.Config,
        {"trainer": {"iterations": 3, "n_envs": 2}, "algorithm": {"n_steps": 5}},
        {"total_steps": 3 * 5 * 2, "num_envs": 2, "num_steps": 5},
    ),
    (
        dqn.Config,
        {"trainer": {"buffer_size": 500}, "algorithm": {"batch_size": 32}},
        {"buffer_size": 500, "batch_size": 32},
    ),
    (
        ppo.Config,
        {"env": {"name": "Pendulum-v1", "cfg": {"g": 9.8}}},
        {"env_id": "Pendulum-v1", "env_kwargs": {"g": 9.8}},
    ),
    (ppo.Config, {"policy": {"name": "nets:Wide", "hidden_sizes": [8]}}, {}),
    (ppo.Config, {"trainer": None, "algorithm": "ppo", "loggers": []}, {}),
]


def test_names_are_translated():
    for config_class, blocks, fields in TRANSLATED:
        assert to_fields(blocks, config_class) == fields


MISTAKES = [
    (ppo.Config, {"trainer": {"iteratons": 3}}, "mean 'iterations'"),
    (
        ppo.Config,
        {"trainer": {"n_envs": 2}, "env": {"num_envs": 2}},
        "'n_envs' of the block 'trainer' and 'num_envs' of the block 'env' both say",
    ),
    (ppo.Config, {"algorithm": {"batch_size": 60}}, "it must divide a rollout"),
    (ppo.Config, {"trainer": {"iterations": 2.5}}, "iterations = 2.5 of rollouts"),
    (dqn.Config, {"trainer": {"iterations": 2}}, "('num_steps', 'num_envs') = [None"),
    (ppo.Config, {"trainer": {"buffer_type": "ring"}}, "collection"),
    (ppo.Config, {"algoritm": {}, "trainer": {}}, "did you mean 'algorithm'?"),
    (ppo.Config, {"env": "Pendulum-v1"}, "block 'env': expected keys and values"),
    (ppo.Config, {"gama": 0.9}, "did you mean 'gamma'"),
]


def test_a_mistake_is_named_with_the_remedy():
    for config_class, values, message in MISTAKES:
        with pytest.raises(ValueError, match=re.escape(message)):
            config_class.from_dict(values)
    with pytest.raises(TypeError, match="has no field 'gama': did you mean 'gamma'"):
        ppo.Config(gama=0.9)
