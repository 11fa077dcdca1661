"""The conformance test passes what is right and names what is wrong."""

from __future__ import annotations

import itertools
import re
import warnings
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
import torch
import worlds
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from yieldrl.envs import SerialVectorEnv, check


class Walk(worlds.Walk):
    """One that ends after 20 steps."""

    def __init__(self, num_envs=4, **kwargs):
        super().__init__(num_envs, **{"max_episode_steps": 20, **kwargs})


class Drift(gymnasium.Env):
    """A number that drifts by chance; subclasses plant a fault."""

    observation_space = spaces.Box(-100, 100, (2,), np.float32)
    action_space = spaces.Discrete(2)
    level = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seed_chance(seed)
        self.time, self.place = 0, self.chance()
        return self.seen(), {}

    def step(self, action):
        self.time += 1
        self.place += action - 0.5 + 0.1 * self.chance()
        ended = self.time >= 15 or abs(self.place) > 3
        reward = float(self.place) * (1 + self.level)
        return self.seen(), reward, ended, False, {}

    def seen(self):
        return np.array([self.place, self.time], np.float32)

    def seed_chance(self, seed):
        """Where chance comes from what Gymnasium seeds there is nothing to do."""

    def chance(self):
        return self.np_random.normal()


class Counter(Drift):
    """A random number, and how long the episode lasts, which ends with the ninth."""

    observation_space = spaces.Box(-1, 30, (2,), np.float32)

    def step(self, action):
        self.time += 1
        self.place = self.chance() + 0.5 * action
        return self.seen(), 1.0, self.time == 9, False, {}

    def chance(self):
        return self.np_random.uniform(-1, 0)


def quick(names):
    """Of each game and each robot the check takes seconds; some are of one class."""
    slow = re.compile("MinAtar|Humanoid|Ant|Walker2d|Hopper|HalfCheetah")
    alike = re.compile("Probe(?!Cut)|8x8")
    return [
        pytest.param(name, marks=pytest.mark.slow) if slow.search(name) else name
        for name in names
        if not alike.search(name)
    ]


def made(env_id, **kwargs):
    if re.search("Hopper|Cheetah|Walker|Ant-|Humanoid|InvertedPendulum", env_id):
        pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    if "physics" in str(gymnasium.spec(env_id).vector_entry_point):
        kwargs["threads"] = 1
    return gymnasium.make_vec(env_id, **kwargs)


@pytest.mark.parametrize("env_id", quick(worlds.BUILT_IN))
def test_built_in_worlds_pass(env_id):
    """In one mode: a check of one tries the steps of the others too."""
    check(made(env_id, num_envs=4), steps=30)


@pytest.mark.slow
def test_built_in_worlds_pass_at_length_and_in_the_other_modes():
    for env_id in worlds.BUILT_IN:
        check(made(env_id, num_envs=8), steps=100)
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
            options = {"autoreset_mode": mode, "dtype": torch.float64}
            check(made(env_id, num_envs=3, **options), steps=25)


def test_gymnasiums_vector_environments_pass():
    taxi = lambda: gymnasium.make("Taxi-v4", max_episode_steps=20)  # noqa: E731
    for mode in AutoresetMode:
        check(SyncVectorEnv([Counter] * 3, autoreset_mode=mode))
    check(SyncVectorEnv([taxi] * 3), steps=40)
    with pytest.warns(UserWarning, match="CartPoleVectorEnv .* was not tried"):
        check(gymnasium.make_vec("CartPole-v1", num_envs=3), steps=40)


# Planted faults that only a batched tensor environment can have, one each.


class StateOutsideOfTheState(Walk):
    def dynamics(self, state, action):
        self.wind = getattr(self, "wind", torch.zeros(self.num_envs)) + 0.01
        return super().dynamics(state, action + self.wind)


class IgnoresTheSeed(Walk):
    def initial_state(self, noise):
        return torch.rand_like(noise) - 0.5


class SeedIsAlwaysZero(Walk):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None if seed is None else 0, options=options)


class WritesToItsArgument(Walk):
    def dynamics(self, state, action):
        state += action
        return state.clone(), state.sum(0), state[0].abs() > 2


class WaitsForTheDevice(Walk):
    def dynamics(self, state, action):
        state, reward, terminated = super().dynamics(state, action)
        return state, reward if reward.max() > 0 else reward * 2, terminated


class ObservesItsOwnMemory(Walk):
    def observe(self, state):
        if not hasattr(self, "memory"):
            self.memory = torch.zeros(self.num_envs, 2)
        return self.memory.copy_(state.T)


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (StateOutsideOfTheState, "dynamics gave something else for the same arguments"),
        (IgnoresTheSeed, "initial_state gave something else|with the same seed"),
        (SeedIsAlwaysZero, "the same first observations for the seeds 0 to 7"),
        (WritesToItsArgument, "wrote to its arguments"),
        (WaitsForTheDevice, "waits for the device: use torch.where"),
        (ObservesItsOwnMemory, "final_obs is .* in memory of its own"),
    ],
)
def test_planted_faults(faulty, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        check(faulty(4))


# And what is looked for in every batch, here of arrays.


class Uneven(Counter):
    """Episodes of one batch have different lengths."""

    lengths = itertools.cycle([5, 6, 7, 8])

    def __init__(self):
        self.length = next(self.lengths)

    def step(self, action):
        obs, reward, _, truncated, info = super().step(action)
        return obs, reward, self.time == self.length, truncated, info


class Cut(Counter):
    """Terminates after nine steps where `place` begins low, else is cut before."""

    def step(self, action):
        obs, reward, terminated, _, info = super().step(action)
        return obs, reward, terminated, self.time == self.limit, info

    def reset(self, **kwargs):
        answer = super().reset(**kwargs)
        self.limit = 5 if self.place < -0.5 else 99
        return answer


class Tampered(SerialVectorEnv):
    """Gymnasium's interface, spoiled at one place."""

    fault: str

    def __init__(self, fault, env=Counter):
        super().__init__([env] * 4)
        self.fault = fault

    def reset(self, *, seed=None, options=None):
        if self.fault == "seed":
            seed = None
        self.before, info = super().reset(seed=seed, options=options)
        return self.before, info

    def step(self, actions):
        if self.fault == "actions":
            actions[:] = 0
        obs, reward, terminated, truncated, info = super().step(actions)
        before, self.before = self.before, obs
        ended = terminated | truncated
        if self.fault == "flag":
            truncated = truncated.astype(np.int8)
        elif self.fault == "nan":
            reward = reward * np.nan
        elif self.fault == "outside":
            obs = obs + 100
        elif self.fault == "dtype":
            obs = obs.astype(np.float64)
        elif self.fault == "final_obs":
            info = {}
        elif self.fault == "shared":
            obs[:, 0] = obs[0, 0]
        elif ended.any():
            last = info["final_obs"]
            if self.fault == "mask":
                info["_final_obs"] = ~ended
            elif self.fault == "leak":
                obs = np.where(ended[:, None], last, obs)
            elif self.fault == "after the reset":
                info["final_obs"] = obs
            elif self.fault == "zeros":
                info["final_obs"] = last * ended[:, None]
            elif self.fault in ("next", "before"):
                wrong = obs if self.fault == "next" else before
                info["final_obs"] = np.where(truncated[:, None], wrong, last)
        return obs, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("fault", "env", "message"),
    [
        ("seed", Counter, "obs of .* with the same seed and the same actions"),
        ("actions", Counter, "step wrote to the actions"),
        ("flag", Counter, "truncated must be bool"),
        ("nan", Counter, "reward = .* must be finite"),
        ("outside", Counter, "obs is outside of its space: .* widen"),
        ("dtype", Counter, "obs must be float32 of shape"),
        ("final_obs", Counter, "lacks final_obs"),
        ("mask", Counter, "the mask says whose episode ended"),
        ("leak", Counter, "after an automatic reset, but reset"),
        ("after the reset", Counter, "final_obs is the first observation of the next"),
        ("shared", Counter, "obs of .* where environment 0 took another action"),
        ("zeros", Uneven, "where no episode ended"),
        ("next", Cut, "by truncation final_obs is the first observation of the next"),
        ("before", Cut, "by truncation final_obs is the observation before the last"),
    ],
)
def test_planted_faults_in_numpy(fault, env, message):
    check(Tampered("", env))
    with pytest.raises((ValueError, TypeError), match=f"(?s){message}"):
        check(Tampered(fault, env))


class Seedless(SerialVectorEnv):
    """A seed at construction alone, as EnvPool's."""

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            warnings.warn("reset(seed=...) is ignored", stacklevel=2)
        return super().reset(options=options)


def test_a_pool_whose_seed_is_fixed_is_looked_at_without_it():
    with pytest.warns(UserWarning, match="nothing that takes a repetition was tried"):
        check(Seedless([Counter] * 4))

    class Rude(Seedless):
        def step(self, actions):
            obs, reward, *rest = super().step(actions)
            return (obs, reward * np.nan, *rest)

    with pytest.raises(ValueError, match="must be finite"):
        check(Rude([Counter] * 4))


class OwnChance(Drift):
    """Right, though it has a generator under another name."""

    def seed_chance(self, seed):
        if seed is not None or not hasattr(self, "rng"):
            self.rng = np.random.default_rng(seed)

    def chance(self):
        return self.rng.normal()


class SharedChance(Drift):
    """All of them seed one generator, and draw from it."""

    rng: Any = np.random.default_rng()

    def seed_chance(self, seed):
        if seed is not None:
            type(self).rng = np.random.default_rng(seed)

    def chance(self):
        return self.rng.normal()


class SharedFirstStates(SharedChance):
    """Nothing but where episodes begin is by chance."""

    def step(self, action):
        self.time += 1
        self.place += action - 0.5
        return self.seen(), float(self.place), self.time >= 5, False, {}


class Levels(Drift):
    """The level rises with each episode; a seed alone sets it back."""

    def seed_chance(self, seed):
        self.level = 0 if seed is not None else self.level

    def step(self, action):
        *answer, ended, truncated, info = super().step(action)
        self.level += ended
        return *answer, ended, truncated, info


class ByHand(gymnasium.vector.VectorEnv):
    """A batch of a class of its own."""

    metadata: ClassVar[Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}
    inside = "envs"  # the name of the list of environments

    def __init__(self, fns):
        self.parts = [make() for make in fns]
        self.num_envs = len(self.parts)
        setattr(self, self.inside, self.parts)
        self.single_observation_space = self.parts[0].observation_space
        self.single_action_space = self.parts[0].action_space

    def seeds(self, seed):
        if seed is None or isinstance(seed, list):
            return seed or [None] * self.num_envs
        return range(seed, seed + self.num_envs)

    def reset(self, *, seed=None, options=None):
        pairs = zip(self.parts, self.seeds(seed), strict=True)
        return np.stack([env.reset(seed=each)[0] for env, each in pairs]), {}

    def step(self, actions):
        pairs = zip(self.parts, actions, strict=True)
        obs, *flags, _ = zip(*(env.step(action) for env, action in pairs), strict=True)
        reward, ended, cut = map(np.array, flags)
        info = {"final_obs": np.stack(obs), "_final_obs": ended | cut}
        obs = [
            env.reset()[0] if over else seen
            for env, seen, over in zip(self.parts, obs, ended | cut, strict=True)
        ]
        return np.stack(obs), reward, ended, cut, info


class OneSeed(ByHand):
    def seeds(self, seed):
        return super().seeds(None if seed is None else seed + 0)


class Hidden(ByHand):
    inside = "games"


VECTORIZED = {
    "list": ByHand,
    "serial": SerialVectorEnv,
    "next": SyncVectorEnv,
    "by hand": lambda fns: SyncVectorEnv(fns, autoreset_mode=AutoresetMode.DISABLED),
}


@pytest.mark.parametrize(
    ("kind", "env_class"),
    [
        ("serial", SharedChance),
        ("next", SharedFirstStates),
        ("by hand", SharedChance),
        ("list", SharedChance),
    ],
)
def test_a_generator_that_environments_share_is_found(kind, env_class):
    check(VECTORIZED[kind]([OwnChance] * 3))
    with pytest.raises(ValueError, match=r"got other seeds|took another action"):
        check(VECTORIZED[kind]([env_class] * 3))


@pytest.mark.parametrize("kind", ["serial", "next", "list"])
def test_state_that_survives_a_reset_is_found(kind):
    with pytest.raises(ValueError, match=r"reward of environment . was .* reset\(\)"):
        check(VECTORIZED[kind]([Levels] * 3))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (OneSeed, "environments share a generator was not tried"),
        (Hidden, "share a generator or keep something of an episode in the next was"),
    ],
)
def test_what_cannot_be_tried_is_said(kind, said):
    with pytest.warns(UserWarning, match=f"{kind.__name__} is a batch .*{said}"):
        check(kind([OwnChance] * 3))


class Together(Walk):
    """All begin where the mean of their noise says."""

    def initial_state(self, noise):
        return super().initial_state(noise.mean(-1, keepdim=True).expand_as(noise))


def test_batches_whose_first_states_are_not_apart():
    with pytest.raises(ValueError, match="got other seeds: let each"):
        check(Together(3, max_episode_steps=9))
    with pytest.raises(ValueError, match="two environments or more"):
        check(Walk(1))
