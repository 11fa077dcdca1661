"""Sizes that cannot be had are refused before memory is taken, with what would fit."""

import math

import numpy as np
import psutil
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from yieldrl.buffers import (
    EpisodeBuffer,
    PrioritizedReplayBuffer,
    ReplayBuffer,
    RolloutBuffer,
    StepBuffer,
)
from yieldrl.buffers import spec as memory
from yieldrl.buffers.spec import check_memory, container_memory

VECTOR, IMAGE = Box(-1, 1, (3,)), Box(0, 255, (84, 84, 4), np.uint8)
CPU = torch.device("cpu")
ENTRY = 2 * 3 * 4 + 8 + 4 + 1 + 1  # of VECTOR and a Discrete action


def free_is(monkeypatch, size):
    monkeypatch.setattr(memory, "free_memory", lambda _: size)


def never(*_, **__):
    raise AssertionError("allocated")


def test_the_error_says_what_would_fit(monkeypatch):
    free_is(monkeypatch, 10_000)
    check_memory(100, 100, CPU, field="num_steps", value=10)
    text = (
        r"num_steps = 11 .* \(110 transitions of 100 bytes\), cpu has .* at most 80"
        r" transitions would fit comfortably, choose num_steps = 8 or less"
    )
    with pytest.raises(MemoryError, match=text):
        check_memory(110, 100, CPU, field="num_steps", value=11)
    with pytest.raises(MemoryError, match="not even num_steps = 1 would fit"):
        check_memory(10**9, 100, CPU, field="num_steps", value=10)


KINDS = {
    RolloutBuffer: ({}, "num_steps"),
    ReplayBuffer: ({"gamma": 0.9}, "buffer_size"),
    PrioritizedReplayBuffer: ({"gamma": 0.9}, "buffer_size"),
}


def test_absurd_sizes_are_refused_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr(torch, "zeros", never)
    for kind, (options, field) in KINDS.items():
        with pytest.raises(MemoryError, match=rf"{field} = 1,000,000,000,000 takes"):
            kind(10**12, IMAGE, Discrete(6), num_envs=8, **options)
    for kind, episodes in ((StepBuffer, ()), (EpisodeBuffer, (10**12,))):
        with pytest.raises(MemoryError, match=r"num_envs = 1,000,000,000,000 takes"):
            kind(*episodes, IMAGE, Discrete(6), num_envs=10**12)


@pytest.mark.parametrize(
    ("kind", "beside"),
    [
        (ReplayBuffer, 0),
        (PrioritizedReplayBuffer, 9),  # the sum tree
        # An epoch's copy: obs, action, four numbers of learning, and its order.
        (RolloutBuffer, 3 * 4 + 8 + 4 * 4 + 8),
    ],
)
def test_what_lies_beside_the_entries_counts(kind, beside, monkeypatch):
    options, _ = KINDS[kind]
    free_is(monkeypatch, 60 * (ENTRY + beside))
    kind(60, VECTOR, Discrete(2), num_envs=1, **options)
    with pytest.raises(MemoryError, match=f"of {ENTRY + beside} bytes"):
        kind(61, VECTOR, Discrete(2), num_envs=1, **options)


def test_a_gpu_is_asked_for_its_own_memory(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (1000, 10**12))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 300)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 100)
    device = torch.device("cuda:0")
    check_memory(1, 1200, device, field="buffer_size", value=1)
    with pytest.raises(MemoryError, match=r"cuda:0 has 0.0 GiB free"):
        check_memory(1, 1201, device, field="buffer_size", value=1)


def test_a_container_may_use_less_than_the_machine_has(tmp_path, monkeypatch):
    assert container_memory(tmp_path) == math.inf
    for name, content in (("max", "1000\n"), ("current", "700\n")):
        (tmp_path / f"memory.{name}").write_text(content)
    (tmp_path / "memory.stat").write_text("anon 600\ninactive_file 50\n")
    assert container_memory(tmp_path) == 350
    monkeypatch.setattr(memory, "container_memory", lambda: 350)
    assert memory.free_memory(CPU) == 350
    (tmp_path / "memory.max").write_text("max\n")
    assert container_memory(tmp_path) == math.inf
    monkeypatch.setattr(memory, "container_memory", lambda: math.inf)
    available = psutil.virtual_memory().available
    assert memory.free_memory(CPU) == pytest.approx(available, rel=0.5)
