"""The blocks of a run's file: where fields stand, and what has a name."""

import pytest

from yieldrl.algorithms import ppo
from yieldrl.core.config_blocks import Part, flat, has_blocks, part, to_blocks


@pytest.mark.parametrize("config_class", [ppo.Config])
def test_a_config_survives_its_blocks(config_class):
    config = config_class(env_id="Pendulum-v1", seed=5, num_envs=3)
    blocks = to_blocks(config)
    assert list(blocks) == ["trainer", "env", "collector", "algorithm"]
    assert {"env_id", "wrappers", "num_envs", "vectorization"} < blocks["env"].keys()
    assert {"collection", "rollout_workers"} < blocks["collector"].keys()
    assert has_blocks(blocks)
    assert not has_blocks(config.to_dict())
    assert config_class.from_dict(blocks) == config
    assert flat(blocks) == flat(config.to_dict()) == config.to_dict()


def test_values_stand_beside_a_name_or_in_cfg():
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


def test_what_is_written_otherwise_is_refused():
    for said, message in (
        (3, "expected keys and values, got 3"),
        ({"name": 3}, "name = 3: give a text"),
        ({"cfg": [1]}, r"expected keys and values, got \[1\]"),
        ({"width": 1, "cfg": {"width": 2}}, "'width' stands in 'cfg' and beside it"),
    ):
        with pytest.raises(ValueError, match=f"block 'policy': {message}"):
            part("policy", said)
