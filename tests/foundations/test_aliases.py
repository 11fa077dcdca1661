"""Fields in blocks, in our words and in those of others."""

import json
from pathlib import Path
from typing import Any

import pytest

from yieldrl.algorithms import a2c, dqn, ppo, ppo_lstm, reinforce
from yieldrl.cli import options
from yieldrl.foundations import Config
from yieldrl.foundations.aliases import ALIASES, to_fields

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


@pytest.mark.parametrize(
    ("config_class", "blocks", "fields"),
    [
        (ppo.Config, {"trainer": {"buffer_type": "vla"}}, {"collection": "async"}),
        (ppo.Config, {"collector": {"name": "async"}}, {"collection": "async"}),
        (ppo.Config, {"collector": {"n_steps": 16}}, {"num_steps": 16}),
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
        (dqn.Config, {"algorithm": {"train_freq": 3}}, {"train_every": 3}),
        (
            ppo.Config,
            {"env": {"name": "Pendulum-v1", "cfg": {"g": 9.8}}},
            {"env_id": "Pendulum-v1", "env_kwargs": {"g": 9.8}},
        ),
        (ppo.Config, {"policy": {"hidden_sizes": [8]}}, {"hidden_sizes": [8]}),
        (ppo.Config, {"policy": {"name": "nets:Wide", "hidden_sizes": [8]}}, {}),
        (ppo.Config, {"trainer": None, "algorithm": "ppo", "loggers": []}, {}),
    ],
)
def test_words_are_translated(
    config_class: type[Config], blocks: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert to_fields(blocks, config_class) == fields


def test_every_word_stands_for_a_field_of_some_algorithm() -> None:
    known = {*ppo.Config().to_dict(), *dqn.Config().to_dict()}
    assert {word.field for word in ALIASES.values()} <= known


@pytest.mark.parametrize(
    ("config_class", "blocks", "message"),
    [
        (
            ppo.Config,
            {"trainer": {"iteratons": 3}},
            "block 'trainer' has no key 'iteratons': did you mean 'iterations'?",
        ),
        (
            ppo.Config,
            {"env": {"gamma": 0.9}},
            "block 'env' has no key 'gamma': it goes into the block 'algorithm'",
        ),
        (
            ppo.Config,
            {"env": {"num_env": 2}},
            "block 'env' has no key 'num_env': did you mean 'num_envs'?",
        ),
        (
            ppo.Config,
            {"env": {"gravity": 2}},
            "block 'env' has no key 'gravity': arguments of the environment go into"
            " 'env_kwargs'",
        ),
        (
            ppo.Config,
            {"env": {"cfg": {}, "env_kwargs": {}}},
            "'cfg' of the block 'env' and 'env_kwargs' of the block 'env' both say"
            " 'env_kwargs': leave one out",
        ),
        (
            ppo.Config,
            {"trainer": {"n_envs": 2}, "env": {"num_envs": 2}},
            "'n_envs' of the block 'trainer' and 'num_envs' of the block 'env' both say"
            " 'num_envs': leave one out",
        ),
        (
            ppo.Config,
            {"algorithm": {"batch_size": 60}},
            "block 'algorithm': batch_size = 60: it must divide the rollout of"
            " num_steps * num_envs = 128 * 4 = 512 transitions",
        ),
        (
            ppo.Config,
            {"algorithm": {"batch_size": 0}},
            "block 'algorithm': batch_size = 0: give a whole number, at least 1",
        ),
        (
            ppo.Config,
            {"trainer": {"iterations": 2.5}},
            "block 'trainer': iterations = 2.5: give a whole number, at least 1",
        ),
        (
            ppo.Config,
            {"trainer": {"iterations": 2, "buffer_size": "many"}},
            "block 'trainer': iterations = 2: it needs num_steps, which is 'many'",
        ),
        (
            ppo.Config,
            {"trainer": {"buffer_type": "ring"}},
            "block 'trainer': buffer_type = 'ring': choose one of ['standard', 'vla']",
        ),
        (
            dqn.Config,
            {"trainer": {"iterations": 2}},
            "block 'trainer': iterations = 2: yieldrl.algorithms.dqn.config has no"
            " num_steps to count it in",
        ),
        (
            a2c.Config,
            {"algorithm": {"n_epochs": 2}},
            "block 'algorithm' has no key 'n_epochs': it is our 'num_epochs', which"
            " means nothing to yieldrl.algorithms.a2c.config, leave it out",
        ),
        (
            a2c.Config,
            {"algorithm": {"num_epochs": 2}},
            "block 'algorithm' has no key 'num_epochs': it means nothing to"
            " yieldrl.algorithms.a2c.config, leave it out",
        ),
        (
            reinforce.Config,
            {"trainer": {"buffer_size": 2}},
            "block 'trainer' has no key 'buffer_size': it is our 'num_steps', which"
            " means nothing to yieldrl.algorithms.reinforce.config, leave it out",
        ),
        (
            ppo.Config,
            {"algoritm": {}, "trainer": {}},
            "no block is called 'algoritm': did you mean 'algorithm'?",
        ),
        (
            ppo.Config,
            {"lr": 1e-3, "trainer": {}},
            "'lr' stands beside the blocks: it goes into 'algorithm'",
        ),
        (
            ppo.Config,
            {"algorithm": {"gamma": 7}},
            "block 'algorithm': gamma = 7: choose a number at least 0 and at most 1",
        ),
        (
            ppo.Config,
            {"trainer": {"buffer_size": "many"}},
            "block 'trainer': buffer_size = 'many', our num_steps = 'many': wrong type:"
            " str is not an instance of int",
        ),
        (
            ppo.Config,
            {"trainer": {"iterations": 10**12}},
            f"block 'trainer': iterations = {10**12}, our total_steps = {512 * 10**12}:"
            f" choose a number at least 1 and at most {10**12}",
        ),
        (
            ppo.Config,
            {"collector": {"name": "asink"}},
            "block 'collector': name = 'asink', our collection = 'asink': wrong type:"
            " str is not any of ('sync', 'async', 'ray')",
        ),
        (
            ppo.Config,
            {"env": "Pendulum-v1"},
            "block 'env': expected keys and values, got 'Pendulum-v1'",
        ),
    ],
)
def test_a_mistake_says_block_key_and_remedy(
    config_class: type[Config], blocks: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 (compared below)
        config_class.from_dict(blocks)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("module", "theirs", "ours"),
    [
        (ppo, "n_epochs", "num_epochs"),
        (ppo, "clip_range", "clip_coef"),
        (ppo, "clip_range_vf", "clip_value"),
        (ppo, "batch_size", "num_minibatches"),
        (ppo, "iterations", "total_steps"),
        (dqn, "exploration_final_eps", "epsilon_end"),
        (dqn, "target_update_interval", "target_every"),
        (dqn, "lr", "learning_rate"),
    ],
)
def test_without_blocks_the_words_of_others_get_ours_named(
    module: Any, theirs: str, ours: str
) -> None:
    """The nearest name may mean another thing: `clip_range` is no `clip_value`."""
    message = f"has no field '{theirs}': here it is '{ours}'"
    with pytest.raises(ValueError, match=message):
        module.Config.from_dict(json.loads(f'{{"{theirs}": 3}}'))
    with pytest.raises(TypeError, match=message):
        module.Config(**{theirs: 3})
    with pytest.raises(ValueError, match=message):
        options.parse(module.Trainer, [f"--{theirs.replace('_', '-')}", "3"], "train")
