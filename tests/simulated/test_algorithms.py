"""Whatever an algorithm does it does on its model's device, and seldom waits for it."""

import dataclasses
from collections import Counter
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
import simulated.device
import torch
from factories import trainer_of
from simulated.device import DEVICE, WAITS, SimTensor

from yieldrl.core.packed import PackedCopy

ROOTS = {"a2c", "dqn", "grpo", "ppo", "ppo_lstm", "q_learning", "reinforce", "sac"}
FOLDERS = sorted((Path(simulated.device.ROOT) / "algorithms").glob("*/__init__.py"))
NAMES = [
    pytest.param(name, marks=[] if name in ROOTS else pytest.mark.slow)
    for name in (folder.parent.name for folder in FOLDERS)
]
BORDER = "to in core/conversion.py:"  # of actions, for environments of arrays
SENTENCES = "to in vla/backends/decoder.py:__call__"  # where it acts
READ_ONCE = "_to_copy in vla/backends/decoder.py:__call__"  # of a whole rollout
FIRST = "core/conversion.py:as_array"  # what the very first step returned is looked at
MADE = "__init__", "hidden.py:_check_first_states"  # before the first step
RESET = "envs/batched/inputs.py:_converted"  # of the very first reset
EPISODES = "collectors/statistics.py"  # every 128 steps of all environments
WHOLE = "buffers/episodes.py:full"  # every 16 steps: whether all episodes have ended
DIVERGED = "_local_scalar_dense in abstractions.py:minimize"  # every 100 gradient steps
GROUPS = "_to_copy in buffers/groups.py:of"  # once a rollout
FITTED = "_local_scalar_dense in vla/statistics.py:fitted"  # until it is known
SELECTED = "nonzero in buffers/minibatches.py:selected"
MODELS = (
    SELECTED,  # branches that end, and steps to validate with
    "_local_scalar_dense in imagination/ensemble.py:fit",  # patience, once an epoch
    "tolist in imagination/imagination.py:measure",
    "tolist in imagination/imagining.py:comparison",
    "_local_scalar_dense in buffers/replay.py:add",
    "nonzero in buffers/replay.py:_starts",
)
"""Where a model of the world is fitted and asked, for as long as a rollout takes."""
OF_ROLLOUTS = {
    "behavior_cloning": ("demonstrations.py:__init__", "demonstrations.py:<dictcomp>"),
    "mbpo": MODELS,
    "ppo_imagined": (*MODELS, READ_ONCE),  # and where its model of the world learns
    "grpo_imagined": (*MODELS, GROUPS, FITTED),
    "vla_grpo": (GROUPS, FITTED),
    "vla_ppo": (READ_ONCE,),
    "vla_ppo_steady": (READ_ONCE,),
    "ppo_masked": ("ppo_masked/algorithm.py:prepare",),
    **dict.fromkeys(["dapo", "dpo", "dr_grpo", "grpo", "gspo", "rloo"], (GROUPS,)),
    "reinforce": (SELECTED,),
    "reinforce_pp": (GROUPS,),
}
"""Where a rollout is waited for, or a model of the world: sizes depend on numbers."""


@pytest.fixture(autouse=True)
def none_waited():
    WAITS.clear()


def waits_by_kind(logs):
    """What the device was waited for in steps of each kind, and their number."""
    waits, steps, seen = {}, Counter(), len(WAITS)
    for log in logs:
        kind = log["log_type"]
        waits.setdefault(kind, Counter()).update(WAITS[seen:])
        steps[kind], seen = steps[kind] + 1, len(WAITS)
    return waits, steps


def places_but(waits, *known):
    """Waits at none of the known places."""
    return [x for x in waits if not any(place in x for place in known)]


@pytest.mark.parametrize("name", NAMES)
def test_it_trains_evaluates_saves_and_goes_on_there(name, tmp_path):
    counted = "learn" if name == "behavior_cloning" else "sample"
    length = "learn_steps" if counted == "learn" else "total_steps"
    with trainer_of(name, device=str(DEVICE), **{length: 64}) as trainer:
        half = takewhile(lambda log: log[f"{counted}_step"] < 32, trainer())
        waits, _ = waits_by_kind(half)
        acting = BORDER, FIRST, RESET, WHOLE, EPISODES, SENTENCES, *MADE
        known = DIVERGED, *OF_ROLLOUTS.get(name, ())
        if trainer.config.collection == "async":  # a thread acts meanwhile
            known = *known, BORDER, SENTENCES, "collectors/segments.py"
        assert not places_but(waits.get("train", ()), *known)
        rollouts = 32 // getattr(trainer.config, "batch_size", 32)
        once = [GROUPS] if "imagined" in name else [GROUPS, READ_ONCE]
        assert all(waits.get("train", {}).get(x, 0) <= rollouts for x in once)
        assert not places_but(waits.get("collect", ()), *acting, *known)
        path = trainer.save(tmp_path / "run.pt")
        assert trainer.evaluate(1)["logs"]["episodes"] == 1
    with type(trainer).load(path) as again:
        assert [log[f"{counted}_step"] for log in again()][-1] == 64
        assert all(isinstance(p, SimTensor) for p in again.model.parameters())


WORLDS = ["a2c", "c51", "dqn", "ppo", "ppo_lstm", "rainbow", "sac_discrete"]


@pytest.mark.parametrize("name", WORLDS)
def test_with_worlds_there_a_step_waits_for_nothing(name):
    world = {"env_id": "yieldrl/CartPole-v1", "total_steps": 96}
    with trainer_of(name, device=str(DEVICE), **world) as trainer:
        WAITS.clear()
        waits, _ = waits_by_kind(trainer())
    assert waits["collect"].pop(f"copy_ in {RESET}") == 1
    first = [wait for wait in waits["collect"].elements() if FIRST in wait]
    assert len(first) == 3  # reward, terminated, truncated
    assert not places_but(waits["collect"], FIRST, EPISODES)
    assert not places_but(waits["train"], DIVERGED)


def test_numbers_cross_to_environments_on_the_cpu_once_a_step():
    with trainer_of("ppo", device=str(DEVICE), total_steps=32) as trainer:
        waits, steps = waits_by_kind(trainer())
    assert waits["collect"].total() == steps["collect"]
    assert all(BORDER in wait for wait in waits["collect"])


def test_mixed_devices_and_waits_are_noticed():
    there = torch.ones(3, device=DEVICE)
    with pytest.raises(RuntimeError, match="one device"):
        there + torch.ones(3)
    assert (there + torch.tensor(1.0)).sum() == 6.0
    simulated.device.wait("nothing")  # not of the package
    assert WAITS == []


def test_a_step_of_arrays_goes_over_in_one_copy(monkeypatch):
    copies = Counter()
    monkeypatch.setattr(simulated.device, "COPIES", copies)
    with trainer_of("ppo", device=str(DEVICE), total_steps=64) as trainer:
        kinds = []
        for log in trainer():
            kinds.append((log["log_type"], copies["there"], copies["back"]))
            copies.clear()
    steps = [counts for kind, *counts in kinds if kind == "collect"]
    assert all(there == back == 1 for there, back in steps[1:])


def test_arrays_arrive_and_stay_until_the_call_after_the_next():
    copy = PackedCopy(DEVICE)
    sent = [
        {"obs": {"a": np.full((2, 3), i, np.float64), "b": np.full((2,), i, np.uint8)}}
        for i in range(3)
    ]
    first, second = copy(sent[0]), copy(sent[1])
    assert first["obs"]["a"].dtype == torch.float64
    assert first["obs"]["a"].tolist() == [[0.0] * 3] * 2
    assert second["obs"]["b"].tolist() == [1, 1]
    copy(sent[2])
    assert second["obs"]["a"].tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("name", ["dqn", "ppo_lstm", "sac"])
def test_a_checkpoint_goes_on_on_a_cpu(name, tmp_path):
    with trainer_of(name, device=str(DEVICE), total_steps=64) as trainer:
        next(log for log in trainer() if log["log_type"] == "train")
        path = trainer.save(tmp_path / "run.pt")
        step, weights = trainer.agent.sample_step, trainer.model.state_dict()
    config = dataclasses.replace(trainer.config, device="cpu")
    with type(trainer).load(path, config=config) as again:
        assert again.agent.sample_step == step
        for name, tensor in again.model.state_dict().items():
            assert torch.equal(tensor, weights[name].raw)
        assert [log["sample_step"] for log in again()][-1] == 64
