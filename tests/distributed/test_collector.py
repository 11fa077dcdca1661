"""Collected on Ray, training is what it is in process."""

import os
import time
from contextlib import suppress
from ctypes import PyDLL
from functools import partial

import factories
import pytest
import torch
from factories import plain
from worlds import Steps, check_rows

from yieldrl.algorithms import dqn
from yieldrl.distributed import RayCollector, WorkerError
from yieldrl.distributed.worker_segments import join_segments
from yieldrl.experiments import on_ray

ray = pytest.importorskip("ray", reason="these tests need Ray")
pytestmark = pytest.mark.usefixtures("on_ray")


def trainer_of(name, collection="ray", **options):
    own = {"total_steps": 128, "num_envs": 4}
    if name in ("dqn", "sac"):
        own = {"total_steps": 64, "num_envs": 1, "train_every": 2}
    own |= {"collection": collection, **options}
    trainer = factories.trainer_of(name, **own)
    if collection == "sync" and hasattr(trainer.algorithm, "evaluated"):
        trainer.agent.records_log_prob = True
    return trainer


AT_NIGHT = [pytest.param(name, marks=pytest.mark.slow) for name in ("grpo", "sac")]


@pytest.mark.parametrize("name", ["ppo", "dqn", *AT_NIGHT])
def test_the_newest_policy_of_one_worker_gives_the_same_numbers(name):
    """Also where it goes on, half way, from the state that it has."""
    pendulum = name in ("sac", "grpo")
    options = {"env_id": f"yieldrl/{'Pendulum' if pendulum else 'CartPole'}-v1"}
    sync = trainer_of(name, "sync", max_policy_lag=0, **options)
    expected, found = [plain(log) for log in sync()], []
    with trainer_of(name, max_policy_lag=0, **options) as trainer:
        assert isinstance(trainer.collector, RayCollector)
        for log in trainer():
            assert log["logs"].get("policy_lag_max", 0) == 0
            found.append(plain(log))
            if len(found) == len(expected) // 2 + 3:
                break
        trainer.load_state_dict(trainer.state_dict())
        found += [plain(log) for log in trainer()]
        assert repr(found) == repr(expected)
        pairs = zip(sync.model.parameters(), trainer.model.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)


def test_workers_share_the_environments_and_their_seeds():
    """Two workers of two environments begin the episodes of one with four."""
    with trainer_of("ppo", "sync") as trainer:
        first = trainer.collector.collect(1)["obs"]
    with trainer_of("ppo", rollout_workers=2) as trainer:
        rollout = trainer.collector.collect(2)
        assert torch.equal(rollout["obs"][:1], first)
        assert torch.equal(rollout["next_obs"][0], rollout["obs"][1])
        halves = rollout["action"].split(2, dim=1)
        assert not torch.equal(*halves), "each worker draws numbers of its own"
        assert reported(trainer.collector, 2) == {0, 1}


def reported(collector, count):
    """The workers whose steps are counted, once so many told of theirs: they do not
    wait until they were heard. After ten minutes those that are there."""
    until, found = time.monotonic() + 600, set()
    while len(found) < count and time.monotonic() < until:
        found = set(collector.statistics()["steps"])
    return found


def test_epsilon_falls_with_the_steps_of_all_workers():
    """Also in segments of two rows that are asked for while the one before is taken."""

    class Watched(dqn.Agent):
        def epsilon(self):
            return float(self.sample_step >= 96)

    class Trainer(dqn.Trainer):
        agent_class = Watched

    config = dqn.Config(num_envs=32, rollout_workers=2, collection="ray", eval_every=0)
    with Trainer(config) as trainer:
        for p in trainer.model.parameters():
            p.data.zero_()  # its choice is always 0
        rollouts = [trainer.collector.collect(2) for _ in range(3)]
    actions = torch.cat([rollout["action"] for rollout in rollouts])
    assert actions.any(1).tolist() == [False] * 3 + [True] * 3


@pytest.mark.slow
def test_what_was_collected_ahead_is_saved():
    with trainer_of("ppo", max_policy_lag=2) as trainer:
        for log in trainer():
            if log["sample_step"] == 40:
                break
        state = trainer.state_dict()
        expected = [part["rows"]["obs"] for part in state["collector"]["parts"]]
        assert state["collector"]["row"] == 2
        assert [len(obs) for obs in expected] == [8, 8]
        trainer.collector.reset(None)
        trainer.load_state_dict(state)
        found = trainer.collector.state_dict()["parts"]
        same = zip(expected, (part["rows"]["obs"] for part in found), strict=True)
        assert all(torch.equal(one, other) for one, other in same)
        assert list(trainer())[-1]["sample_step"] == 128


def test_an_environment_that_raises_is_named_and_the_loop_goes_on():
    workers = {"num_envs": 2, "rollout_workers": 2, "env_kwargs": {"fails_at": 4}}
    with trainer_of("ppo", envs=Steps, **workers) as trainer:
        said = "rollout worker 0: ValueError: the gripper is stuck"
        with pytest.raises(WorkerError, match=said):
            trainer.collector.collect(8)
        with pytest.raises(WorkerError, match=said.replace("0", "1")):
            trainer.collector.collect(8)
        rollout = trainer.collector.collect(16)
        check_rows(rollout)
        assert rollout["obs"].max() == 5


@pytest.mark.slow
@pytest.mark.own_processes("RolloutWorkerActor")
@pytest.mark.parametrize("learners", [0, 1])
def test_a_worker_that_is_killed_is_started_again(learners):
    """No row is lost, none comes twice, and what was finished already is counted."""
    options = {"num_envs": 2, "rollout_workers": 2, "total_steps": 128}
    with trainer_of("ppo", envs=Steps, learners=learners, **options) as trainer:
        lost, seen = [], 0
        for log in trainer():
            seen += log["log_type"] == "collect"
            lost.append(log["logs"].get("lost_segments", 0))
            assert log["logs"].get("policy_lag_max", 0) <= 1
            if trainer.buffer.full:
                check_rows(on_ray.with_obs(trainer, trainer.buffer.rollout()))
            if log["sample_step"] == 20 and log["log_type"] == "collect":
                [request] = trainer.collector.segments.requests
                ray.wait([call.answer for call in request.calls], num_returns=2)
                kill(request.calls[1].actor)
    assert trainer.agent.sample_step == 128
    assert seen == 64
    assert 1 <= max(lost) <= 2
    assert trainer.collector.segments.pool.lives == [0, 1]


class DiesOnce(Steps):
    """Ends its process the first time that it is made in a worker."""

    def __init__(self, path, **options):
        super().__init__(**options)
        if os.getpid() != int(path.read_text()):
            with suppress(FileNotFoundError):
                path.with_suffix(".once").unlink()
                os._exit(1)


@pytest.mark.slow
@pytest.mark.own_processes("RolloutWorkerActor")
def test_a_worker_that_dies_while_it_starts_is_started_again(tmp_path):
    path = tmp_path / "pid"
    path.write_text(str(os.getpid()))
    path.with_suffix(".once").touch()
    with trainer_of("ppo", envs=partial(DiesOnce, path), num_envs=2) as trainer:
        check_rows(trainer.collector.collect(4))
        assert trainer.collector.statistics()["lives"] == [1]


class Hangs(Steps):
    """Holds Python's lock for ever in its fifth step or first reset, the first time."""

    def __init__(self, path, where):
        super().__init__()
        self.path, self.where = path, where

    def reset(self, **options):
        self.hang("reset")
        return super().reset(**options)

    def step(self, action):
        if self.steps == 4:
            self.hang("step")
        return super().step(action)

    def hang(self, where):
        if where == self.where:
            with suppress(FileNotFoundError):
                self.path.unlink()
                PyDLL(None).sleep(1000)


@pytest.mark.slow
@pytest.mark.own_processes("RolloutWorkerActor", "EvalActor")
@pytest.mark.parametrize("where", ["reset", "step"])
def test_a_worker_whose_environments_hang_counts_as_dead(tmp_path, where):
    """Also an actor that evaluates in them."""
    path = tmp_path / "hangs"
    options = {"num_envs": 2, "eval_actors": 1, "env_timeout": 3.0}
    with trainer_of("ppo", envs=partial(Hangs, path, where), **options) as trainer:
        path.touch()
        check_rows(trainer.collector.collect(16))
        assert trainer.collector.segments.pool.lives == [1]
        assert trainer.collector.segments.lost >= 1
        path.touch()
        trainer.evaluate(episodes=2)
        assert trainer.evaluator.actors.lives == [1]


def wait_for_end(worker):
    """Return when it has ended, which Ray notices some time after it was killed."""
    while True:
        try:
            ray.get(worker.__ray_ready__.remote(), timeout=300)
        except ray.exceptions.RayActorError:
            return


def kill(worker):
    """End it, and return when it has ended."""
    ray.kill(worker)
    wait_for_end(worker)


def taken(segments):
    """The oldest segment, which is taken out."""
    part = segments.first()
    segments.remove_first()
    return part


@pytest.mark.own_processes("RolloutWorkerActor")
def test_a_worker_may_die_before_it_begins_and_while_nobody_waits_for_it():
    """So a checkpoint, and the end of a run, do not depend on when it dies."""
    options = {"num_envs": 2, "rollout_workers": 2, "max_policy_lag": 0}
    with trainer_of("ppo", envs=Steps, **options) as trainer:
        segments = trainer.collector.segments
        kill(segments.pool.actors[1])
        first = trainer.collector.collect(4)
        kill(segments.pool.actors[0])
        assert len(trainer.collector.state_dict()["workers"]) == 2
        segments.ask(1, 8)
        segments.ask(1, 10)
        second, third = taken(segments), taken(segments)
        assert segments.pool.lives == [1, 1]
        assert segments.lost == 1  # what was asked of the one that had not begun
    assert first["next_obs"][-1, 0, 0] == 4
    assert second.rows["obs"][0, :, 0].tolist() == [0, 4]
    assert (second.breaks, third.breaks) == ([0], [])


@pytest.mark.slow
def test_what_is_too_old_is_dropped_and_counted():
    """Whenever all are there that were asked for, the oldest makes room for another."""
    options = {"num_envs": 2, "max_policy_lag": 0, "when_stale": "drop"}
    with trainer_of("ppo", envs=Steps, total_steps=64, **options) as trainer:
        segments, logs = trainer.collector.segments, []
        for log in trainer():
            logs.append(log["logs"])
            calls = [call for request in segments.requests for call in request.calls]
            ray.wait([call.answer for call in calls], num_returns=len(calls))
            assert segments.all_arrived
            assert len(segments) == 1
            if trainer.buffer.full:
                check_rows(trainer.buffer.rollout())
        found = trainer.collector.state_dict()["dropped"]
    assert len(logs) == 48  # 32 steps and 16 gradient steps, of 4 segments
    # Three more at the hand-over, of before the newest policy.
    assert found == 16 * (47 + 3)
    assert max(log.get("policy_lag_max", 0) for log in logs) == 0
    assert 0 < max(log.get("dropped_steps", 0) for log in logs) <= found
    assert trainer.agent.sample_step == 64


def test_environments_that_cannot_be_shared_are_refused():
    with pytest.raises(ValueError, match=r"num_envs = 4 .* rollout_workers = 3"):
        trainer_of("ppo", rollout_workers=3)


def test_a_cluster_that_is_too_small_is_said_at_once():
    said = r"rollout_workers = 16 need 16 CPU of the Ray cluster, which has 4 in all"
    with pytest.raises(RuntimeError, match=said):
        trainer_of("ppo", num_envs=16, rollout_workers=16)


@pytest.mark.own_processes("RolloutWorkerActor")
@pytest.mark.slow
def test_environments_are_not_stepped_here_and_end_with_their_workers():
    """A Ray that was there before the trainer is left running."""
    with trainer_of("ppo") as trainer:
        assert trainer.envs.num_envs == 4
        for call in (trainer.envs.reset, lambda: trainer.envs.step(None)):
            with pytest.raises(RuntimeError, match="live in rollout workers on Ray"):
                call()
        assert trainer.evaluate(episodes=2)["logs"]["episodes"] == 2
        workers = trainer.collector.segments.pool.actors
    assert ray.is_initialized()
    for worker in workers:
        wait_for_end(worker)


@pytest.mark.slow
@pytest.mark.own_processes("RolloutWorkerActor")
def test_it_joins_as_the_program_does_which_goes_on_when_a_worker_dies(monkeypatch):
    """Nothing is lost that was sent."""
    options = {"rollout_workers": 2, "replay_actor": True, "max_policy_lag": 0}
    with trainer_of("ppo", env_id="yieldrl/CartPole-v1", **options) as trainer:
        segments = trainer.collector.segments
        asked, joined = [], segments._joined_elsewhere
        monkeypatch.setattr(
            segments,
            "_joined_elsewhere",
            lambda request: asked.append(request) or joined(request),
        )
        first = trainer.collector.collect(4)
        [request] = asked
        part = ray.get(request.joined)
        parts = [ray.get(call.answer) for call in request.calls]
        assert repr(part) == repr(join_segments(*parts))
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
