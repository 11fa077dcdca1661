"""Groups of environments that begin together: exact steps, in every autoreset mode."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import Tensor
from worlds import Idle, Lasting, OneLasting, goes_on_bitwise

from yieldrl.buffers import RolloutBuffer
from yieldrl.collectors import SyncCollector
from yieldrl.collectors.statistics import mean_episode
from yieldrl.collectors.stepping import Stepper
from yieldrl.core import Config
from yieldrl.envs import SerialVectorEnv, TorchVectorEnv, make_eval
from yieldrl.envs.processes import ProcessVectorEnv
from yieldrl.envs.wrappers import (
    ActionChunks,
    BatchWrapper,
    GroupStarts,
    HiddenParameters,
    TimeLimit,
)
from yieldrl.envs.wrappers.chunks import longest_episode

SAME_STEP = AutoresetMode.SAME_STEP


def lasting(kind, mode=SAME_STEP):
    functions = [partial(OneLasting, 2 + i) for i in range(4)]
    if kind == "torch":
        return Lasting(4, autoreset_mode=mode)
    if kind == "serial":
        return SerialVectorEnv(functions)
    if kind == "process":
        return ProcessVectorEnv(functions, seed=0)
    return SyncVectorEnv(functions, autoreset_mode=mode)


class Still(Idle):
    def sample(self, obs):
        return np.zeros(4, np.float32), {}


def cartpoles(kind):
    make = partial(gym.make, "CartPole-v1")
    if kind == "torch":
        return gym.make_vec("yieldrl/CartPole-v1", num_envs=4)
    return SerialVectorEnv([make] * 4)


ALL = pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("torch", SAME_STEP),
        ("torch", AutoresetMode.NEXT_STEP),
        ("sync", AutoresetMode.DISABLED),
        ("serial", SAME_STEP),
    ],
)


def played(envs, count):
    """What a `Stepper` sees of so many steps, with the observations acted on."""
    stepper = Stepper(envs)
    obs, found = stepper.reset(7), []
    for _ in range(count):
        action = np.zeros(4, np.float32)
        tensors = isinstance(obs, Tensor)
        step = stepper.step(torch.from_numpy(action) if tensors else action)
        found.append(step._replace(action=obs))
        obs = step.obs
    return found


def listed(steps, name):
    return [np.asarray(step.info.get(name)).tolist() for step in steps]


def rows(*columns):
    """Columns of marks, `x` for True, as rows."""
    return [[mark == "x" for mark in row] for row in zip(*columns, strict=True)]


@ALL
def test_members_wait_for_their_group_and_then_begin_together(kind, mode):
    envs = GroupStarts(lasting(kind, mode), group_size=2, num_steps=10)
    envs.horizon = 5
    steps = played(envs, 20)
    # Groups of lengths (2, 3) and (4, 5): the first has no five steps left at row 6.
    valid = "xx.xx.....", "xxxxxx....", "xxxx.xxxx.", "xxxxxxxxxx"
    begins = "x..x......", "x..x......", "x....x....", "x....x...."
    ends = ".x..x.....", "..x..x....", "...x....x.", "....x....x"
    assert [np.asarray(step.valid).tolist() for step in steps] == 2 * rows(*valid)
    assert listed(steps, "valid") == 2 * rows(*valid)
    assert listed(steps, "begins") == 2 * rows(*begins)
    assert listed(steps, "ends") == 2 * rows(*ends)
    ended = [np.asarray(step.terminated).tolist() for step in steps]
    assert ended == 2 * rows(*ends)
    assert not any(np.asarray(step.truncated).any() for step in steps)
    episodes = np.array(listed(steps, "episode"))
    assert episodes[:10, 0].tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    assert episodes[:10, 3].tolist() == [0] * 5 + [1] * 5
    assert (episodes[10:] == episodes[:10] + 2).all()
    rewards = np.array([np.asarray(step.reward) for step in steps])
    assert rewards[:10, 0].tolist() == [1, 2, 0, 1, 2, 0, 0, 0, 0, 0]
    assert rewards[:10, 2].tolist() == [1, 2, 3, 4, 0, 1, 2, 3, 4, 0]
    for step in steps:  # the last observation is that of the episode
        obs, after = np.asarray(step.action), np.asarray(step.next_obs)
        valid = np.asarray(step.valid)
        assert (after[valid, 1] == obs[valid, 1] + 1).all()
        assert (after[valid, 0] == obs[valid, 0]).all()
    starts = {0: set(), 1: set()}
    for step in steps:  # a group begins from one state, and others from others
        for group, members in ((0, slice(0, 2)), (1, slice(2, 4))):
            begun = np.asarray(step.info["begins"])[members]
            assert begun[0] == begun[1]
            if begun[0]:
                obs = np.asarray(step.action)[members]
                assert obs[0].tolist() == obs[1].tolist()
                assert obs[0, 1] == 0
                starts[group].add(float(obs[0, 0]))
    assert [len(found) for found in starts.values()] == [4, 4]
    assert not starts[0] & starts[1]
    again = GroupStarts(lasting(kind, mode), group_size=2, num_steps=10)
    again.horizon = 5
    same = played(again, 14)[13].next_obs
    assert np.asarray(same).tolist() == np.asarray(steps[13].next_obs).tolist()


@pytest.mark.parametrize(
    "kind", ["serial", pytest.param("process", marks=pytest.mark.slow)]
)
def test_without_a_known_limit_a_round_has_one_episode(kind):
    envs = GroupStarts(lasting(kind), group_size=2, num_steps=6)
    assert envs.horizon is None
    steps = played(envs, 12)
    envs.close()
    valid = "xx....", "xxx...", "xxxx..", "xxxxx."
    assert listed(steps, "valid") == 2 * rows(*valid)
    for step in (steps[0], steps[6]):
        assert step.action[0].tolist() == step.action[1].tolist()
        assert step.action[2].tolist() == step.action[3].tolist()
        assert step.action[1].tolist() != step.action[2].tolist()


@ALL
def test_what_has_not_ended_in_time_is_cut(kind, mode):
    envs = GroupStarts(lasting(kind, mode), group_size=2, num_steps=4)
    steps = played(envs, 8)
    for last in (steps[3], steps[7]):
        assert np.asarray(last.truncated).tolist() == [False, False, False, True]
        assert np.asarray(last.terminated).tolist() == [False, False, True, False]
        assert np.asarray(last.info["ends"]).tolist() == [False, False, True, False]
        assert np.asarray(last.next_obs)[3, 1] == 4
    assert np.asarray(steps[4].info["begins"]).all()


@pytest.mark.parametrize("kind", ["torch", "serial"])
def test_every_episode_is_reported_once_and_waiting_never(kind):
    envs = GroupStarts(lasting(kind), group_size=2, num_steps=10)
    envs.horizon = 5
    spaces = envs.single_observation_space, envs.single_action_space
    buffer = RolloutBuffer(20, *spaces, num_envs=4)
    collector = SyncCollector(envs, Still(), buffer, seed=0)
    logs = [collector.step() for _ in range(20)]
    assert mean_episode([*logs, collector.report()]) == {
        "episodes": 16,
        "episode_length": (2 + 3 + 4 + 5) / 4,
        "episode_return": (3 + 6 + 10 + 15) / 4,
    }
    rollout = buffer.rollout()
    assert rollout["valid"].sum() == 2 * 2 * (2 + 3 + 4 + 5)
    assert {"valid", "episode", "begins", "ends"} <= set(rollout.keys())
    assert rollout["episode"].dtype == torch.int64


def test_chunks_count_as_steps_and_groups_go_around_them():
    inside = gym.make_vec("yieldrl/CartPole-v1", num_envs=4)
    envs = GroupStarts(ActionChunks(inside, length=4), group_size=2, num_steps=130)
    assert envs.horizon == 125
    obs, _ = envs.reset(seed=0)
    assert torch.equal(obs[0], obs[1])
    assert not torch.equal(obs[1], obs[2])
    valid, ones = [], torch.ones(4, 4, dtype=torch.int64)
    for _ in range(130):
        obs, *_, info = envs.step(ones)
        valid.append(info["valid"])
        assert (info["num_steps"][info["valid"]] > 0).all()
    assert (torch.stack(valid).sum(0) >= 2 * 2).all(), "begun again within five steps"
    assert torch.equal(obs[0], obs[1])


def test_groups_share_hidden_parameters():
    inside = gym.make_vec("yieldrl/Pendulum-v1", num_envs=4)
    hidden = HiddenParameters(inside, {"mass": (0.5, 1.5)})
    envs = GroupStarts(hidden, group_size=2, num_steps=200)
    envs.reset(seed=0)
    first, second, third, _ = hidden.parameters[0]
    assert first == second != third


def actions(count):
    chance = torch.Generator().manual_seed(3)
    return [torch.randint(2, (4,), generator=chance) for _ in range(count)]


def test_a_restored_world_goes_on_bitwise():
    made = lambda: GroupStarts(cartpoles("torch"), group_size=2, num_steps=60)  # noqa: E731
    goes_on_bitwise(made, actions(150), 70)


def test_environments_without_a_state_wait_for_the_next_round():
    """They begin anew, and their rounds stay those of the rollouts."""
    envs = GroupStarts(cartpoles("serial"), group_size=2, num_steps=12)
    envs.horizon = None
    envs.reset(seed=5)
    for action in actions(5):
        envs.step(action.numpy())
    other = GroupStarts(cartpoles("serial"), group_size=2, num_steps=12)
    other.horizon = None
    other.load_state_dict(envs.state_dict())
    other.reset(seed=9)
    answers = [other.step(action.numpy())[4]["valid"] for action in actions(9)]
    assert [valid.any() for valid in answers] == [False] * 7 + [True] * 2
    other.horizon = 3
    other.reset()
    assert other.step(actions(1)[0].numpy())[4]["valid"].all(), "there is time left"


def test_another_reset_has_other_starts_and_a_seed_the_same():
    envs = GroupStarts(cartpoles("torch"), group_size=2, num_steps=60)
    first, again, other = (envs.reset(seed=s)[0] for s in (1, None, 1))
    assert torch.equal(first, other)
    assert not torch.equal(first, again)
    several, same = (envs.reset(seed=[1, 2, 3, 4])[0] for _ in range(2))
    assert torch.equal(several, same)
    assert not torch.equal(several, first)


def test_how_long_an_episode_may_be():
    assert longest_episode(cartpoles("torch")) == 500
    assert longest_episode(cartpoles("serial")) == 500
    assert longest_episode(lasting("sync")) is None
    short = partial(gym.make, "CartPole-v1", max_episode_steps=32)
    both = SerialVectorEnv([short, partial(gym.make, "CartPole-v1")])
    assert longest_episode(both) == 500
    unlimited = gym.envs.classic_control.CartPoleEnv
    assert longest_episode(SerialVectorEnv([short, unlimited])) is None
    assert longest_episode(BatchWrapper(SerialVectorEnv([short]))) == 32
    assert longest_episode(TimeLimit(cartpoles("torch"), 7)) == 7
    assert longest_episode(TimeLimit(lasting("serial"), 7)) == 7
    chunks = ActionChunks(cartpoles("torch"), 8, execute=6)
    assert longest_episode(chunks) == 84  # 83 chunks are 498 steps


def test_evaluation_goes_without():
    envs = GroupStarts(cartpoles("torch"), group_size=2, num_steps=60)
    other = make_eval(envs, Config(eval_episodes=3))
    assert isinstance(other, TorchVectorEnv)
    assert other.num_envs == 3
