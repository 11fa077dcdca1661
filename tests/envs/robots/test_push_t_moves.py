"""Push-T, also seen from the T, with tables on which nothing moves but by hand."""

from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from yieldrl.benchmarks.experts.push_t import PushTExpert, place_to_push
from yieldrl.envs.robots import PushT, PushTMoves
from yieldrl.envs.robots import push_t as rule
from yieldrl.envs.robots.push_t import MOVES


class Table(gym.Env):
    """The disk is at once where it is sent to; the T goes where `next_pose` says."""

    observation_space = Box(0, 512, (5,), np.float64)
    action_space = Box(0, 512, (2,), np.float32)

    def __init__(self):
        self.agent = SimpleNamespace(position=(100.0, 200.0), velocity=(0.0, 64.0))
        self.block = SimpleNamespace()
        self.next_pose = None
        self.place(rule.GOAL)

    def place(self, pose):
        self.block.position, self.block.angle = tuple(pose[:2]), pose[2]

    def reset(self, *, seed=None, options=None):
        return np.zeros(5), {}

    def step(self, action):
        self.agent.position = tuple(action)
        done = self.next_pose is not None
        if done:
            self.place(self.next_pose)
        return np.zeros(5), 0.4, done, False, {"is_success": done}


def test_a_t_at_home_sees_the_goal_in_itself():
    env = PushTMoves(Table())
    obs, _ = env.reset(seed=0)
    assert obs.dtype == np.float32
    assert obs[2:6] == pytest.approx([0, 0, 0, 1], abs=1e-6)
    up = np.array([np.sin(np.pi / 4), np.cos(np.pi / 4)])  # of the table, from the T
    assert obs[6:] == pytest.approx(64 / 256 * up)


def test_what_is_seen_does_not_change_with_the_table():
    """Disk, T and goal turned and moved together: only the goal stays where it is."""
    table = Table()
    env, disk = PushTMoves(table), np.array([40.0, -30.0])
    seen = []
    for turn in (0.0, 1.3):
        pose = np.array([300.0, 150, rule.GOAL[2] + turn])
        table.place(pose)
        table.agent.position = tuple(rule.to_table(rule.CENTRE + disk, pose))
        seen.append(env.reset()[0])
    assert seen[0][:2] == pytest.approx(disk / 128, abs=1e-6)
    assert seen[1][:2] == pytest.approx(disk / 128, abs=1e-6)
    assert seen[1][4:6] == pytest.approx([np.sin(-1.3), np.cos(-1.3)])


def test_moves_are_in_the_frame_of_the_t_and_end_at_the_table():
    table = Table()
    env = PushTMoves(table)
    table.place([256, 256, np.pi / 2])
    env.reset()
    along = int(((MOVES - (20, 0)) ** 2).sum(1).argmin())  # the T's x is the table's y
    env.step(along)
    assert table.agent.position == pytest.approx((100, 220))
    table.agent.position = 100.0, 500.0
    env.step(along)
    assert table.agent.position == pytest.approx((100, 512))
    assert len(np.unique(MOVES.round(6), axis=0)) == env.action_space.n == 36


def test_the_reward_says_what_was_gained():
    table = Table()
    env = PushTMoves(table)
    table.place(rule.GOAL + np.array([30, 40, 0]))  # each corner is 50 pixels away
    env.reset()
    assert env.step(0)[1] == pytest.approx(0.4 - 1)
    table.next_pose = rule.GOAL + np.array([6, 8, 0])
    _, reward, terminated, truncated, info = env.step(0)
    assert reward == pytest.approx(0.4 - 1 + 0.1 * 40 + 10)
    assert (terminated, truncated, info) == (True, False, {"is_success": True})


def test_its_expert_means_what_the_rule_means():
    table = Table()
    env = PushTExpert(PushTMoves(table))
    for pose in ([200, 300, 0.2], [300, 200, 2.0], [256, 180, -1.0]):
        table.place(np.array(pose, np.float64))
        env.reset()
        disk = np.array(table.agent.position)
        wanted = place_to_push(disk, np.array(pose, np.float64)) - disk
        move = rule.rotated(MOVES[env.expert()], pose[2])
        cosine = move @ wanted / np.linalg.norm(move) / np.linalg.norm(wanted)
        assert cosine > np.cos(np.pi / 12) - 1e-9


class Pushing(Table):
    """Its state is where it is sent, and so on, as that of Push-T."""

    def reset(self, *, seed=None, options=None):
        return np.array([256.0, 0, 512, 384, np.pi / 2]), {}

    def step(self, action):
        return np.array([*action, 0, 0, np.pi]), 0.5, False, True, {"is_success": False}


def test_push_t_counts_in_halves_of_its_table():
    env = PushT(Pushing())
    obs, _ = env.reset(seed=0)
    assert obs == pytest.approx([0, -1, 1, 0.5, 1, 0], abs=1e-6)
    obs, *rest = env.step(np.array([0.25, -1], np.float32))
    assert obs == pytest.approx([0.25, -1, -1, -1, 0, -1], abs=1e-6)
    assert obs.dtype == np.float32
    assert rest == [0.5, False, True, {"is_success": False}]
    for wrapper, said in ((PushT, "state is 5"), (PushTMoves, "put PushTMoves around")):
        with pytest.raises(ValueError, match=said):
            wrapper(gym.make("CartPole-v1"))
