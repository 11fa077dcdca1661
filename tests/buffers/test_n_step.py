"""Samples that look n steps ahead: by hand, and against a loop over random episodes."""

import contextlib

import numpy as np
import pytest
import torch
from factories import buffer_of as any_buffer
from factories import saved_and_loaded
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.buffers import PrioritizedReplayBuffer, ReplayBuffer

VECTOR = Box(-np.inf, np.inf, (1,))
KINDS = [ReplayBuffer, PrioritizedReplayBuffer]


def buffer_of(kind=ReplayBuffer, rows=10, num_envs=1, **options):
    options = {"gamma": 0.5, "n_step": 3, "space": VECTOR, **options}
    return any_buffer(kind, rows, num_envs, **options)


def step(number, num_envs=1, terminated=False, truncated=False, **extras):
    """Observations count the steps; `next_obs` is half a step on."""
    obs = np.full((num_envs, 1), float(number), np.float32)
    obs += 100 * np.arange(num_envs)[:, None]
    return {
        "obs": obs,
        "next_obs": obs + 0.5,
        "action": np.zeros(num_envs, np.int64),
        "reward": 2.0 ** (number % 8) * np.ones(num_envs),
        "terminated": np.broadcast_to(terminated, num_envs),
        "truncated": np.broadcast_to(truncated, num_envs),
        **extras,
    }


def samples(buffer):
    """First observation -> what the sample that begins there holds; all there are."""
    batch = buffer.sample(60 * buffer.capacity)  # missing one: e^-60
    keys = ("reward", "next_obs", "terminated", "truncated", "discount")
    columns = [batch[key].flatten().tolist() for key in keys]
    first = batch["obs"].flatten().tolist()
    return dict(zip(first, zip(*columns, strict=True), strict=True))


def reference(history, num_envs, rows, n_step, gamma):
    """First observation -> sample, by a loop over one environment after the other."""
    expected = {}
    oldest = max(0, len(history) - rows)
    for env in range(num_envs):
        for start in range(oldest, len(history) - n_step + 1):
            if not history[start]["valid"][env]:
                continue
            total = 0.0
            for k in range(n_step):
                last = history[start + k]
                total += gamma**k * last["reward"][env]
                if last["terminated"][env] or last["truncated"][env]:
                    break
            expected[float(history[start]["obs"][env, 0])] = (
                total,
                float(last["next_obs"][env, 0]),
                bool(last["terminated"][env]),
                bool(last["truncated"][env]),
                gamma ** (k + 1),
            )
    return expected


@settings(max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    num_envs=st.integers(1, 3),
    rows=st.integers(1, 8),
    n_step=st.integers(1, 5),
    adds=st.integers(1, 25),
    next_step=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_random_episodes(kind, num_envs, rows, n_step, adds, next_step, seed):
    rows = max(rows, n_step)
    rng = np.random.default_rng(seed)
    buffer = buffer_of(kind, rows, num_envs, n_step=n_step)
    history, ended = [], np.zeros(num_envs, bool)
    for number in range(adds):
        valid = ~ended if next_step else np.ones(num_envs, bool)
        terminated = (rng.random(num_envs) < 0.2) & valid
        truncated = (rng.random(num_envs) < 0.2) & valid
        ended = terminated | truncated
        transition = step(number, num_envs, terminated, truncated)
        if next_step:
            transition["valid"] = valid
        buffer.add(transition)
        history.append({**transition, "valid": valid})
        if number % 5 == 0 and len(buffer) > 0:
            with contextlib.suppress(RuntimeError):  # there may be nothing but resets
                batch = buffer.sample(4)  # now and then, as training takes
                if kind is PrioritizedReplayBuffer:
                    buffer.update_priorities(batch["index"], 0.5 + torch.rand(4))
    expected = reference(history, num_envs, rows, n_step, 0.5)
    assert len(buffer) == num_envs * max(0, min(adds, rows) - n_step + 1)
    if expected:
        assert samples(buffer) == expected
    else:
        with pytest.raises(RuntimeError, match="collect"):
            buffer.sample(1)


def test_nested_observations_and_extras():
    space = Dict(a=VECTOR, b=Discrete(9))
    buffer = buffer_of(n_step=2, space=space)
    for number in range(5):
        obs = {"a": np.full((1, 1), float(number)), "b": np.array([number])}
        following = {"a": obs["a"] + 1, "b": obs["b"] + 1}
        extras = {"log_prob": torch.tensor([-float(number)])}
        transition = step(number, obs=obs, next_obs=following, **extras)
        buffer.add(transition)
    batch = buffer.sample(50)
    assert torch.equal(batch["next_obs", "b"], batch["obs", "b"] + 2)
    assert torch.equal(batch["next_obs", "a"], batch["obs", "a"] + 2)
    assert torch.equal(batch["log_prob"], -batch["obs", "a"].flatten())  # of the first


def test_abandoned_episodes_do_not_run_into_new_ones():
    """Where environments cannot be restored, a resumed run begins new episodes."""
    buffer = buffer_of()
    for number in range(7):
        if number == 3:
            buffer.end_episodes()
        buffer.add(step(number))
    found = samples(buffer)
    assert found[1.0] == (2 + 4 / 2, 2.5, False, True, 1 / 4)
    assert found[3.0] == (8 + 16 / 2 + 32 / 4, 5.5, False, False, 1 / 8)


@pytest.mark.parametrize("adds", [2, 10, 14])
@pytest.mark.parametrize("rows", [10, 13])
def test_goes_on_where_it_was_saved(adds, rows):
    one, another = buffer_of(), buffer_of(rows=rows)
    for number in range(adds):
        one.add(step(number, terminated=number % 4 == 3))
    another.load_state_dict(saved_and_loaded(one.state_dict()))
    for number in range(adds, adds + 3):
        for buffer in (one, another):
            buffer.add(step(number, terminated=number % 4 == 3))
    if rows == 10:
        assert (one.sample(9) == another.sample(9)).all()
    else:
        old, new = samples(one), samples(another)
        assert old.items() <= new.items()
        assert min(new) == max(0, min(adds - 10, adds + 3 - rows) if adds > 10 else 0)


def test_discounts_of_transitions_multiply():
    """Of steps that last 1, 2, 1 and 3 at gamma 0.5, the last of an episode."""
    buffer = buffer_of(rows=8, n_step=3)
    lasted = [1, 2, 1, 3, 1, 1]
    for number, k in enumerate(lasted):
        discount = np.full(1, 0.5**k, np.float32)
        buffer.add(step(number, terminated=number == 3, discount=discount))
    batch = buffer._gather(torch.tensor([0, 1, 2, 3]))
    assert batch["reward"].tolist() == [
        1 + 0.5 * 2 + 0.5**3 * 4,
        2 + 0.5**2 * 4 + 0.5**3 * 8,
        4 + 0.5 * 8,
        8,
    ]
    assert batch["discount"].tolist() == [0.5**4, 0.5**6, 0.5**4, 0.5**3]
    buffer = buffer_of(n_step=1)  # single steps keep their discount
    buffer.add(step(0, discount=np.array([0.25], np.float32)))
    assert buffer.sample(2)["discount"].tolist() == [0.25, 0.25]
