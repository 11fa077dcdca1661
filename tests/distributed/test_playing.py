"""Actors that play single episodes have the numbers of this process."""

import pytest

from yieldrl.algorithms import ppo
from yieldrl.experiments.suites import SuiteEvaluation, SuiteResults

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("on_ray")]

TASKS = {"few": {"num_objects": 2}, "many": {"num_objects": 6}}


@pytest.fixture(scope="module")
def trainer():
    config = ppo.Config(
        env_id="yieldrl/GoTo-v1",
        env_kwargs={"height": 4, "width": 4, "max_episode_steps": 9},
        hidden_sizes=(8,),
        eval_every=0,
        device="cpu",
        seed=2,
    )
    with ppo.Trainer(config) as trainer:
        yield trainer


def played(trainer, path, tasks=TASKS, **options):
    results = SuiteResults(path, {"tasks": tasks})
    evaluation = SuiteEvaluation(trainer, tasks, results, 3, seed=3, **options)
    try:
        assert len([*evaluation]) == 3 * len(tasks)
    finally:
        evaluation.close()
    return {key: one._replace(seconds=0) for key, one in results.outcomes.items()}


def test_every_number_is_that_of_this_process(trainer, tmp_path):
    expected = played(trainer, tmp_path / "a.json")
    found = played(trainer, tmp_path / "b.json", workers=2, ray=True)
    assert found == expected
    assert len({one.length for one in expected.values()}) > 1
