"""EpisodeBuffer: whole episodes, a share of them from every environment."""

import numpy as np
import torch
from factories import VECTOR, transition
from gymnasium.spaces import Discrete
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.buffers import EpisodeBuffer


def buffer_of(num_episodes=1, num_envs=1):
    return EpisodeBuffer(num_episodes, VECTOR, Discrete(2), num_envs=num_envs)


def step_of(number, terminated, truncated, **extra):
    flags = {"terminated": np.array(terminated), "truncated": np.array(truncated)}
    return transition(number, len(terminated), **flags, **extra)


@st.composite
def plays(draw):
    """How many episodes, and for every step how each environment goes on."""
    num_envs = draw(st.integers(1, 3))
    num_episodes = draw(st.integers(num_envs, 7))
    step = st.lists(st.integers(0, 3), min_size=num_envs, max_size=num_envs)
    return num_episodes, draw(st.lists(step, min_size=1, max_size=40))


@given(plays())
@settings(max_examples=60)
def test_it_counts_the_first_episodes_of_each_environment(play):
    num_episodes, steps = play
    num_envs = len(steps[0])
    buffer = buffer_of(num_episodes, num_envs)
    shares = [
        num_episodes // num_envs + (n < num_episodes % num_envs)
        for n in range(num_envs)
    ]
    assert sum(shares) == num_episodes
    ended, valid = [0] * num_envs, []
    for number, step in enumerate(steps):
        assert not buffer.full
        assert len(buffer) == number
        valid.append([e < share for e, share in zip(ended, shares, strict=True)])
        # 2 terminates, 3 truncates.
        buffer.add(step_of(number, [x == 2 for x in step], [x == 3 for x in step]))
        ended = [e + (x >= 2) for e, x in zip(ended, step, strict=True)]
        whole = all(e >= share for e, share in zip(ended, shares, strict=True))
        if whole:
            break
    assert buffer.full == whole
    episodes = buffer.episodes()
    assert episodes["valid"].tolist() == valid
    assert "next_obs" not in episodes.keys()  # noqa: SIM118
    if buffer.full:
        for n, share in enumerate(shares):
            counted = episodes["valid"][:, n]
            both = (episodes["terminated"] | episodes["truncated"])[:, n]
            assert both[counted].sum() == share
            assert both[counted][-1]  # nothing after the last end

    again = buffer_of(num_episodes, num_envs)
    again.load_state_dict(buffer.state_dict())
    assert (again.full, len(again)) == (buffer.full, len(buffer))
    for name, tensor in episodes.items():
        assert torch.equal(again.episodes()[name], tensor)
    buffer.clear()
    assert (buffer.full, len(buffer)) == (False, 0)


def test_episodes_of_any_length():
    buffer = buffer_of()
    for number in range(1500):
        buffer.add(step_of(number, [number == 1499], [False]))
    assert buffer.full
    assert torch.equal(buffer.episodes()["reward"][:, 0], torch.arange(1500.0))
    again = buffer_of()
    again.load_state_dict(buffer.state_dict())
    assert torch.equal(again.episodes()["obs"], buffer.episodes()["obs"])
    assert again.full


def test_steps_that_only_reset_do_not_count():
    buffer = buffer_of(2)
    for number, (end, valid) in enumerate([(1, 1), (0, 0), (0, 1), (1, 1)]):
        step = step_of(number, [bool(end)], [False], valid=np.array([bool(valid)]))
        buffer.add(step)
    assert buffer.full
    assert buffer.episodes()["valid"][:, 0].tolist() == [True, False, True, True]


def test_abandoned_episodes_do_not_count():
    buffer = buffer_of(4, 2)
    for number, ends in enumerate([(0, 0), (1, 0), (0, 0)]):
        buffer.add(step_of(number, [bool(e) for e in ends], [False, False]))
    buffer.end_episodes()
    episodes = buffer.episodes()
    assert episodes["valid"].tolist() == [[True, False], [True, False], [False, False]]
    assert episodes["truncated"][-1].tolist() == [True, True]
    for number in (3, 4):
        assert not buffer.full
        buffer.add(step_of(number, [True, True], [False, False]))
    assert buffer.full  # two each, of those that were not abandoned
    assert buffer.episodes()["valid"].sum(0).tolist() == [3, 2]
    buffer.clear()
    buffer.end_episodes()
    assert len(buffer) == 0
