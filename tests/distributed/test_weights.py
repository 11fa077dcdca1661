"""Weights arrive whole, or are refused with the name of what differs."""

import dataclasses
import pickle
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, MultiDiscrete
from torch import nn

from yieldrl.algorithms import vla_ppo
from yieldrl.distributed.weights import (
    LARGE,
    AgentCopy,
    SignatureError,
    Store,
    Stored,
    Weights,
    learned,
)


def model(width=3, dtype=torch.float32):
    torch.manual_seed(width)
    return nn.Sequential(nn.Linear(2, width), nn.BatchNorm1d(width)).to(dtype)


HERE = SimpleNamespace(put=deepcopy)  # a cluster without other processes


def sent_of(source, version=1):
    return Weights.of(learned(source), version)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_all_that_was_learned_arrives_bitwise(dtype):
    source, receiver = model(dtype=dtype), model(dtype=dtype)
    with torch.no_grad():
        for x in [*source.parameters(), *source.buffers()]:
            x.copy_(torch.randn(x.shape) * 3)
    weights = sent_of(source)
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
    tensors = Store(HERE, network, None).tensors()
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
    store = Store(HERE, source, None)
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
    source = model()
    store = Store(HERE, source, None)
    first = store.put(1)
    with torch.no_grad():
        source[0].weight += 1
    assert store.put(1) is first
    again, second = store.put(1, again=True), store.put(2)
    for stored in (again, second):
        weight = source[0].weight.detach().numpy()
        assert np.array_equal(stored.weights[0].arrays["0.weight"], weight)
        assert stored.weights[0].version == stored.version
    assert [one.version for one in (first, again, second)] == [1, 1, 2]


@dataclasses.dataclass
class Made:
    """A recipe of an agent with a model."""

    width: int = 3

    def make(self, **changes):
        counters = SimpleNamespace(policy_version=0)
        return SimpleNamespace(model=model(self.width), counters=counters, **changes)


def test_a_copy_lacks_each_version_once_and_of_another_run_the_recipe_too():
    copy, sends = AgentCopy(seed=5), []
    for recipe, version in [("a", 5), ("a", 5), ("a", 6), ("b", 4)]:
        sent = Stored([recipe], [(recipe, version)], version, run=ord(recipe))
        assert copy.is_newer(sent) == ((recipe, version) not in sends)
        lacking = copy.lacks(sent)
        sends += lacking
        here = [
            pickle.dumps(Made()) if isinstance(x, str) else sent_of(model(), x[1])
            for x in lacking
        ]
        agent = copy.load(sent, *here)
        assert agent.counters.policy_version == version
        assert agent.seed == 5
        agent.counters.policy_version = 0  # as a state has it that is restored
    assert sends == [("a", 5), "a", ("a", 6), ("b", 4), "b"]
    assert not copy.is_newer(Stored(["a"], [("a", 7)], 7, run=ord("a")))


def test_another_shape_is_refused_by_name_and_nothing_is_loaded():
    weights = sent_of(model(4), version=7)
    receiver = model(3)
    before = {k: v.clone() for k, v in receiver.state_dict().items()}
    said = r"version 7: 0\.bias was sent as \(\(4,\), .*float32'\).* has \(\(3,\)"
    with pytest.raises(SignatureError, match=said):
        weights.load(receiver)
    for name, x in receiver.state_dict().items():
        assert torch.equal(x, before[name]), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda arrays: arrays.pop("0.bias"), r"signed as .*, and came as nothing"),
        (
            lambda arrays: arrays.update(other=np.zeros(1)),
            "other was signed as nothing",
        ),
        (lambda arrays: arrays.update({"0.bias": np.zeros(3)}), "came as .*float64"),
        (
            lambda arrays: arrays.update({"0.bias": arrays["0.bias"][:1]}),
            r"0\.bias was signed as \(\(3,\), .*came as \(\(1,\)",
        ),
    ],
)
def test_arrays_that_are_not_those_that_were_signed_are_refused(change, said, dtype):
    """One alone would fill all of a tensor; nothing of the others is loaded."""
    source, receiver = (model(dtype=dtype) for _ in "ab")
    with torch.no_grad():
        source[0].weight += 1
    weights = sent_of(source)
    change(weights.arrays)
    before = receiver[0].weight.clone()
    with pytest.raises(SignatureError, match=said):
        weights.load(receiver)
    assert torch.equal(receiver[0].weight, before)


def test_another_dtype_and_a_missing_tensor_are_refused():
    weights = sent_of(model())
    with pytest.raises(SignatureError, match=r"0\.bias was sent as .*float32"):
        weights.load(model(dtype=torch.float64))
    with pytest.raises(SignatureError, match=r"0\.bias .* the receiver has nothing"):
        weights.load(nn.Sequential(nn.Identity(), model()[1]))
