"""Atari: its wrappers, its rewards in training and evaluation, and its pictures."""

import dataclasses

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from yieldrl.envs import make, make_eval
from yieldrl.foundations import Config

pytest.importorskip("ale_py", reason="ale-py is not installed: yieldrl[atari]")


def config_of(**kwargs):
    return Config(**{"num_envs": 2, "eval_episodes": 2, **kwargs})


@pytest.fixture
def pong():
    config = config_of(env_kwargs={"max_num_frames_per_episode": 60})
    return "ALE/Pong-v5", config


def test_atari(pong):
    envs = make(*pong)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert envs.single_observation_space == Box(0, 255, (4, 84, 84), np.uint8)
    obs, _ = envs.reset(seed=1)
    assert obs.shape == (2, 4, 84, 84)
    assert obs.dtype == np.uint8
    ended = 0
    for _ in range(40):
        obs, reward, terminated, truncated, info = envs.step(np.array([2, 3]))
        ends = terminated | truncated
        if ends.any():
            ended += ends.sum()
            final_obs = np.stack(list(info["final_obs"][ends]))
            assert final_obs.shape[1:] == (4, 84, 84)
            assert (final_obs != obs[ends]).any(), "the end, not the new beginning"
    assert ended >= 2
    assert reward.shape == (2,)
    envs.close()


def test_atari_scores_are_clipped_in_training_and_counted_in_evaluation():
    config = config_of()
    source = "ALE/MsPacman-v5"  # ten points a pellet
    training, evaluation = make(source, config), make_eval(source, config)
    trained_on = make(source, dataclasses.replace(config, env_kwargs={"noop_max": 1}))
    again = make_eval(trained_on, config)
    best = []
    for envs in (training, evaluation, again):
        envs.reset(seed=1)
        rewards = [envs.step(np.full(2, 3))[1].max() for _ in range(100)]
        best.append(max(rewards))
        envs.close()
    assert best[0] == 1
    assert best[1] >= 10
    assert best[2] >= 10
    assert again.spec.kwargs["noop_max"] == 1
    trained_on.close()


@pytest.mark.slow
def test_atari_can_be_watched_as_it_was_played(pong):
    env_id, config = pong
    kwargs = {"repeat_action_probability": 0.5, "full_action_space": True}
    config = dataclasses.replace(config, env_kwargs=kwargs)
    training = make(env_id, config)
    brown = [144, 72, 17]  # Pong's table
    for source in (env_id, training):
        envs = make_eval(source, config, num_envs=1, render_mode="rgb_array")
        assert envs.single_observation_space == training.single_observation_space
        assert envs.single_action_space == training.single_action_space
        assert envs.metadata["render_fps"] == 15
        plain = make_eval(source, config, num_envs=1)
        for one in (envs, plain):
            one.reset(seed=1)
        for _ in range(15):
            (frame,) = envs.render()
            assert frame.shape == (210, 160, 3)
            assert frame[150, 80].tolist() == brown
            action = envs.action_space.sample()
            watched, played = envs.step(action), plain.step(action)
            for actual, expected in zip(watched[:4], played[:4], strict=True):
                np.testing.assert_array_equal(actual, expected)
            # The picture is that of the game which the agent sees.
            rows, columns = (np.linspace(0, n - 1, 84).astype(int) for n in (210, 160))
            grey = envs.render()[0].mean(-1)[rows][:, columns]
            seen = watched[0][0, -1]
            assert np.corrcoef(grey.ravel(), seen.ravel())[0, 1] > 0.9
        envs.close()
        plain.close()
    training.close()


@pytest.mark.slow
def test_the_picture_is_of_the_same_game_without_a_seed_too(pong, monkeypatch):
    """A game begins with up to 30 idle frames, by chance."""
    envs = make_eval(*pong, num_envs=2, render_mode="rgb_array")
    frames = []
    reset = type(envs.pictures.unwrapped).reset

    def watched(self, **kwargs):
        obs, info = reset(self, **kwargs)
        frames.append(tuple(info["episode_frame_number"]))
        return obs, info

    monkeypatch.setattr(type(envs.pictures.unwrapped), "reset", watched)
    for _ in range(6):
        envs.reset()
    assert frames[::2] == frames[1::2]
    assert len(set(frames)) > 1
    envs.close()
