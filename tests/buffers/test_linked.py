"""Rows that hold observations once are, to the reader, those that hold them twice."""

import copy

import numpy as np
import pytest
import torch
from factories import saved_and_loaded
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector.utils import batch_space

from yieldrl.buffers import RolloutBuffer

STEPS, ENVS = 5, 3
PICTURES = Box(0, 255, (3, 6, 6), np.uint8)
NESTED = Dict(camera=PICTURES, body=Dict(joints=Box(-9, 9, (2,))))


def buffer_of(space=NESTED, linked=True):
    parts = {"num_envs": ENVS, "linked": linked}
    return RolloutBuffer(STEPS, space, Discrete(2), **parts)


def kept_bytes(buffer):
    """Of last observations, beside the rows."""
    found = [last.values() for _, last in buffer._storage._last.values()]
    return sum(tensor.nbytes for tensors in found for tensor in tensors)


class World:
    """Steps of episodes that end by chance, with what a collector writes of them."""

    def __init__(self, space=NESTED, ends=0.3, seed=0):
        self.rng, self.ends = np.random.default_rng(seed), ends
        space = batch_space(space, ENVS)
        space.seed(seed)
        self.look = space.sample
        self.obs = self.look()

    def step(self):
        last, begun = self.look(), self.look()
        flags = self.rng.random((2, ENVS)) < self.ends
        row = {
            "obs": self.obs,
            "next_obs": last,
            "action": self.rng.integers(0, 2, ENVS),
            "reward": self.rng.random(ENVS),
            "terminated": flags[0],
            "truncated": flags[1] & ~flags[0],
        }
        self.obs = chosen(flags.any(0), begun, last)
        return row


def chosen(where, new, old):
    if isinstance(new, dict):
        return {name: chosen(where, new[name], old[name]) for name in new}
    return np.where(where.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def check_equal(one, other):
    one, other = one.flatten_keys(), other.flatten_keys()
    assert set(one.keys()) == set(other.keys())
    for name, tensor in one.items():
        assert tensor.dtype == other[name].dtype
        assert torch.equal(tensor, other[name]), name


@pytest.mark.parametrize("space", [NESTED, PICTURES])
def test_every_rollout_is_that_of_a_buffer_that_stores_both(space):
    """After every row of several rollouts, with episodes that are given up too."""
    world = World(space)
    linked, plain = (buffer_of(space, linked=once) for once in (True, False))
    for number in range(4 * STEPS):
        if number in (3, 10, 12):  # other episodes begin in this row
            world.obs = world.look()
            linked.end_episodes()
            plain.end_episodes()
        row = world.step()
        linked.add(row)
        plain.add(row)
        check_equal(linked.rollout(), plain.rollout())
        if linked.full:
            linked.clear()
            plain.clear()


def test_pictures_take_half_of_the_bytes():
    """uint8 `[T, N, 3, 6, 6]` once, the last row's, and those of ended episodes."""
    world, buffer = World(PICTURES, ends=0.1), buffer_of(space=PICTURES)
    rows = [world.step() for _ in range(STEPS)]
    for row in rows:
        buffer.add(row)
    ended = sum((row["terminated"] | row["truncated"]).sum() for row in rows)
    assert ended > 0
    picture, rest = 3 * 6 * 6, 8 + 4 + 1 + 1  # action, reward, flags
    leaves = buffer._storage._leaves.values()
    memory = {leaf.tensor.untyped_storage().data_ptr(): leaf.tensor for leaf in leaves}
    stored = sum(tensor.untyped_storage().nbytes() for tensor in memory.values())
    assert stored == STEPS * ENVS * (picture + rest) + ENVS * picture
    assert kept_bytes(buffer) == ended * picture


def test_a_copy_has_memory_of_its_own():
    world, buffer = World(PICTURES), buffer_of(PICTURES)
    rows = [world.step() for _ in range(3)]
    for row in rows[:2]:
        buffer.add(row)
    other = copy.deepcopy(buffer)
    other.add(rows[2])
    before = buffer.rollout().clone()
    for _ in range(3):
        other.clear()
        other.add(world.step())
    check_equal(buffer.rollout(), before)
    buffer.add(rows[2])
    assert torch.equal(buffer.rollout()["obs"][2], torch.from_numpy(rows[2]["obs"]))


@pytest.mark.parametrize("rows", [STEPS, 2])
def test_a_state_is_that_of_a_buffer_that_stores_both(rows):
    world = World()
    linked, plain = (buffer_of(linked=once) for once in (True, False))
    for _ in range(rows):
        row = world.step()
        for buffer in (linked, plain):
            buffer.add(row)
    state = saved_and_loaded(linked.state_dict())
    for once in (True, False):  # each takes what the other saved
        other = buffer_of(linked=once)
        other.load_state_dict(state if once else plain.state_dict())
        check_equal(other.rollout(), plain.rollout())
        swapped = buffer_of(linked=once)
        swapped.load_state_dict(plain.state_dict() if once else state)
        check_equal(swapped.rollout(), plain.rollout())
    other = buffer_of()
    other.load_state_dict(state)
    assert kept_bytes(other) == kept_bytes(linked)
    while not plain.full:
        row = world.step()
        other.add(row)
        plain.add(row)
    check_equal(other.rollout(), plain.rollout())


def test_next_observations_that_are_not_there_are_missed():
    buffer, world = buffer_of(), World()
    buffer.add(world.step())
    row = world.step()
    narrow = {**row["next_obs"], "camera": np.zeros((ENVS, 3, 6, 5), np.uint8)}
    for wrong in ({**row, "next_obs": narrow}, {**row, "next_obs": {}}):
        with pytest.raises(ValueError, match="next_obs"):
            buffer.add(wrong)
        assert len(buffer) == 1
    state = buffer.state_dict()
    del state["storage"]["next_obs"]
    with pytest.raises(ValueError, match=r"'next_obs.camera' .* missing"):
        buffer_of().load_state_dict(state)
