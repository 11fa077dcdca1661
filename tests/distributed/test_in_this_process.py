"""What actors do is right wherever they are: here, all of them are in this process."""

import dataclasses
from types import SimpleNamespace

import factories
import pytest
import torch
from factories import plain

from yieldrl.algorithms import grpo, ppo
from yieldrl.distributed import workers
from yieldrl.distributed.recipes import EnvRecipe, Recipe, pickled
from yieldrl.distributed.weights import Store
from yieldrl.distributed.workers import RolloutWorkerActor

pytest.importorskip("ray", reason="these tests need Ray")
pytestmark = pytest.mark.usefixtures("in_this_process")


def trainer_of(collection="ray", **options):
    own = {"env_id": "yieldrl/CartPole-v1", "num_envs": 4, "total_steps": 96}
    own |= {"max_policy_lag": 0, "eval_every": 48, "eval_episodes": 3, **options}
    trainer = factories.trainer_of(ppo, collection=collection, **own)
    trainer.agent.records_log_prob = True
    return trainer


def change_after_evaluation(trainer, log):
    """What a program may change between two rollouts."""
    if log["log_type"] == "evaluate":
        config = dataclasses.replace(trainer.config, clip_coef=0.01, entropy_coef=0.5)
        trainer.algorithm.config = config


@pytest.mark.parametrize(
    "roles",
    [{"learners": 1}, {"eval_actors": 1}, {"inference_actors": 1}],
)
def test_a_run_has_the_numbers_of_one_without_actors(roles):
    """Also where it goes on, half way, from the state that all of them have.

    And where its config changes.
    """
    sync, expected, found = trainer_of("sync"), [], []
    for log in sync():
        expected.append(plain(log))
        change_after_evaluation(sync, log)
    with trainer_of(**roles) as trainer:
        for half in (len(expected) // 2, len(expected)):
            for log in trainer():
                found.append(plain(log))
                change_after_evaluation(trainer, log)
                if len(found) == half:
                    break
            trainer.load_state_dict(trainer.state_dict())
        pairs = zip(sync.model.parameters(), trainer.model.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
    assert repr(found) == repr(expected)


def test_a_worker_in_place_of_one_that_died_begins_other_episodes(one_ray):
    trainer = trainer_of("sync")
    config = trainer.config.in_one_process(device="cpu")
    recipe = Recipe.of_agent(trainer.agent, config)
    store = Store(SimpleNamespace(put=one_ray.put), trainer.model, recipe, 1, seed=3)
    segments = []
    for life in (0, 1):
        envs = EnvRecipe(config.env_id, config, ppo.Trainer)
        worker = RolloutWorkerActor(pickled(envs), 1, 0, life)
        worker.reset()
        assert worker.report() == {}, "nothing has begun"
        segments.append(worker.collect(3, 0, store.put(0)))
        segments.append(worker.collect(3, 12, store.put(0)))
        worker.envs.close()
    assert [part.breaks for part in segments] == [[], [], [0], []]
    first, _, other, _ = (part.rows["obs"] for part in segments)
    assert first.shape == other.shape == (3, 4, 4)
    assert (first[0] != other[0]).all()


def test_what_workers_are_made_of_is_pickled_once(monkeypatch):
    pickles = []
    monkeypatch.setattr(
        workers, "pickled", lambda value: pickles.append(value) or pickled(value)
    )
    with trainer_of(rollout_workers=4) as trainer:
        assert trainer.collector.collect(2).shape == (2, 4)
    assert len(pickles) == 1


@pytest.mark.parametrize(("module", "reads"), [(ppo, True), (grpo, False)])
def test_workers_send_next_obs_only_where_it_is_learned_from(one_ray, module, reads):
    own = {"env_id": "yieldrl/Pendulum-v1", "num_envs": 8, "collection": "ray"}
    with factories.trainer_of(module, **own) as trainer:
        assert ("next_obs" in set(trainer.collector.collect(2).keys())) is reads
        [request] = trainer.collector.segments.requests
        sent = one_ray.get(request.calls[0].answer).rows
        assert ("next_obs" in sent) is reads
        assert "obs" in sent


def test_a_loop_of_ones_own_updates_as_it_does_without_learners():
    found = []
    for options in ({"collection": "sync"}, {"learners": 1}):
        with trainer_of(**options) as trainer:
            steps = trainer.config.num_steps
            logs = [trainer.update(trainer.collector.collect(steps)) for _ in "ab"]
            found.append([{k: float(x) for k, x in log.items()} for log in logs])
    assert found[0] == found[1]
    assert "loss" in found[0][0]
