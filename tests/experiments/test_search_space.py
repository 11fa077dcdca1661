"""Ranges of a search: usual ones for every algorithm, and the user's."""

import importlib
from pathlib import Path

import pytest

from yieldrl.algorithms import ppo
from yieldrl.cli import catalog
from yieldrl.experiments.search_space import distribution, holds, make_space

optuna = pytest.importorskip("optuna", reason="the extra `tune` is not installed")


def test_every_algorithm_has_usual_ranges_that_hold_its_own_values():
    found = {}
    for name in catalog.folders():
        config = importlib.import_module(f"yieldrl.algorithms.{name}").Config()
        space = make_space(config, ())
        assert len(space) >= 2, name
        found[name] = {k: distribution(config, k, one) for k, one in space.items()}
        for field, one in found[name].items():
            assert holds(one, getattr(config, field)), (name, field)
    assert {"num_steps", "clip_coef", "entropy_coef"} <= found["ppo"].keys()
    assert {"tau", "train_every", "epsilon_end"} <= found["dqn"].keys()
    assert {"tau", "batch_size", "exploration_noise"} <= found["td3"].keys()
    assert found["q_learning"]["learning_rate"].high == 1.0
    assert "clip_coef" not in found["a2c"]  # a constant there
    assert not {"gamma", "entropy_coef", "num_steps"} & found["grpo"].keys()


def test_ranges_of_the_user_replace_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text(
        "learning_rate: {low: 1e-4, high: 1, log: true}\ngamma:\nclip_value: [null, 2]"
    )
    words = ["space.yaml", "num_steps=8..64:log", "gamma=0..1", "num_epochs"]
    drawn = optuna.distributions
    space = make_space(ppo.Config(), [*words, "hidden_sizes=[[8],[16, 8]]"])
    assert {k: distribution(ppo.Config(), k, one) for k, one in space.items()} == {
        "learning_rate": drawn.FloatDistribution(1e-4, 1.0, log=True),
        "gamma": drawn.FloatDistribution(0.0, 1.0),
        "clip_value": drawn.CategoricalDistribution([None, 2.0]),
        "num_steps": drawn.IntDistribution(8, 64, log=True),
        "num_epochs": drawn.IntDistribution(1, 20, log=True),
        "hidden_sizes": drawn.CategoricalDistribution(["[8]", "[16, 8]"]),
    }
    usual = make_space(ppo.Config(), ())
    assert make_space(ppo.Config(), (), fixed=["gamma", "config"]).keys() == (
        usual.keys() - {"gamma"}
    )


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("gama", "has no field 'gama': did you mean 'gamma'"),
        ("seed=1..5", "range of seed, '1..5': it must be the same in all trials"),
        ("gamma=0.9..0.5", "range of gamma, '0.9..0.5': choose numbers, low < high"),
        ("gamma=0.5..1.5", "range of gamma, '0.5..1.5': Input should be less than"),
        ("activation=relu..tanh", "range of activation, 'relu..tanh': choose num"),
        ("activation=[relu,sine]", r"range of activation, \['relu', 'sine'\]: Input"),
        ("entropy_coef=0..1:log", "range of entropy_coef, '0..1:log': .*low"),
        ("gamma=[0.9]", r"range of gamma, \[0.9\]: write LOW..HIGH, LOW..HIGH:log or"),
        ("target_kl", "range of target_kl, None: write LOW..HIGH"),
        ("clip_coef=[0.1", r"--space clip_coef=\[0.1: not readable"),
        ("normalize_reward", "normalize_reward is tuned and set as well"),
    ],
)
def test_what_is_wrong_with_a_range_is_said(word, said):
    with pytest.raises(ValueError, match=said):
        make_space(ppo.Config(), [word], fixed=["normalize_reward"])
