"""What actors do is right wherever they are: here, all of them are in this process."""

import dataclasses
import itertools
from contextlib import closing
from types import SimpleNamespace

import factories
import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import plain, saved_and_loaded
from gymnasium.spaces import Box, Dict
from worlds import Steps, check_rows

from yieldrl.algorithms import dapo, grpo, ppo
from yieldrl.distributed import references, workers
from yieldrl.distributed.actors import DeadWorkerError, answer_of
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.recipes import EnvRecipe, Recipe, pickled
from yieldrl.distributed.weights import Store
from yieldrl.distributed.workers import RolloutWorkerActor
from yieldrl.experiments import on_ray

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


@pytest.mark.parametrize(
    ("module", "learners", "sent"),
    [(ppo, 0, {"obs", "next_obs"}), (grpo, 0, {"obs"}), (grpo, 1, set())],
)
def test_workers_send_observations_where_they_are_read(one_ray, module, learners, sent):
    """And a caller gets those that the algorithm's rollouts have."""
    own = {"env_id": "yieldrl/Pendulum-v1", "num_envs": 8, "collection": "ray"}
    with factories.trainer_of(module, learners=learners, **own) as trainer:
        rollout = set(trainer.collector.collect(2).keys())
        assert {"obs", "next_obs"} & rollout == sent | {"obs"}
        [request] = trainer.collector.segments.requests
        part = one_ray.get(request.calls[0].answer)
        assert {"obs", "next_obs"} & part.rows.keys() == sent
        assert [one_ray.get(x).keys() for x in part.aside] == [{"obs"}] * learners


def nested():
    """CartPole, in numbers that float32 does not hold."""
    space = Dict(thirds=Box(-9, 9, (4,), np.float64))
    thirds = lambda obs: {"thirds": obs / np.float64(3)}  # noqa: E731
    return gym.wrappers.TransformObservation(gym.make("CartPole-v1"), thirds, space)


def next_log(trainer):
    with closing(trainer()) as loop:
        return next((plain(log) for log in loop), None)


@pytest.mark.parametrize(
    ("module", "options"),
    [
        (ppo, {"envs": nested, "max_policy_lag": 0}),
        pytest.param(
            ppo, {"envs": nested, "replay_actor": True}, marks=pytest.mark.slow
        ),
        (ppo, {"envs": nested, "max_policy_lag": 1, "normalize_observation": True}),
        (ppo, {"envs": nested, "max_policy_lag": 2, "wait_for_all": False}),
        (dapo, {"env_id": "yieldrl/Pendulum-v1", "batch_episodes": 12}),
    ],
)
def test_a_learner_that_takes_observations_gives_the_numbers_of_none(module, options):
    """The loop is left after each step, and goes on from the other trainer's state.

    In between the program takes a rollout for itself, and learns from it.
    """
    own = {"num_envs": 4, "rollout_workers": 2, "total_steps": 160, **options}
    own |= {"collection": "ray", "eval_every": 0}
    one, other = pair = [
        factories.trainer_of(module, learners=n, **own) for n in (1, 0)
    ]
    with one, other:
        for number in itertools.count():
            log, expected = map(next_log, pair)
            assert repr(log) == repr(expected)
            if log is None:
                break
            assert not {"obs", "next_obs"} & set(one.buffer.rollout().keys())
            if number % 5 == 2:
                states = [saved_and_loaded(trainer.state_dict()) for trainer in pair]
                learns = states[1]["buffer"]["minibatches"] is not None
                one.load_state_dict(states[0 if learns else 1])
                other.load_state_dict(states[1 if learns else 0])
            if number == 13:
                rollouts = [trainer.collector.collect(5) for trainer in pair]
                assert (rollouts[0]["obs"] == rollouts[1]["obs"]).all()
                logs = [t.update(x) for t, x in zip(pair, rollouts, strict=True)]
                found = [{k: float(x) for k, x in log.items()} for log in logs]
                assert found[0] == found[1] or module is dapo
        weights = (trainer.model.parameters() for trainer in pair)
        assert all(torch.equal(*both) for both in zip(*weights, strict=True))
        [learner] = one._learners.actors
        assert module is dapo or len(learner._held.taken._segments) <= 3
    assert number > 20


@pytest.mark.parametrize("waits", [True, False])
def test_a_segment_whose_observations_are_lost_is_collected_again(monkeypatch, waits):
    """It was finished, and no learner had them: its worker's node has died, say."""
    lost = iter([False] * 5 + [True])  # both workers' parts of two rollouts before

    def answer(who, reference):
        if next(lost, False):
            raise DeadWorkerError(f"{who} is lost: OwnerDiedError")
        return answer_of(who, reference)

    monkeypatch.setattr(references, "answer_of", answer)
    monkeypatch.setattr(Cluster, "kill", lambda *_: None)
    own = {"num_envs": 4, "rollout_workers": 2, "learners": 1, "total_steps": 320}
    own |= {"collection": "ray", "max_policy_lag": 2, "wait_for_all": waits}
    with factories.trainer_of(ppo, envs=Steps, **own) as trainer:
        continues, segments = [], trainer.collector.segments
        for log in trainer():
            if log["log_type"] == "collect" and trainer.buffer.full:
                check_rows(on_ray.with_obs(trainer, trainer.buffer.rollout()))
                continues.append(trainer.buffer.continues)
        assert (segments.pool.lives, segments.lost) == ([0, 1], 1 + waits)
        assert continues == [waits, True, False, *[True] * 7], "none is missing"
