"""Fields in blocks, in our words and in those of others."""

import re
from pathlib import Path
from typing import Any

import pytest

from yieldrl.algorithms import a2c, dqn, ppo, ppo_lstm
from yieldrl.cli import options
from yieldrl.foundations import Config
from yieldrl.foundations.aliases import to_fields

# The first example of a founding document of the project, as it stands there.
DOCUMENT = """{
  "trainer": {
    "buffer_size": 2048,
    "buffer_type": "standard",  // "standard" or "vla"
    "iterations": 500
  },
  "algorithm": {
    "name": "ppo",
    "cfg": {
      "learning_rate": 3e-4,
      "gamma": 0.99,
      "n_epochs": 10,
      "batch_size": 64
    }
  }
}
"""


def test_the_file_of_the_document_is_a_config(tmp_path: Path) -> None:
    path = tmp_path / "my_config.json"
    path.write_text(DOCUMENT)
    assert ppo.Config.from_file(path) == ppo.Config(
        num_steps=2048,
        collection="sync",
        total_steps=500 * 2048 * 4,
        learning_rate=3e-4,
        gamma=0.99,
        num_epochs=10,
        num_minibatches=2048 * 4 // 64,
    )


TRANSLATED: list[tuple[type[Config], dict[str, Any], dict[str, Any]]] = [
    (ppo.Config, {"trainer": {"buffer_type": "vla"}}, {"collection": "async"}),
    (ppo.Config, {"collector": {"name": "async"}}, {"collection": "async"}),
    (ppo.Config, {"algorithm": {"minibatch_size": 32}}, {"num_minibatches": 16}),
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
    (ppo.Config, {"policy": {"hidden_sizes": [8]}}, {"hidden_sizes": [8]}),
    (ppo.Config, {"policy": {"name": "nets:Wide", "hidden_sizes": [8]}}, {}),
    (ppo.Config, {"trainer": None, "algorithm": "ppo", "loggers": []}, {}),
]


def test_words_are_translated() -> None:
    for config_class, blocks, fields in TRANSLATED:
        assert to_fields(blocks, config_class) == fields


MISTAKES: list[tuple[type[Config], dict[str, Any], str]] = [
    (ppo.Config, {"trainer": {"iteratons": 3}}, "did you mean 'iterations'?"),
    (ppo.Config, {"env": {"gamma": 0.9}}, "it goes into the block 'algorithm'"),
    (ppo.Config, {"env": {"gravity": 2}}, "arguments of the environment go into"),
    (
        ppo.Config,
        {"trainer": {"n_envs": 2}, "env": {"num_envs": 2}},
        "'n_envs' of the block 'trainer' and 'num_envs' of the block 'env' both say",
    ),
    (ppo.Config, {"algorithm": {"batch_size": 60}}, "it must divide the rollout of"),
    (ppo.Config, {"algorithm": {"batch_size": 0}}, "batch_size = 0: give a whole"),
    (ppo.Config, {"trainer": {"iterations": 2.5}}, "iterations = 2.5: give a whole"),
    (
        ppo.Config,
        {"trainer": {"iterations": 2, "buffer_size": "many"}},
        "iterations = 2: it needs num_steps, which is 'many'",
    ),
    (ppo.Config, {"trainer": {"buffer_type": "ring"}}, "choose one of ['standard', "),
    (dqn.Config, {"trainer": {"iterations": 2}}, "has no num_steps to count it in"),
    (a2c.Config, {"algorithm": {"n_epochs": 2}}, "it is our 'num_epochs', which means"),
    (a2c.Config, {"algorithm": {"num_epochs": 2}}, "'num_epochs': it means nothing to"),
    (ppo.Config, {"algoritm": {}, "trainer": {}}, "did you mean 'algorithm'?"),
    (ppo.Config, {"lr": 1e-3, "trainer": {}}, "'lr' stands beside the blocks: it goes"),
    (ppo.Config, {"algorithm": {"gamma": 7}}, "block 'algorithm': gamma = 7: choose"),
    (
        ppo.Config,
        {"trainer": {"buffer_size": "many"}},
        "buffer_size = 'many', our num_steps = 'many': wrong type",
    ),
    (ppo.Config, {"env": "Pendulum-v1"}, "block 'env': expected keys and values"),
]


def test_a_mistake_says_block_key_and_remedy() -> None:
    for config_class, blocks, message in MISTAKES:
        with pytest.raises(ValueError, match=re.escape(message)):
            config_class.from_dict(blocks)


def test_without_blocks_the_words_of_others_get_ours_named() -> None:
    """The nearest name may mean another thing: `clip_range` is no `clip_value`."""
    for module, theirs, ours in (
        (ppo, "clip_range", "clip_coef"),
        (ppo, "iterations", "total_steps"),
        (dqn, "target_update_interval", "target_every"),
    ):
        message = f"has no field '{theirs}': here it is '{ours}'"
        with pytest.raises(ValueError, match=message):
            module.Config.from_dict({theirs: 3})
        with pytest.raises(TypeError, match=message):
            module.Config(**{theirs: 3})
        words = [f"--{theirs.replace('_', '-')}", "3"]
        with pytest.raises(ValueError, match=message):
            options.parse(module.Trainer, words, "train")
