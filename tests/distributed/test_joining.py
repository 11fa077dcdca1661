"""Segments that another process joins are those that the program would join."""

import pytest
import torch

from yieldrl.algorithms import ppo
from yieldrl.distributed.segments import join_segments

ray = pytest.importorskip("ray", reason="these tests need Ray")

OPTIONS = {
    "collection": "ray",
    "rollout_workers": 2,
    "replay_actor": True,
    "max_policy_lag": 0,
    "num_envs": 4,
    "num_steps": 8,
    "hidden_sizes": (8,),
    "total_steps": 64,
    "eval_every": 0,
    "device": "cpu",
    "env_id": "yieldrl/CartPole-v1",
}


def trainer_of():
    return ppo.Trainer(ppo.Config(**OPTIONS))


def kill(actor):
    """End it, and return when it has ended."""
    ray.kill(actor)
    while True:
        try:
            ray.get(actor.__ray_ready__.remote())
        except ray.exceptions.RayActorError:
            return


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
@pytest.mark.own_processes("RolloutWorkerActor")
def test_it_joins_as_the_program_does_which_goes_on_when_a_worker_dies(monkeypatch):
    """Nothing is lost that was sent."""
    with trainer_of() as trainer:
        segments = trainer.collector.segments
        asked, joined = [], segments._joined_elsewhere
        monkeypatch.setattr(
            segments,
            "_joined_elsewhere",
            lambda request: asked.append(request) or joined(request),
        )
        first = trainer.collector.collect(4)
        [request] = asked
        part, seconds = ray.get(request.whole)
        parts = [ray.get(call.answer) for call in request.calls]
        assert repr((part, seconds)) == repr(join_segments(*parts))
        assert torch.equal(first["obs"], torch.from_numpy(part.rows["obs"].copy()))

        second = trainer.collector.collect(4)
        kill(segments.pool.actors[1])
        third = trainer.collector.collect(4)
        fourth = trainer.collector.collect(4)
        assert segments.pool.lives == [0, 1]
    left = slice(None, 2)  # of the worker that went on
    for one, next_one in ((first, second), (second, third)):
        goes_on = one["next_obs"][-1, left] == next_one["obs"][0, left]
        assert goes_on.all() or one["terminated"][-1, left].any()
    assert torch.equal(third["next_obs"][-1], fourth["obs"][0])
