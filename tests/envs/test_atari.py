"""Atari: its wrappers, its rewards in training and evaluation, and its pictures."""

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from yieldrl.core import Config
from yieldrl.envs import make, make_eval

pytest.importorskip("ale_py", reason="ale-py is not installed: yieldrl[atari]")


PONG = "ALE/Pong-v5"


def config_of(**kwargs):
    return Config(num_envs=2, eval_episodes=2, env_kwargs=kwargs)


def test_pictures_of_84_pixels_and_the_end_of_an_episode():
    envs = make(PONG, config_of(max_num_frames_per_episode=60))
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert envs.single_observation_space == Box(0, 255, (4, 84, 84), np.uint8)
    obs, _ = envs.reset(seed=1)
    assert (obs.shape, obs.dtype) == ((2, 4, 84, 84), np.uint8)
    ended = 0
    for _ in range(40):
        obs, _, terminated, truncated, info = envs.step(np.array([2, 3]))
        ends = terminated | truncated
        if ends.any():
            ended += ends.sum()
            final_obs = np.stack(list(info["final_obs"][ends]))
            assert final_obs.shape[1:] == (4, 84, 84)
            assert (final_obs != obs[ends]).any(), "the end, not the new beginning"
    assert ended >= 2


def test_scores_are_clipped_in_training_and_counted_in_evaluation():
    source = "ALE/MsPacman-v5"  # ten points a pellet
    again = make_eval(make(source, config_of(noop_max=1)), config_of())
    best = []
    for envs in (make(source, config_of()), make_eval(source, config_of()), again):
        envs.reset(seed=1)
        best.append(max(envs.step(np.full(2, 3))[1].max() for _ in range(100)))
    assert best[0] == 1
    assert min(best[1:]) >= 10
    assert again.spec.kwargs["noop_max"] == 1


@pytest.mark.slow
def test_games_can_be_watched_as_they_were_played(monkeypatch):
    config = config_of(repeat_action_probability=0.5, full_action_space=True)
    training = make(PONG, config)
    for source in (PONG, training):
        envs = make_eval(source, config, num_envs=1, render_mode="rgb_array")
        assert envs.single_observation_space == training.single_observation_space
        assert envs.single_action_space == training.single_action_space
        plain = make_eval(source, config, num_envs=1)
        for one in (envs, plain):
            one.reset(seed=1)
        for _ in range(15):
            (frame,) = envs.render()
            assert frame.shape == (210, 160, 3)
            action = envs.action_space.sample()
            watched, played = envs.step(action), plain.step(action)
            for actual, expected in zip(watched[:4], played[:4], strict=True):
                np.testing.assert_array_equal(actual, expected)
            # The picture is that of the game which the agent sees.
            rows, columns = (np.linspace(0, n - 1, 84).astype(int) for n in (210, 160))
            grey = envs.render()[0].mean(-1)[rows][:, columns]
            seen = watched[0][0, -1]
            assert np.corrcoef(grey.ravel(), seen.ravel())[0, 1] > 0.9
    # Without a seed too: a game begins with up to 30 idle frames, by chance.
    frames, game = [], type(envs.pictures.unwrapped)
    reset = game.reset

    def noted(self, **kwargs):
        obs, info = reset(self, **kwargs)
        frames.append(tuple(info["episode_frame_number"]))
        return obs, info

    monkeypatch.setattr(game, "reset", noted)
    for _ in range(6):
        envs.reset()
    assert frames[::2] == frames[1::2]
    assert len(set(frames)) > 1
