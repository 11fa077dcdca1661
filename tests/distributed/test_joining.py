"""Segments that a replay actor joins are those that the program would join."""

import ray
import torch

from yieldrl.algorithms import ppo
from yieldrl.distributed.joining import Joining

OPTIONS = {
    "collection": "ray",
    "rollout_workers": 2,
    "max_policy_lag": 0,
    "num_envs": 4,
    "num_steps": 8,
    "hidden_sizes": (8,),
    "total_steps": 64,
    "eval_every": 0,
    "device": "cpu",
    "env_id": "yieldrl/CartPole-v1",
}


def trainer_of(**options):
    return ppo.Trainer(ppo.Config(**OPTIONS, **options))


def kill(actor, method):
    """End it, and return when it has ended."""
    ray.kill(actor)
    while True:
        try:
            ray.get(getattr(actor, method).remote())
        except ray.exceptions.RayActorError:
            return


def test_training_gives_the_same_numbers_and_takes_them_from_the_actor(monkeypatch):
    answers, found = [], []
    get = Joining.get
    monkeypatch.setattr(
        Joining, "get", lambda *a: answers.append(get(*a)) or answers[-1]
    )
    for in_actor in (False, True):
        with trainer_of(replay_actor=in_actor) as trainer:
            found.append([log["logs"] for log in trainer()])
    assert repr(found[0]) == repr(found[1])
    assert [part.rows["obs"].shape for part, _ in answers] == [(8, 4, 4)] * 2
    assert all(len(seconds) == 2 for _, seconds in answers)


def test_the_actor_and_a_worker_may_die():
    """Then the program joins what workers send, and nothing is lost that was sent."""
    with trainer_of(replay_actor=True) as trainer:
        segments = trainer.collector.segments
        kill(segments.joining.actor, "joined")
        first = trainer.collector.collect(4)
        assert (segments.joining.lives, segments.pool.lives) == ([1], [0, 0])
        kill(segments.pool.actors[1], "report")
        second = trainer.collector.collect(4)
        third = trainer.collector.collect(4)
        assert (segments.joining.lives, segments.pool.lives) == ([1], [0, 1])
    left = slice(None, 2)  # of the worker that went on
    for one, next_one in ((first, second), (second, third)):
        goes_on = one["next_obs"][-1, left] == next_one["obs"][0, left]
        assert goes_on.all() or one["terminated"][-1, left].any()
    assert torch.equal(second["next_obs"][-1], third["obs"][0])
