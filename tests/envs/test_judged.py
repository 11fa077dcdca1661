"""Rewards by a judge, with the true ones beside them, and of success alone."""

import gymnasium
import numpy as np
import pytest
import torch
from factories import train_logs, trainer_of
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from judges import time_and_action, upright
from worlds import Lasting, goes_on_bitwise

from yieldrl.algorithms import ppo
from yieldrl.core import Config
from yieldrl.envs import make_eval
from yieldrl.envs.names import find_function
from yieldrl.envs.wrappers import (
    GroupStarts,
    JudgedReward,
    SuccessReward,
    TorchToNumpy,
)


def lasting(kind="torch", mode=AutoresetMode.SAME_STEP):
    envs = Lasting(4, autoreset_mode=mode)
    return envs if kind == "torch" else TorchToNumpy(envs)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("torch", AutoresetMode.SAME_STEP),
        ("arrays", AutoresetMode.NEXT_STEP),
        ("torch", AutoresetMode.DISABLED),
    ],
)
def test_the_judge_sees_what_the_action_was_chosen_on(kind, mode):
    envs = JudgedReward(lasting(kind, mode), time_and_action)
    obs, _ = envs.reset(seed=0)
    for t in range(7):
        before = torch.as_tensor(obs).clone()
        action = np.full(4, t / 10, np.float32)
        given = torch.as_tensor(action) if kind == "torch" else action
        obs, reward, terminated, _, info = envs.step(given)
        expected = before[:, 1] + t / 1000
        assert torch.allclose(torch.as_tensor(reward).float(), expected)
        assert isinstance(reward, type(obs))
        assert isinstance(info["true_reward"], type(obs))
        if t == 0:
            assert info["true_reward"].tolist() == [1.0] * 4
        if mode is AutoresetMode.DISABLED and (ended := terminated).any():
            obs, _ = envs.reset(options={"reset_mask": ended})


def test_groups_begin_around_it():
    envs = GroupStarts(JudgedReward(lasting("torch"), time_and_action), 2, 6)
    envs.reset(seed=0)
    rewards, times = [], []
    for _ in range(6):
        _, reward, *_, info = envs.step(torch.zeros(4))
        rewards.append(reward.tolist())
        times.append(info["true_reward"].tolist())
    assert [row[0] for row in rewards[:3]] == [0, 1, 0]  # of two steps, then it waits
    assert [row[3] for row in rewards[:5]] == [0, 1, 2, 3, 4]
    assert times[1][3] == 2


def test_what_was_seen_is_saved():
    made = lambda: JudgedReward(lasting("torch"), time_and_action)  # noqa: E731
    goes_on_bitwise(made, [torch.zeros(4)] * 9, 1)


def test_any_algorithm_learns_on_it():
    envs = JudgedReward(gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=4), upright)
    logs = train_logs(trainer_of(ppo, envs=envs, total_steps=64))
    assert logs[0]["logs"]["true_reward"] == 1.0
    assert logs[0]["logs"]["judged_reward"] < 0
    assert not isinstance(make_eval(envs, Config()), JudgedReward)
    envs = JudgedReward(lasting("torch"), lambda obs, action: obs)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"\(4, 2\), and must be \(4,\)"):
        envs.step(torch.zeros(4))


def test_a_judge_is_found_by_its_name():
    assert find_function("judge", "judges:upright", "(obs, action)") is not None
    for name in ("judges:nobody", "upright", ":", "no_such_module:f"):
        with pytest.raises(ValueError, match="name my_module:function"):
            find_function("judge", name, "(obs, action)")


class Falling(gymnasium.Env):
    """A height that falls by 1 a step to 0; rewards everywhere, success at the end."""

    observation_space = Box(0, 99, (1,), np.float32)
    action_space = Box(-1, 1, (2,))

    def __init__(self, silent=False):
        self.silent = silent

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.height = 5.0
        return np.array([self.height], np.float32), {}

    def step(self, action):
        self.height -= 1
        ended = self.height == 0
        info = {} if self.silent else {"success": bool(ended and action[0] > 0)}
        return np.array([self.height], np.float32), 7.0, ended, False, info


def test_only_an_end_in_success_is_rewarded():
    for mode in AutoresetMode:
        envs = SuccessReward(SyncVectorEnv([Falling, Falling], autoreset_mode=mode))
        envs.reset(seed=0)
        actions = np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32)
        rewards = [envs.step(actions)[1].tolist() for _ in range(5)]
        assert rewards == [[0, 0]] * 4 + [[1, 0]]


def test_tensors_are_rewarded_likewise():
    go = gymnasium.make_vec("yieldrl/GoTo-v1", num_envs=32, wrong_reward=-0.5)
    envs = SuccessReward(go)
    envs.reset(seed=0)
    generator, seen = torch.Generator().manual_seed(0), set()
    for _ in range(30):
        action = torch.randint(4, (32,), generator=generator)
        _, reward, terminated, _, info = envs.step(action)
        assert torch.equal(reward, (info["success"] & terminated).float())
        seen |= set(reward.tolist())
    assert seen == {0.0, 1.0}


def test_who_does_not_say_what_a_success_is_is_refused():
    envs = SuccessReward(SyncVectorEnv([lambda: Falling(silent=True)]))
    envs.reset(seed=0)
    actions = np.zeros((1, 2), np.float32)
    for _ in range(4):
        assert envs.step(actions)[1].tolist() == [0]
    with pytest.raises(ValueError, match="does not say in its info what a success is"):
        envs.step(actions)
