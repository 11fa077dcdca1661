"""A step means the same in every autoreset mode, whatever memory it lies in."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from worlds import Counter, Idle, Reusing, TensorIdle

from yieldrl.buffers import RolloutBuffer
from yieldrl.collectors import SyncCollector, evaluate
from yieldrl.collectors.stepping import Stepper
from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers import BatchWrapper, FrameStack, TimeLimit

SAME_STEP, NEXT_STEP = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP
MODES = list(AutoresetMode)
LENGTHS = (2, 3)


class InPlace(VectorEnv):
    """Counters as tensors, as a simulator keeps them: all in the same memory for ever.

    Observation `[episode, step]`, reward `step`; environment i ends after 2 + i steps.
    """

    def __init__(self, mode=SAME_STEP, device="cpu"):
        self.num_envs, self.mode = len(LENGTHS), mode
        self.metadata = {"autoreset_mode": mode}
        self.single_observation_space = Box(-np.inf, np.inf, (2,), np.float32)
        self.single_action_space = Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, 2)
        self.action_space = batch_space(self.single_action_space, 2)
        self.length = torch.tensor(LENGTHS)
        self.obs, self.final_obs = torch.zeros(2, 2), torch.zeros(2, 2)
        self.reward = torch.zeros(2)
        self.terminated, self.truncated = (torch.zeros(2).bool() for _ in range(2))

    def reset(self, *, seed=None, options=None):
        where = (options or {}).get("reset_mask", torch.ones(2, dtype=torch.bool))
        if options is None:
            self.obs[:, 0] = -1
        self._restart(where)
        self.reward.zero_()
        self.terminated.zero_()
        self.truncated.zero_()
        return self.obs, {}

    def step(self, actions):
        late = (self.terminated | self.truncated) & (self.mode is NEXT_STEP)
        self.obs[:, 1] += 1
        self._restart(late)
        self.reward.copy_(self.obs[:, 1])
        ended, even = self.obs[:, 1] >= self.length, self.obs[:, 0] % 2 == 0
        self.terminated.copy_(ended & even)
        self.truncated.copy_(ended & ~even)
        info = {}
        if self.mode is SAME_STEP:
            self.final_obs.copy_(self.obs)
            self._restart(ended)
            info = {"final_obs": self.final_obs, "_final_obs": ended}
        return self.obs, self.reward, self.terminated, self.truncated, info

    def _restart(self, where):
        self.obs[:, 0] += where
        self.obs[:, 1] *= ~where


def collected(envs, agent, steps=12, **kwargs):
    """The valid transitions of each environment, and the logs."""
    spaces = envs.single_observation_space, envs.single_action_space
    buffer = RolloutBuffer(steps, *spaces, num_envs=envs.num_envs)
    collector = SyncCollector(envs, agent, buffer, seed=0, **kwargs)
    logs = [collector.step() for _ in range(steps)]
    rows = buffer.rollout()
    valid = rows.get("valid", torch.ones(steps, envs.num_envs, dtype=torch.bool))
    names = ("obs", "reward", "next_obs", "terminated", "truncated")
    return [
        [[row[name].tolist() for name in names] for row in rows[valid[:, i], i]]
        for i in range(envs.num_envs)
    ], logs


@pytest.mark.parametrize(
    ("mode", "wrapped"), [(mode, False) for mode in MODES] + [(SAME_STEP, True)]
)
def test_memory_that_is_written_again_is_read_in_time(mode, wrapped):
    counters = [lambda n=n: Counter(n) for n in LENGTHS]
    wrap = BatchWrapper if wrapped else lambda envs: envs
    expected, expected_logs = collected(
        wrap(SyncVectorEnv(counters, copy=False, autoreset_mode=mode)), Idle()
    )
    found, logs = collected(wrap(InPlace(mode)), TensorIdle(), report_every=12)
    assert found == expected
    episodes = sum(log["episodes"] for log in expected_logs if log)
    total = sum(log["episodes"] * log["episode_return"] for log in expected_logs if log)
    assert logs[-1]["episodes"] == episodes
    assert logs[-1]["episode_return"] == pytest.approx(total / episodes)
    assert not any(logs[:-1])


def test_episodes_of_memory_that_is_written_again_are_evaluated():
    for mode in MODES:
        result = evaluate(TensorIdle(), InPlace(mode), episodes=4, seed=0)
        assert result.returns.tolist() == [3, 3, 6, 6]
        assert result.lengths.tolist() == [2, 2, 3, 3]


class InDict(gym.ObservationWrapper):
    def __init__(self, env):
        super().__init__(env)
        inside = {"a": env.observation_space, "n": Discrete(9)}
        self.observation_space = Dict(inside=Dict(inside))

    def observation(self, observation):
        return {"inside": {"a": observation, "n": int(observation[1])}}


@pytest.mark.parametrize(
    ("kind", "wrapped"),
    [(SyncVectorEnv, False), (SyncVectorEnv, True), (AsyncVectorEnv, False)],
)
def test_dict_observations_of_gymnasiums_own(kind, wrapped):
    """`final_obs` is an array of objects there, each None or a dict."""
    functions = [lambda n=n: InDict(Counter(n)) for n in LENGTHS]
    envs = kind(functions, autoreset_mode=SAME_STEP)
    stepper = Stepper(FrameStack(envs, 1) if wrapped else envs)
    stepper.reset(0)
    for _ in range(2):
        step = stepper.step(np.zeros(2, np.int64))
    last, first = step.next_obs["inside"], step.obs["inside"]
    assert last["a"].reshape(2, 2).tolist() == [[0, 2], [0, 2]]
    assert last["n"].flatten().tolist() == [2, 2]
    assert first["a"].reshape(2, 2).tolist() == [[1, 0], [0, 2]]
    assert first["n"].flatten().tolist() == [0, 2]
    result = evaluate(InDictIdle(), stepper.envs, 4, seed=0)
    assert result.returns.tolist() == [3, 3, 6, 6]
    envs.close()


class InDictIdle(Idle):
    def predict(self, obs):
        return np.zeros(2, np.int64)


def test_a_time_limit_keeps_the_last_observation():
    """With `copy=False` the reset writes into the array that the step returned."""
    for world in (Counter, Reusing):
        functions = [lambda world=world: world(9)] * 2
        envs = SyncVectorEnv(functions, copy=False, autoreset_mode=SAME_STEP)
        stepper = Stepper(TimeLimit(envs, 3))
        stepper.reset(0)
        for _ in range(3):
            step = stepper.step(np.zeros(2, np.int64))
        assert step.truncated.all()
        assert step.next_obs.tolist() == [[0, 3], [0, 3]]
        assert step.obs.tolist() == [[1, 0], [1, 0]]


class Clearing(SyncVectorEnv):
    """Writes rewards and flags in place, and clears them at a reset."""

    def step(self, actions):
        obs, *_, info = super().step(actions)
        return obs, self._rewards, self._terminations, self._truncations, info

    def reset(self, **kwargs):
        self._rewards[:] = 0
        self._terminations[:] = False
        return super().reset(**kwargs)


def test_a_reset_does_not_clear_the_step_before_it():
    for mode in MODES:
        envs = Clearing([lambda: Counter(2)] * 2, copy=False, autoreset_mode=mode)
        stepper = Stepper(TimeLimit(envs, 3))
        stepper.reset(0)
        rewards, ends = [], []
        for _ in range(2):
            step = stepper.step(np.zeros(2, np.int64))
            rewards.append(step.reward.tolist())
            ends.append(step.terminated.tolist())
        assert rewards == [[1, 1], [2, 2]]
        assert ends == [[False, False], [True, True]]


def forgetful(envs):
    """Says nothing of last observations any more."""
    step = envs.step
    envs.step = lambda actions: (*step(actions)[:4], {"other": 1})
    return envs


@pytest.mark.parametrize("kind", ["arrays", "tensors"])
def test_a_lost_final_obs_is_refused(kind):
    """Or the next episode's first observation would be bootstrapped from."""
    functions = [lambda n=n: Counter(n) for n in LENGTHS]
    arrays = SyncVectorEnv(functions, autoreset_mode=SAME_STEP)
    stepper = Stepper(forgetful(InPlace() if kind == "tensors" else arrays))
    stepper.reset(0)
    action = torch.zeros(2) if kind == "tensors" else np.zeros(2, np.int64)
    stepper.step(action)  # nobody's episode ended
    with pytest.raises(ValueError, match=r"lacks final_obs, it has \['other'\]"):
        stepper.step(action)


def test_a_last_observation_that_is_none_is_refused():
    reader = Stepper(SyncVectorEnv([Counter] * 2, autoreset_mode=SAME_STEP)).reader
    ends, no = np.array([True, False]), np.zeros(2, np.bool_)
    info = {"final_obs": np.array([None, None])}
    with pytest.raises(ValueError, match="lacks final_obs"):
        reader.read((np.zeros((2, 2)), np.zeros(2), ends, no, info), resets=None)
    flags = torch.zeros(2, dtype=torch.bool, device="meta")  # where looking waits
    reader = Stepper(InPlace()).reader
    with pytest.raises(ValueError, match="must do so in every step"):
        reader.read((torch.zeros(2, 2), flags, flags, flags, {}), resets=None)


def test_an_episode_begins_where_the_step_resets():
    ended, none = np.array([True, False]), np.zeros(2, np.bool_)
    step = Step(None, None, ended, none, None, None, {})
    assert step.begins.tolist() == [True, False]
    late = step._replace(valid=np.array([True, False]))  # a reset-only step of one
    assert late.begins.tolist() == [False, True]
