"""Chunks of actions: one decision sums up the steps that were really taken."""

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import trainer_of
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from worlds import blind, goes_on_bitwise

from yieldrl.algorithms import ppo
from yieldrl.collectors.stepping import Stepper
from yieldrl.core import Config
from yieldrl.envs import SerialVectorEnv, TorchVectorEnv, make_eval
from yieldrl.envs.conformance import _NoWaiting
from yieldrl.envs.wrappers import ActionChunks, EpisodeStatistics, FrameStack, TimeLimit

SAME_STEP, NEXT_STEP = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP
DISABLED = AutoresetMode.DISABLED
LIMIT = 5
STOP = 9


class TorchSum(TorchVectorEnv):
    """Observation `[step, sum of actions]`; the reward is the action, and 9 stops."""

    single_observation_space = Box(-1000, 1000, (2,))
    single_action_space = Discrete(10)
    noise_size = 1

    def __init__(self, num_envs=1, **kwargs):
        super().__init__(num_envs, **{"max_episode_steps": LIMIT, **kwargs})

    def initial_state(self, noise):
        return torch.zeros_like(noise).repeat(2, 1)

    def dynamics(self, state, action):
        state = torch.stack((state[0] + 1, state[1] + action))
        return state, action.float(), action == STOP

    def step(self, actions):
        obs, reward, terminated, truncated, info = super().step(actions)
        return obs, reward, terminated, truncated, {**info, "success": terminated}


class NumpySum(gym.Env[Any, Any]):
    """A single environment that sums as `TorchSum` does."""

    info_keys = ("success",)
    observation_space = Box(-1000, 1000, (2,))
    action_space = Discrete(10)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.obs = np.zeros(2, np.float32)
        return self.obs, {}

    def step(self, action):
        self.obs = self.obs + np.array([1, action], np.float32)
        ended = bool(action == STOP)
        return self.obs, float(action), ended, self.obs[0] >= LIMIT, {"success": ended}


def sums(kind, count, mode=SAME_STEP):
    functions = [NumpySum] * count
    if kind in ("torch", "blind"):
        envs = TorchSum(count, autoreset_mode=mode)
        return blind(envs) if kind == "blind" else envs
    if kind == "serial":
        return SerialVectorEnv(functions)
    return SyncVectorEnv(functions, autoreset_mode=mode, copy=kind == "sync")


def chunked(kind, count, mode, *args, **kwargs):
    envs = ActionChunks(sums(kind, count, mode), *args, **kwargs)
    return blind(envs) if kind == "blind" else envs


def played(envs, chunks):
    """What a `Stepper` sees, of chunks `[T, N, L]`."""
    stepper = Stepper(envs)
    obs = stepper.reset(0)
    steps = []
    for chunk in np.asarray(chunks):
        step = stepper.step(torch.tensor(chunk) if isinstance(obs, Tensor) else chunk)
        step = step._replace(reward=step.reward + 0, next_obs=step.next_obs + 0)
        steps.append(step._replace(obs=step.obs + 0))
    return steps


@pytest.mark.parametrize("kind", ["torch", "blind", "serial"])
def test_the_reward_of_each_action_and_the_dtypes(kind):
    """Three are executed of four: stopped at the first, at none, and cut."""
    options = {"execute": 3, "gamma": 0.5, "each_reward": True}
    envs = chunked(kind, 2, SAME_STEP, 4, **options)
    chunks = [[[9, 1, 9, 9], [1, 2, 3, 4]], [[1, 1, 1, 1], [4, 5, 6, 7]]]
    a, b = played(envs, chunks)
    assert a.info["rewards"].tolist() == [[9, 0, 0, 0], [1, 2, 3, 0]]
    assert b.info["rewards"].tolist() == [[1, 1, 1, 0], [4, 5, 0, 0]]
    number = "float64" if kind == "serial" else "float32"
    dtypes = {"reward": number, "discount": "float32", "num_steps": "int64"}
    assert envs.recorded_info == (*dtypes, "rewards")
    for name, dtype in dtypes.items():
        assert isinstance(a.info[name], np.ndarray if kind == "serial" else Tensor)
        assert str(a.info[name].dtype).removeprefix("torch.") == dtype
    assert a.reward.dtype == a.info["reward"].dtype
    assert "rewards" not in ActionChunks.recorded_info


def slowly(chunks, execute, gamma):
    """Each decision of one environment `[T, L]`: what it led to, by the definition."""
    time = total = 0
    over, told = False, []
    for chunk in chunks:
        reward = discounted = taken = 0
        over = cut = stopped = False
        while taken < execute and not over:
            action = chunk[taken]
            time, total = time + 1, total + action
            reward, discounted = reward + action, discounted + gamma**taken * action
            taken += 1
            stopped, cut = action == STOP, time >= LIMIT
            over = stopped or cut
        last = [time, total]
        if over:
            time = total = 0
        new = [time, total]
        told.append((reward, discounted, gamma**taken, taken, stopped, cut, last, new))
    return told


@st.composite
def games(draw):
    length = draw(st.integers(1, 7))
    execute = draw(st.integers(1, length))
    count, decisions = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    actions = st.lists(
        st.sampled_from([0, 1, 2, 3, STOP]),
        min_size=decisions * count * length,
        max_size=decisions * count * length,
    )
    chunks = np.array(draw(actions)).reshape(decisions, count, length)
    return chunks, execute, draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("torch", SAME_STEP),
        ("torch", NEXT_STEP),
        ("torch", DISABLED),
        ("blind", SAME_STEP),
        ("blind", NEXT_STEP),
        ("serial", SAME_STEP),
        ("sync", NEXT_STEP),
        ("in place", SAME_STEP),
        ("in place", DISABLED),
    ],
)
@settings(max_examples=20)
@given(game=games())
def test_it_is_the_loop_that_it_stands_for(kind, mode, game):
    chunks, execute, gamma = game
    _, count, length = chunks.shape
    envs = chunked(kind, count, mode, length, execute=execute, gamma=gamma)
    steps = played(envs, chunks)
    for i in range(count):
        expected = slowly(chunks[:, i].tolist(), execute, gamma)
        for t, (step, told) in enumerate(zip(steps, expected, strict=True)):
            info = step.info
            numbers = step.reward, info["reward"], info["discount"], info["num_steps"]
            found = [float(x[i]) for x in numbers]
            np.testing.assert_allclose(found, told[:4], rtol=1e-6, err_msg=f"{t}")
            flags = bool(step.terminated[i]), bool(step.truncated[i])
            assert (*flags, step.next_obs[i].tolist(), step.obs[i].tolist()) == told[4:]
            if kind in ("torch", "blind"):
                assert bool(info["success"][i]) == told[4]


@pytest.mark.parametrize("looks", [True, False])
def test_new_episodes_begin_anywhere(looks):
    """In each decision the first two of three actions are taken, from a new place."""
    inside = gym.make_vec("yieldrl/CartPole-v1", num_envs=500, max_episode_steps=2)
    envs = ActionChunks(inside if looks else blind(inside), 3)
    envs = envs if looks else blind(envs)
    steps = played(envs, np.ones((4, 500, 3), np.int64))
    starts = [s.obs[:, 2] for s in steps]
    for before, after in itertools.pairwise(starts):
        assert (before != after).all()
        assert abs(np.corrcoef(before, after)[0, 1]) < 0.2
    assert all((start.abs() <= 0.05).all() for start in starts)


@pytest.mark.parametrize("mode", [SAME_STEP, NEXT_STEP])
def test_a_time_limit_counts_steps_of_the_environments(mode):
    for envs in (sums("torch", 2, mode), sums("sync", 2, mode)):
        chunks = ActionChunks(TimeLimit(envs, 4), 3)
        first, second = played(chunks, np.ones((2, 2, 3), np.int64))
        assert not first.ended.any()
        assert second.truncated.tolist() == [True, True]
        assert second.info["num_steps"].tolist() == [1, 1]
        assert second.next_obs.tolist() == [[4, 4], [4, 4]]


@pytest.mark.parametrize("kind", ["torch", "serial", "sync"])
def test_info_is_that_of_the_last_step_taken(kind):
    envs = chunked(kind, 3, SAME_STEP, 2)
    info = played(envs, [[[9, 1], [1, 9], [1, 1]]])[0].info
    if kind == "sync":  # in Gymnasium's own way
        assert info["_final_info"].tolist() == [True, True, False]
        assert info["final_info"]["success"].tolist() == [True, True, False]
        assert info["_success"].tolist() == [False, False, True]
    else:
        assert info["success"].tolist() == [True, True, False]


def test_statistics_inside_see_whole_episodes():
    for inside in (sums("torch", 3), sums("sync", 3)):
        envs = ActionChunks(EpisodeStatistics(inside), 3)
        steps = played(envs, [[[1, 9, 9], [1, 2, 3], [9, 1, 1]], [[2, 2, 2]] * 3])
        assert steps[0].info["_episode"].tolist() == [True, False, True]
        assert steps[0].info["episode"]["l"].tolist() == [2, 0, 1]
        assert steps[0].info["episode"]["r"].tolist() == [10, 0, 9]
        assert steps[1].info["_episode"].tolist() == [False, True, False]
        assert steps[1].info["episode"]["r"].tolist() == [0, 10, 0]
    other = make_eval(ActionChunks(sums("torch", 8), 4, execute=2, gamma=0.9), Config())
    assert isinstance(other, ActionChunks)
    assert (other.length, other.execute, other.gamma) == (4, 2, 0.9)


def test_frames_inside_are_of_steps_and_outside_of_decisions():
    chunks = [[[1, 2, 3], [9, 1, 1]]]
    step = played(ActionChunks(FrameStack(sums("torch", 2), 2), 3), chunks)[0]
    assert step.next_obs[..., 0].tolist() == [[2, 3], [0, 1]]
    assert step.obs[..., 0].tolist() == [[2, 3], [0, 0]]
    step = played(FrameStack(ActionChunks(sums("torch", 2), 3), 2), chunks)[0]
    assert step.next_obs[..., 0].tolist() == [[0, 3], [0, 1]]
    assert step.obs[..., 0].tolist() == [[0, 3], [0, 0]]


@pytest.mark.parametrize("mode", [SAME_STEP, NEXT_STEP])
def test_no_step_waits_for_the_device(mode, monkeypatch):
    # Which looks on a CPU whether the caller forgot a reset.
    monkeypatch.setattr(TorchVectorEnv, "check_running", lambda *_: None)
    envs = chunked("blind", 2, mode, 4, execute=3, gamma=1)
    envs.reset(seed=0)
    chunks = torch.tensor([[1, 9, 1, 1], [1, 1, 1, 1]])
    with _NoWaiting():
        for _ in range(4):
            envs.step(chunks)


@pytest.mark.parametrize("mode", [SAME_STEP, NEXT_STEP])
def test_a_checkpoint_goes_on_bitwise(mode):
    def made():
        kwargs = {"num_envs": 4, "autoreset_mode": mode}
        envs = TimeLimit(gym.make_vec("yieldrl/CartPole-v1", **kwargs), 9)
        return ActionChunks(envs, 4, execute=3)

    # The limit's ninth step is the third of the third.
    goes_on_bitwise(made, [torch.ones(4, 4, dtype=torch.int64)] * 15, 3)


def test_ppo_trains_and_returns_are_those_of_the_task():
    envs = SerialVectorEnv([lambda: gym.make("CartPole-v1")] * 4)
    chunks = ActionChunks(envs, 3, gamma=0.99)
    trainer = trainer_of(ppo, envs=chunks, total_steps=64, eval_every=64)
    logs = list(trainer())[-1]["logs"]
    assert trainer.model.action_space == MultiDiscrete([2, 2, 2])
    # One of reward each step, and up to three steps in a decision.
    assert logs["episode_return"] > logs["episode_length"]
    assert logs["episode_return"] <= 3 * logs["episode_length"]


def test_spaces_of_chunks():
    def space_of(space):
        class Other(TorchSum):
            single_action_space = space

        return ActionChunks(Other(2), 3).single_action_space

    low, high = np.array([-1, 0], np.float32), np.array([1, 5], np.float32)
    box = space_of(Box(low, high))
    assert box == Box(np.stack([low] * 3), np.stack([high] * 3))
    assert space_of(Box(-1, 1, ())) == Box(-1, 1, (3,))
    assert space_of(Discrete(4, start=2)) == MultiDiscrete([4] * 3, start=[2] * 3)
    nvec = np.array([[2, 3]] * 3)
    assert space_of(MultiDiscrete([2, 3])) == MultiDiscrete(nvec)
    assert ActionChunks(sums("torch", 2), 3).action_space.shape == (2, 3)
    with pytest.raises(TypeError, match="makes no chunks"):
        space_of(MultiBinary(3))
