"""Chapter 14's folders: each has one bug, which its experiment shows and no other."""

from __future__ import annotations

import dataclasses

import pytest

from yieldrl.algorithms import ppo
from yieldrl.exercises import chapters
from yieldrl.exercises.ch14_debugging import diagnostics, solution
from yieldrl.exercises.ch14_debugging.diagnostics import BUGS, FOLDERS, Readings
from yieldrl.exercises.ch14_debugging.seen import SEEN
from yieldrl.experiments import ContractError, check_algorithm

HOME = chapters()["ch14"]
NAMES = "end", "ratio", "gradient", "statistics", "credit", "entropy"
INSIDE = dict(zip(FOLDERS, NAMES, strict=True))
SPOILED = {
    "broken_01": {"value"},
    "broken_02": {"approx_kl"},
    "broken_03": {"preferred", "actor", "approx_kl"},
    "broken_04": {"restored"},
    "broken_05": {"sides", "preferred"},
    "broken_06": {"entropy"},
}
"""Folder -> the readings that are not what they should be."""


def spoiled(seen: Readings) -> set[str]:
    healthy = {
        "value": abs(seen.value - 1) < 0.1,
        "sides": abs(seen.sides - 2) < 0.25,
        "preferred": seen.preferred > 0.9,
        "entropy": seen.entropy > 0.9,
        "actor": seen.actor > 0.01,
        "approx_kl": seen.approx_kl > 0.001,
        "restored": seen.restored < 1e-5,
    }
    return {name for name, holds in healthy.items() if not holds}


@pytest.fixture(scope="module")
def readings():
    classes = {folder: diagnostics.trainer_of(folder) for folder in FOLDERS}
    of = {"ppo": ppo.Trainer, **classes}
    return {name: diagnostics.examine(trainer) for name, trainer in of.items()}


def test_ppo_itself_passes_every_experiment(readings):
    assert spoiled(readings["ppo"]) == set()


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_fails_its_own_experiment_and_is_named(readings, folder):
    assert spoiled(readings[folder]) == SPOILED[folder]
    assert solution.diagnose(readings[folder]) == INSIDE[folder]


def test_what_the_check_goes_by_is_what_was_seen(readings):
    assert list(SEEN) == ["none", *INSIDE.values()]
    assert set(SEEN) == set(BUGS)
    for name, (first, *_) in zip(readings, SEEN.values(), strict=True):
        assert readings[name] == pytest.approx(first, rel=0.2, abs=0.1)
        assert spoiled(first) == spoiled(readings[name])


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_a_template_that_trains(folder):
    trainer_class = diagnostics.trainer_of(folder)
    config = diagnostics.settings(total_steps=256, eval_every=256, eval_episodes=1)
    trainer = trainer_class(config)
    kinds = {log["log_type"] for log in trainer()}
    assert kinds == {"collect", "train", "evaluate"}
    assert trainer.name == folder
    paths = list((HOME / folder).glob("*.py"))
    assert {path.name for path in paths} >= {"__init__.py", "__main__.py", "trainer.py"}
    assert sum(len(path.read_text("utf-8").splitlines()) for path in paths) < 100


def curve(trainer_class: type[ppo.Trainer]) -> list[dict[str, float]]:
    """All that 1 024 steps on CartPole log."""
    config = dataclasses.replace(diagnostics.settings(), total_steps=1_024)
    return [
        {name: float(value) for name, value in log["logs"].items()}
        for log in trainer_class(config)()
    ]


def test_cartpole_cannot_tell_the_fifth_from_the_right_one():
    """Every reward is 1 there, so it does not matter whose it is."""
    classes = ppo.Trainer, *map(diagnostics.trainer_of, ("broken_05", "broken_06"))
    right, fifth, sixth = map(curve, classes)
    assert fifth == right
    assert sixth != right


def test_the_contract_of_all_algorithms_finds_two_of_them():
    """One of them by another symptom: its actor came too late for `model.eval()`."""
    found = {}
    for folder in FOLDERS:
        trainer = diagnostics.trainer_of(folder)(diagnostics.settings())
        try:
            check_algorithm(trainer)
        except ContractError as error:
            found[folder] = set(error.found)
    assert found == {
        "broken_03": {"acting_in_eval_mode", "learning_in_train_mode"},
        "broken_04": {"state_dict"},
    }
