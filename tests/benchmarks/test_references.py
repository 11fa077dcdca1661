"""References are trained as long as we, and evaluated on the same episodes."""

import sys
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from yieldrl.benchmarks import learning, references
from yieldrl.benchmarks.tasks import TASKS, Reference, Task


class Model:
    """Stands still; with masks it takes the last action that is possible."""

    def __init__(self, normalizer: Any = None) -> None:
        self.normalizer = normalizer

    def get_vec_normalize_env(self) -> Any:
        return self.normalizer

    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        return obs * 2, None


class Masked(Model):
    def predict(
        self, obs: Any, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[Any, None]:
        choices = action_masks.shape[1]
        return choices - 1 - action_masks[:, ::-1].argmax(1), None


def test_a_player_sees_what_the_model_was_trained_on() -> None:
    assert references.Player(Model()).predict(np.ones(2)).tolist() == [2, 2]
    halves = SimpleNamespace(normalize_obs=lambda obs: obs / 4)
    assert references.Player(Model(halves)).predict(np.ones(2)).tolist() == [0.5, 0.5]


def test_a_player_tells_which_actions_are_possible() -> None:
    masks = np.array([[True, True, False], [True, False, False]])
    obs = {"observation": np.zeros((2, 4)), "action_mask": masks}
    assert references.Player(Masked()).predict(obs).tolist() == [1, 0]


@pytest.fixture
def sb3() -> Any:
    return pytest.importorskip("stable_baselines3", reason="pip install -e '.[bench]'")


def test_settings_are_written_as_the_rl_zoo_does(sb3: Any) -> None:
    from torch import nn

    reference = Reference(
        algorithm="TD3",
        settings={
            "learning_rate": "lin_0.002",
            "noise_std": 0.1,
            "policy_kwargs": {"net_arch": [8], "activation_fn": "Tanh"},
        },
        num_envs=2,
        normalize=True,
    )
    config = Task(algorithm="ppo", config={"env_id": "Pendulum-v1"}).make_config(7)
    model = references.build(reference, config)
    assert [model.lr_schedule(left) for left in (1, 0.5, 0)] == [0.002, 0.001, 0]
    assert model.action_noise._sigma == pytest.approx([0.1])
    assert isinstance(model.actor.mu[1], nn.Tanh)
    assert (model.n_envs, model.seed) == (2, 7)
    assert model.get_vec_normalize_env() is not None
    assert reference.settings["policy_kwargs"]["activation_fn"] == "Tanh"


def test_wrappers_are_put_around_the_reference_too(sb3: Any) -> None:
    config = Task(
        algorithm="ppo",
        config={
            "env_id": "FrozenLake-v1",
            "wrappers": ("gymnasium.wrappers:FlattenObservation",),
        },
    ).make_config()
    model = references.build(Reference(algorithm="PPO"), config)
    assert isinstance(model.observation_space, gymnasium.spaces.Box)


@pytest.mark.slow
def test_both_sides_are_looked_at_after_the_same_steps(
    sb3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = {"total_steps": 1000, "eval_every": 300, "eval_episodes": 4}
    task = Task(
        algorithm="ppo",
        config={**budget, "num_envs": 2, "num_steps": 50},
        reference=Reference(
            algorithm="PPO", settings={"n_steps": 50, "batch_size": 50}, num_envs=2
        ),
    )
    monkeypatch.setitem(TASKS, "test", task)
    own = learning.train_seed("test", 3, episodes=6)
    rival = references.train_seed("test", 3, episodes=6)
    for side in (own, rival):
        assert [p["sample_step"] for p in side["curve"]] == [300, 600, 900, 1000]
        assert all(point["episodes"] == 4 for point in side["curve"])
        assert side["final"]["episodes"] == 6
        assert side["seed"] == 3
    again = references.train_seed("test", 3, episodes=6)
    assert again["curve"] == rival["curve"]
    assert "stable_baselines3" in sys.modules


def test_a_player_remembers_until_an_episode_begins() -> None:
    class Recurrent(Model):
        """Counts the observations of every episode."""

        def predict(
            self, obs: Any, state=None, episode_start=None, deterministic=False
        ):
            state = np.zeros(len(obs)) if state is None else state
            starts = np.zeros(len(obs)) if episode_start is None else episode_start
            state = np.where(starts, 0, state) + 1
            return state, state

    player, obs = references.Player(Recurrent()), torch.zeros(2, 3)
    assert player.has_memory
    assert not references.Player(Model()).has_memory
    assert player.predict(obs).tolist() == [1, 1]
    player.begin_episode(torch.tensor([False, True]))
    assert player.predict(obs).tolist() == [2, 1]
    player.begin_episode()
    assert player.predict(obs).tolist() == [1, 1]
