"""Weights arrive whole, or are refused with the name of what differs."""

from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, MultiDiscrete
from torch import nn

from yieldrl.algorithms import vla_ppo
from yieldrl.distributed import RolloutWorkerActor
from yieldrl.distributed.weights import (
    LARGE,
    SignatureError,
    StoredVersion,
    Weights,
    WeightStore,
    learned,
)


def model(width=3, dtype=torch.float32):
    torch.manual_seed(width)
    return nn.Sequential(nn.Linear(2, width), nn.BatchNorm1d(width)).to(dtype)


def sent(source, version=1):
    return Weights.of(learned(source), version)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_all_that_was_learned_arrives_bitwise(dtype):
    source, receiver = model(dtype=dtype), model(dtype=dtype)
    with torch.no_grad():
        for x in [*source.parameters(), *source.buffers()]:
            x.copy_(torch.randn(x.shape) * 3)
    weights = sent(source)
    for array in weights.arrays.values():
        array.flags.writeable = False  # as those are that Ray fetches
    receiver.requires_grad_(False)  # as of a model that only acts
    weights.load(receiver)
    for name, x in source.state_dict().items():
        assert torch.equal(x, receiver.state_dict()[name]), name
    with torch.no_grad():
        receiver[0].weight.zero_()
    assert np.abs(weights.arrays["0.weight"]).sum() > 0, "they share no memory"


def test_frozen_parameters_do_not_travel():
    source = model()
    source[0].requires_grad_(False)
    assert learned(source).keys() == {f"1.{name}" for name in source[1].state_dict()}


def test_with_adapters_only_they_and_new_parts_travel():
    """1 024 bytes of adapters, 1 348 of the value head, and 128 of a new token."""
    for package in ("transformers", "peft"):
        pytest.importorskip(package, reason="this model needs yieldrl[vla]")
    config = vla_ppo.Config(
        lora_rank=2,
        model_config={"width": 16, "layers": 1, "heads": 2, "vision_width": 8},
        chunk_length=2,
        device="cpu",
    )
    space = Dict({"rgb": Box(0, 255, (32, 32, 3), np.uint8)})
    network = vla_ppo.Model(space, MultiDiscrete([4, 4]), config)
    buffers = dict(network.named_buffers())
    tensors = WeightStore(None, network).tensors()
    sizes = {"lora_": 0, "value_head": 0, "placeholders": 0}
    for name in tensors.keys() - buffers.keys():
        (kind,) = (kind for kind in sizes if kind in name)
        sizes[kind] += tensors[name].nbytes
    assert sizes == {"lora_": 1024, "value_head": 1348, "placeholders": 128}
    assert sum(x.nbytes for x in buffers.values()) < 100


class Masked(nn.Module):
    """A layer with statistics, and a large buffer that nobody changes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("mask", torch.ones(LARGE + 1, dtype=torch.bool))
        self.register_buffer("average", torch.zeros(LARGE))


def test_large_buffers_travel_once_they_have_changed():
    """Small ones always do: statistics, which learning moves."""
    source = Masked()
    store = WeightStore(None, source)
    always = {name for name, _ in source.named_parameters()}
    always |= {f"norm.{name}" for name, _ in source.norm.named_buffers()}
    assert store.tensors().keys() == always
    source.average[7] = 1
    assert store.tensors().keys() == {*always, "average"}
    source.average[7] = 0
    assert store.tensors().keys() == {*always, "average"}, "receivers have the 1"
    receiver = Masked()
    Weights.of(store.tensors(), 1).load(receiver)
    assert receiver.average.equal(source.average)


def test_a_version_is_stored_once_and_if_asked_again():
    source, cluster = model(), SimpleNamespace(put=deepcopy)
    store = WeightStore(cluster, source)
    first = store.put(1)
    with torch.no_grad():
        source[0].weight += 1
    assert store.put(1) is first
    again, second = store.put(1, again=True), store.put(2)
    for stored in (again, second):
        weight = source[0].weight.detach().numpy()
        assert np.array_equal(stored.refs[0].arrays["0.weight"], weight)
        assert stored.refs[0].version == stored.version
    assert [one.version for one in (first, again, second)] == [1, 1, 2]


def test_a_worker_fetches_each_version_once():
    """And one that was started again fetches the newest."""

    class Fetched(StoredVersion):
        def fetch(self):
            fetched.append(self.version)
            return sent(source, self.version)

    fetched = []
    source, receiver = model(), model()
    for _ in range(2):
        worker = object.__new__(RolloutWorkerActor)
        versions = []
        agent = SimpleNamespace(model=receiver, counters=SimpleNamespace())
        worker._actor = SimpleNamespace(agent=agent, set_version=versions.append)
        worker._loaded = None
        worker._act_with(Fetched(5, []), None)
        worker._act_with(Fetched(5, []), None)
        worker._act_with(Fetched(6, []), None)
        assert versions == [5, 6]
    assert fetched == [5, 6] * 2


def test_another_shape_is_refused_by_name_and_nothing_is_loaded():
    weights = sent(model(4), version=7)
    receiver = model(3)
    before = {k: v.clone() for k, v in receiver.state_dict().items()}
    said = r"version 7: 0\.bias was sent as \(\(4,\), .*float32'\).* has \(\(3,\)"
    with pytest.raises(SignatureError, match=said):
        weights.load(receiver)
    for name, x in receiver.state_dict().items():
        assert torch.equal(x, before[name]), name


def test_another_dtype_and_a_missing_tensor_are_refused():
    weights = sent(model())
    with pytest.raises(SignatureError, match=r"0\.bias was sent as .*float32"):
        weights.load(model(dtype=torch.float64))
    with pytest.raises(SignatureError, match=r"0\.bias .* the receiver has nothing"):
        weights.load(nn.Sequential(nn.Identity(), model()[1]))
