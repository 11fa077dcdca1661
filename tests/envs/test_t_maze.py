"""The T-maze's rules one by one, that it takes a memory, and its single form."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.envs import t_maze
from yieldrl.envs.t_maze import EAST, NORTH, SOUTH, WEST, TMazeVectorEnv

NORTH_SIGN, SOUTH_SIGN, CORRIDOR, JUNCTION = [0, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 0]


def maze_of(num_envs=2, **kwargs):
    """Mazes whose goals are north and south in turn."""
    envs = TMazeVectorEnv(num_envs, **kwargs)
    envs.reset(seed=0)
    envs.state[1] = (torch.arange(num_envs) + 1) % 2
    return envs


def step(envs, *action):
    obs, reward, terminated, truncated, _ = envs.step(torch.tensor(action))
    reward = [round(r, 6) for r in reward.tolist()]
    return obs.int().tolist(), reward, terminated.tolist(), truncated.tolist()


class Maze:
    """The rules again, one maze at a time and without arithmetic on flags."""

    def __init__(self, length, north):
        self.length, self.north, self.position = length, north, 0

    def step(self, action):
        if self.position == self.length and action in (NORTH, SOUTH):
            return None, float((action == NORTH) == self.north), True
        before = self.position
        if action == EAST:
            self.position = min(self.position + 1, self.length)
        if action == WEST:
            self.position = max(self.position - 1, 0)
        obs = JUNCTION if self.position == self.length else CORRIDOR
        return obs, -0.1 if self.position == before else 0.0, False


@settings(max_examples=50)
@given(
    length=st.integers(1, 4),
    actions=st.lists(st.tuples(*[st.integers(0, 3)] * 2), min_size=1, max_size=20),
)
def test_it_equals_the_rules(length, actions):
    envs = maze_of(length=length)
    mazes = [Maze(length, True), Maze(length, False)]
    for pair in actions:
        obs, reward, terminated, _ = step(envs, *pair)
        expected = [maze.step(a) for maze, a in zip(mazes, pair, strict=True)]
        assert reward == pytest.approx([r for _, r, _ in expected])
        assert terminated == [ended for *_, ended in expected]
        for i, (one, _, ended) in enumerate(expected):
            if ended:
                north = bool(envs.state[1, i])
                mazes[i] = Maze(length, north)
                one = NORTH_SIGN if north else SOUTH_SIGN
            assert obs[i] == one


def test_goals_are_a_fair_coin():
    envs = TMazeVectorEnv(10_000)
    obs, _ = envs.reset(seed=0)
    north = (obs == torch.tensor(NORTH_SIGN)).all(1)
    south = (obs == torch.tensor(SOUTH_SIGN)).all(1)
    assert (north ^ south).all()
    assert 4800 < north.sum() < 5200  # four standard deviations


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="length = 0"):
        TMazeVectorEnv(1, length=0)
    with pytest.raises(ValueError, match="takes 11 steps in a corridor of length = 10"):
        TMazeVectorEnv(1, max_episode_steps=10)


def test_its_picture():
    envs = maze_of(length=3, render_mode="rgb_array")
    north, south = envs.render()
    assert north.shape == (96, 128, 3)
    cells = north[::32, ::32]
    assert np.array_equal(cells[::-1], south[::32, ::32])
    assert cells[0, 0].tolist() == list(t_maze.SIGN)
    assert cells[0, 3].tolist() == list(t_maze.GOAL)
    assert cells[1, 0].tolist() == list(t_maze.AGENT)
    step(envs, EAST, WEST)
    cells = envs.render()[0][::32, ::32]
    assert cells[0, 0].tolist() == list(t_maze.WALL)
    assert cells[1].tolist()[1] == list(t_maze.AGENT)
