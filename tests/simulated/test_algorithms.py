"""Whatever an algorithm does it does on its model's device, and seldom waits for it."""

from collections import Counter
from itertools import takewhile
from pathlib import Path

import pytest
import simulated.device
import torch
from factories import trainer_of
from simulated.device import DEVICE, WAITS, SimTensor

ROOTS = {"a2c", "dqn", "grpo", "ppo", "ppo_lstm", "q_learning", "reinforce", "sac"}
FOLDERS = sorted((Path(simulated.device.ROOT) / "algorithms").glob("*/__init__.py"))
NAMES = [
    pytest.param(name, marks=[] if name in ROOTS else pytest.mark.slow)
    for name in (folder.parent.name for folder in FOLDERS)
]
BORDER = "to in core/conversion.py:like_input"  # of actions, for NumPy environments
SENTENCES = "vla/backends/decoder.py:__call__"  # made tokens, on the CPU
FIRST = "core/conversion.py:as_array"  # what the very first step returned is looked at
EPISODES = "collectors/statistics.py"  # every 128 steps of all environments
WHOLE = "buffers/episodes.py:full"  # every 16 steps: whether all episodes have ended
DIVERGED = "_local_scalar_dense in abstractions.py:minimize"  # every 100 gradient steps
GROUPS = "buffers/groups.py", "grpo/algorithm.py:prepare", "dapo/algorithm.py"
IMAGINED = *GROUPS, SENTENCES, "imagination/", "minibatches.py:transitions"
IMAGINED = *IMAGINED, "replay.py:add", "replay.py:_starts", "imagined/algorithm.py"
FITTED = "vla/statistics.py", "vla/policy.py:update_normalization"
OF_ROLLOUTS = {
    "behavior_cloning": ("buffers/demonstrations.py",),
    "mbpo": IMAGINED,
    "ppo_imagined": IMAGINED,
    "grpo_imagined": (*IMAGINED, *FITTED),
    "vla_grpo": (*GROUPS, SENTENCES, *FITTED),
    "vla_ppo": (SENTENCES,),
    "vla_ppo_steady": (SENTENCES,),
    "ppo_masked": ("ppo_masked/algorithm.py:prepare",),
    **dict.fromkeys(["dapo", "dr_grpo", "grpo", "gspo", "rloo"], GROUPS),
    "reinforce_pp": (*GROUPS, "reinforce_pp/algorithm.py:relative"),
    "dpo": (*GROUPS, "episode_rows.py"),
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
        acting = BORDER, FIRST, WHOLE, EPISODES, SENTENCES, "hidden.py", "__init__"
        known = DIVERGED, *OF_ROLLOUTS.get(name, ())
        if trainer.config.collection == "async":  # a thread acts meanwhile
            known = *known, BORDER
        assert not places_but(waits.get("train", ()), *known)
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
    first = [wait for wait in waits["collect"].elements() if FIRST in wait]
    assert len(first) == 3  # reward, terminated, truncated
    assert not places_but(waits["collect"], FIRST, EPISODES)
    assert not places_but(waits["train"], DIVERGED)


def test_numbers_cross_to_environments_on_the_cpu_once_a_step():
    with trainer_of("ppo", device=str(DEVICE), total_steps=32) as trainer:
        waits, steps = waits_by_kind(trainer())
    assert waits["collect"][BORDER] == steps["collect"]


def test_mixed_devices_and_waits_are_noticed():
    there = torch.ones(3, device=DEVICE)
    with pytest.raises(RuntimeError, match="one device"):
        there + torch.ones(3)
    assert (there + torch.tensor(1.0)).sum() == 6.0
    simulated.device.wait("nothing")  # not of the package
    assert WAITS == []
