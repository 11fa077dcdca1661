"""Environments whose every observation is known beforehand."""

import copy

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from torch.utils._python_dispatch import TorchDispatchMode

from yieldrl.envs import TorchVectorEnv

BUILT_IN = [
    env_id
    for env_id, spec in gym.registry.items()
    if env_id.startswith("yieldrl/") and spec.vector_entry_point is not None
]


def blind(envs):
    """`envs`; on a CPU it steps and draws now as on a GPU or compiled."""
    envs._can_branch = False
    return envs


def goes_on_bitwise(make, actions, saved_after):
    """What is saved after so many steps goes on so, in another one and once more."""
    envs, other = make(), make()
    envs.reset(seed=1)
    other.reset(seed=2)
    for action in actions[:saved_after]:
        envs.step(action)
    saved = copy.deepcopy(envs.state_dict())
    expected = [envs.step(action) for action in actions[saved_after:]]
    for again in (other, envs):
        again.load_state_dict(copy.deepcopy(saved))
        found = [again.step(action) for action in actions[saved_after:]]
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


class TorchSines:
    """A module of mathematics, but that `sin` and `cos` are PyTorch's.

    NumPy's differ in the last bit for a number in some hundred, and in which depends
    on the processor. With these in its place, an original must give what the copy does.
    """

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)

    @staticmethod
    def sin(x):
        return torch.tensor(x, dtype=torch.float64).sin().item()

    @staticmethod
    def cos(x):
        return torch.tensor(x, dtype=torch.float64).cos().item()

    @classmethod
    def replace(cls, monkeypatch, module):
        """Let a module of Gymnasium's compute with them."""
        for name in ("np", "math"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, cls(getattr(module, name)))
        for name in ("sin", "cos"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(cls, name))


class Counter(gym.Env):
    """Counts its steps: observation `[episode, step]`, reward `step`.

    It ends after `length` steps, by termination in even episodes and by truncation in
    odd ones, so every kind of end is met, at times that differ between copies.
    """

    def __init__(self, length=3):
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = Discrete(2)
        self.length = length
        self.episode = -1
        self.step_number = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode += 1
        self.step_number = 0
        return self._obs(), {}

    def step(self, action):
        self.step_number += 1
        ended = self.step_number == self.length
        terminated = ended and self.episode % 2 == 0
        truncated = ended and self.episode % 2 == 1
        return self._obs(), float(self.step_number), terminated, truncated, {}

    def _obs(self):
        return np.array([self.episode, self.step_number], dtype=np.float32)


class Reusing(Counter):
    """Writes every observation into one and the same array."""

    def __init__(self, length=3):
        super().__init__(length)
        self.array = np.zeros(2, dtype=np.float32)

    def _obs(self):
        self.array[:] = self.episode, self.step_number
        return self.array


class Broken(Counter):
    """Gives a number that is not one at its second step."""

    def __init__(self, what):
        super().__init__(length=5)
        self.what = what

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        if self.step_number == 2 and self.what == "reward":
            reward = float("nan")
        if self.step_number == 2 and self.what == "observation":
            obs = np.array([np.inf, 0], dtype=np.float32)
        return obs, reward, terminated, truncated, info


class Odd(gym.Env):
    """Says these things in place of its own, from a step on; ends after two steps."""

    action_space = Discrete(2)

    def __init__(self, since=1, ends=9, **said):
        self.observation_space = said.pop("space", Box(-1, 1, (3,)))
        self.since, self.ends, self.said, self.steps = since, ends, said, 0

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), self.said.get("reset", {})

    def step(self, action):
        self.steps += 1
        reward = np.array([1.5])  # as a network would give it
        answer = {"obs": self.observation_space.sample(), "reward": reward}
        answer |= {"terminated": self.steps == self.ends, "truncated": False}
        answer |= {"info": {}} | (self.said if self.steps >= self.since else {})
        return tuple(value for value in answer.values() if value is not None)


class Doors(TorchVectorEnv):
    """Doors of which others are locked at every step; -1 for trying a locked one.

    One row of doors for each choice of the action, and at least one open in each.
    Observations say `"there"`, which is no help, and `"action_mask"`.
    """

    noise_size = 1

    def __init__(self, num_envs=1, rows=(4,), **kwargs):
        self.rows = rows
        one = len(rows) == 1
        self.single_action_space = Discrete(rows[0]) if one else MultiDiscrete(rows)
        bits = np.bool_
        self.single_observation_space = Dict(
            there=Box(-1, 1, (2,)), action_mask=Box(0, 1, (sum(rows),), bits)
        )
        super().__init__(num_envs, **kwargs)

    def initial_state(self, noise):
        return (noise * 2**31).long()

    def dynamics(self, state, action):
        chosen = action.reshape(len(action), -1)
        parts = self.open(state).split(self.rows, dim=1)
        tried = [p.gather(1, chosen[:, i : i + 1]) for i, p in enumerate(parts)]
        reward = torch.cat(tried, 1).all(1).float() - 1
        state = (state * 1103515245 + 12345) % 2**31  # a generator of numbers
        return state, reward, torch.zeros_like(reward, dtype=torch.bool)

    def open(self, state):
        """Which doors are open, bool `[N, sum(rows)]`."""
        number, doors = state[0].unsqueeze(1) >> 8, torch.arange(sum(self.rows))
        first, never_locked = 0, torch.zeros(state.shape[1], sum(self.rows)).bool()
        for row in self.rows:
            never_locked |= doors == first + number % row
            first += row
        return (number >> doors & 1).bool() | never_locked

    def observe(self, state):
        there = torch.ones(state.shape[1], 2)
        return {"there": there, "action_mask": self.open(state)}


class Walk(TorchVectorEnv):
    """A point that walks by its action; the walk ends beyond 2."""

    single_observation_space = Box(-30, 30, (2,))
    single_action_space = Box(-1, 1, ())
    noise_size = 2

    def initial_state(self, noise):
        return noise - 0.5

    def dynamics(self, state, action):
        state = state + action
        return state, state.sum(0), state[0].abs() > 2


class Lasting(TorchVectorEnv):
    """Environment i's episodes end after 2 + i steps; the reward counts them."""

    single_observation_space = Box(-1000, 1000, (2,))
    single_action_space = Box(-1, 1, ())
    noise_size = 1

    def __init__(self, num_envs=1, **kwargs):
        super().__init__(num_envs, **kwargs)
        self.length = self.parameter("length", torch.arange(num_envs) + 2)

    def initial_state(self, noise):
        return torch.stack((noise[0], self.length, torch.zeros_like(self.length)))

    def dynamics(self, state, action):
        start, length, step = state
        state = torch.stack((start, length, step + 1))
        return state, step + 1, step + 1 >= length

    def observe(self, state):
        return torch.stack((state[0], state[2]), dim=1)


class OneLasting(gym.Env):
    """One of them, as an object."""

    observation_space = Box(-1000, 1000, (2,))
    action_space = Box(-1, 1, ())

    def __init__(self, length):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.start, self.time = float(self.np_random.random()), 0
        return self._obs(), {}

    def step(self, action):
        self.time += 1
        return self._obs(), float(self.time), self.time >= self.length, False, {}

    def _obs(self):
        return np.array([self.start, self.time], np.float32)


class Steps(gym.Env[np.ndarray, int]):
    """Observes how many steps were taken; an episode has six."""

    observation_space = Box(0, 1e6, (4,))
    action_space = Discrete(2)

    def __init__(self, fails_at=None):
        self.fails_at, self.steps = fails_at, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.fails_at:
            self.fails_at = None
            raise ValueError("the gripper is stuck")
        return np.full(4, self.steps, np.float32), 1.0, self.steps == 6, False, {}


def check_rows(rollout):
    """Each row of `Steps` continues the one before it, or an episode has ended there.

    Where one worker begins anew, episodes of the others are cut too, and go on.
    """
    terminated, cut = rollout["terminated"][:-1], rollout["truncated"][:-1]
    goes_on = rollout["next_obs"][:-1, :, 0] == rollout["obs"][1:, :, 0]
    begins = rollout["obs"][1:, :, 0] == 0
    assert torch.where(terminated, begins, goes_on | (cut & begins)).all()


class Idle:
    """An agent that always answers zero."""

    def __init__(self):
        self.sample_step = 0

    def sample(self, obs):
        return np.zeros(len(obs), dtype=np.int64), {}

    def predict(self, obs):
        return np.zeros(len(obs), dtype=np.int64)


class TensorIdle(Idle):
    """One of tensors, of this shape in each environment."""

    def __init__(self, *shape):
        super().__init__()
        self.shape = shape

    def sample(self, obs):
        return self.predict(obs), {}

    def predict(self, obs):
        return torch.zeros(len(obs), *self.shape, dtype=torch.int64)


class Follow(gym.Env):
    """Say the number that you see: the reward is minus the squared miss, as a share of
    the box. Episodes end by termination after one step, so `Q(s, a)` is the reward.

    The box is `[center - half_width, center + half_width]`; what the observation, in
    [-1, 1], asks for is stretched to it.
    """

    def __init__(self, center=0.0, half_width=1.0):
        self.center, self.half_width = center, half_width
        self.observation_space = Box(-1, 1, (1,), np.float32)
        low, high = center - half_width, center + half_width
        self.action_space = Box(low, high, (1,), np.float32)
        self.obs = np.zeros(1, dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.obs = self.np_random.uniform(-1, 1, 1).astype(np.float32)
        return self.obs, {}

    def step(self, action):
        assert self.action_space.contains(action)
        said = (float(action[0]) - self.center) / self.half_width
        return self.obs, -((said - float(self.obs[0])) ** 2), True, False, {}


class NoSync(TorchDispatchMode):
    """Raises when an operation makes the host wait for a device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        waits = ("_local_scalar_dense", "nonzero", "is_nonzero", "masked_select")
        assert not any(name in str(func) for name in waits), f"{func} synchronises"
        return func(*args, **(kwargs or {}))
