"""JSON policies do what `agent.predict` does, and what JSON cannot say is refused."""

import json

import gymnasium as gym
import numpy as np
import pytest
import torch
from exported import GO_TO, NARROW, observations, trainer
from gymnasium.spaces import Box, Discrete
from worlds import Follow

from yieldrl.algorithms import (
    dqn,
    dueling_dqn,
    ppo,
    ppo_lstm,
    ppo_masked,
    q_learning,
    rainbow,
    sac,
    sac_discrete,
    td3,
)
from yieldrl.exports import JsonPolicy, describe, write_json
from yieldrl.exports.json_file import NotExportableError

BREAKOUT = "yieldrl/MinAtar-Breakout-v1"


def from_1_to_5():
    return Follow(center=3.0, half_width=2.0)


CASES = {
    "ppo of numbers": (ppo, "Pendulum-v1", {**NARROW, "normalize_observation": True}),
    "ppo of pictures and words": (ppo, GO_TO, NARROW),
    "dqn": (dqn, "CartPole-v1", NARROW),
    "dqn of pictures": (dqn, BREAKOUT, NARROW),
    "dueling dqn": (dueling_dqn, "Acrobot-v1", NARROW),
    "rainbow": (rainbow, "CartPole-v1", NARROW),
    "td3": (td3, "Pendulum-v1", NARROW),
    "sac": (sac, "Pendulum-v1", NARROW),
    "sac around 3": (sac, "from_1_to_5", {**NARROW, "envs": from_1_to_5}),
    "discrete sac": (sac_discrete, "CartPole-v1", NARROW),
    "table of a taxi": (q_learning, "Taxi-v4", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_file_acts_as_the_agent_does(name, tmp_path):
    module, env_id, fields = CASES[name]
    with trainer(module, env_id, **fields) as made:
        path = write_json(made.agent, tmp_path / "policy.json", why="a test")
        obs = observations(made.model.observation_space, 500)
        expected = made.agent.predict(obs)
    found = JsonPolicy.load(path).predict(obs)
    assert found.shape == expected.shape
    assert len(np.unique(found)) > 1
    if found.dtype.kind == "i":
        assert np.mean(found == expected) > 0.995  # two may be as good to rounding
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    said = json.loads(path.read_text())
    assert (said["env_id"], said["sample_step"], said["learn_step"]) == (env_id, 0, 0)
    assert said["notes"] == {"why": "a test"}


def test_infinite_bounds_are_none_and_each_number_has_its_own():
    low, high = np.array([-np.inf, -1.0]), np.array([2.0, np.inf])
    bounds = Box(low, high, dtype=np.float64)

    class Arm(gym.Env):
        observation_space = Box(-9, 9, (3,))
        action_space = bounds

    with trainer(ppo, "Arm", envs=Arm, **NARROW) as made:
        policy = describe(made.agent)
        obs = observations(Arm.observation_space, 200)
        expected = made.agent.predict(obs)
    output = policy["output"]
    assert (output["low"], output["high"]) == ([None, -1.0], [2.0, None])
    found = JsonPolicy(policy).predict(obs)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "highs"), [((10, 9, 2), (1, 200)), ((2, 10, 9), (1, 200))]
)
def test_images_are_divided_by_their_bounds_in_a_file_too(shape, highs):
    bounds = np.array(highs).reshape([2 if size == 2 else 1 for size in shape])
    high = np.broadcast_to(bounds, shape)

    class Game(gym.Env):
        observation_space = Box(0 * high, high, dtype=np.int64)
        action_space = Discrete(5)

    with trainer(dqn, "Game", envs=Game, **NARROW) as made:
        obs = observations(Game.observation_space, 200)
        expected = made.agent.predict(obs)
        found = JsonPolicy(describe(made.agent)).predict(obs)
    assert len(np.unique(found)) > 1
    assert np.mean(found == expected) > 0.99


def test_what_has_no_words_in_json_says_what_to_do():
    cases = [
        (ppo_lstm, "CartPole-v1", "remembers its episode"),
        (ppo_masked, "Taxi-v4", "choose --to onnx"),
    ]
    for module, env_id, message in cases:
        with (
            trainer(module, env_id) as made,
            pytest.raises(NotExportableError, match=message),
        ):
            describe(made.agent)


def test_a_model_that_does_something_else_is_not_written_down_wrongly():
    class Contrary(ppo.Model):
        """Does what its layers say for half of the observations."""

        def actor_output(self, features, obs):
            output = super().actor_output(features, obs)
            return torch.where(obs[:, :1] > 0, output, -output)

    config = ppo.Config(device="cpu")
    with (
        ppo.Trainer(config, model=Contrary) as made,
        pytest.raises(NotExportableError, match="Contrary computes something"),
    ):
        describe(made.agent)


def test_an_actor_of_pytorchs_own_layers_is_written_too():
    class Own(ppo.Model):
        def __init__(self, observation_space, action_space, config):
            super().__init__(observation_space, action_space, config)
            layers = torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
            self.actor = torch.nn.Sequential(*layers)

    with ppo.Trainer(ppo.Config(device="cpu"), model=Own) as made:
        obs = observations(made.model.observation_space, 200)
        expected = made.agent.predict(obs)
        policy = describe(made.agent)
    assert np.mean(JsonPolicy(policy).predict(obs) == expected) > 0.99
    with pytest.raises(ValueError, match="this reads 'yieldrl-policy', version 1"):
        JsonPolicy({**policy, "version": 2})
