"""Rollouts have the parts that arrive first, and none is older than it may be."""

import time
from functools import partial
from types import SimpleNamespace

import factories
import numpy as np
import pytest
from worlds import Steps, check_rows

from yieldrl.algorithms import dqn, grpo, ppo
from yieldrl.collectors.segments import Segment
from yieldrl.distributed.actors import Call, DeadWorkerError
from yieldrl.distributed.first_segments import FirstSegments
from yieldrl.distributed.weights import Stored

ON_RAY = {"collection": "ray", "wait_for_all": False}


class Racing:
    """A pool of three workers, and as much of Ray as tells which of them are `fast`.

    Others answer when nobody else may. Each part has its worker's number as reward.
    """

    count, config = 3, SimpleNamespace(num_envs=1)
    inference = SimpleNamespace(
        actor_of=lambda _: None, count=0, ask_each=lambda *_: []
    )
    stats = SimpleNamespace(actors=[None])

    def __init__(self):
        self.cluster = SimpleNamespace(ray=self)
        self.fast, self.dead, self.asked = {0, 1, 2}, set[int](), []

    def ask(self, index, method, *args):
        self.asked.append((index, args[2].version))
        return Call(index, None, method, args, (index, len(self.asked)))

    def ask_each(self, method, args):
        return [f"{method} {index}" for index in range(len(args))]

    def wait(self, answers, num_returns, timeout):
        ready = [each for each in answers if each[0] in self.fast]
        return ready or (answers[:1] if timeout else []), []

    def get(self, call):
        if call.index in self.dead:
            self.dead.remove(call.index)
            raise DeadWorkerError("rollout worker has died")
        rows, _, sent, reset, *_ = call.args
        reward = np.full((rows, 1), call.index)
        breaks = [0] if reset else []
        return Segment({"reward": reward}, [{}] * rows, breaks, sent.version)

    def replace(self, index, dead, error):
        self.fast.discard(index)  # it takes a while to start


class Learning:
    """Takes segments, and learns after each."""

    def __init__(self, lag, num_rows=1):
        self.pool, self.agent = Racing(), SimpleNamespace(policy_version=0)
        self.segments = FirstSegments(self.pool, self.agent, max_policy_lag=lag)
        self.segments._store = SimpleNamespace(
            stored=None, put=lambda v: Stored([], [], v)
        )
        self.segments.started, self.num_rows = True, num_rows
        for _ in range(lag):
            self.segments.ask(num_rows, 0)

    def take(self):
        """Whose parts the next segment has, whether it cuts episodes, and its lag."""
        part = self.segments.first()
        self.segments.remove_first()
        lag, self.agent.policy_version = (
            self.agent.policy_version - part.version,
            self.agent.policy_version + 1,
        )
        self.segments.ask(self.num_rows, 0)
        return part.rows["reward"][0].tolist(), part.breaks == [0], lag


def test_a_slow_worker_is_waited_for_only_when_its_part_would_become_too_old():
    """In place of its part there is a second one of a fast worker."""
    learning = Learning(lag=2)
    assert learning.take() == ([0, 1, 2], True, 0)
    learning.pool.fast = {0, 1}
    assert learning.take() == ([0, 1, 0], True, 1)
    assert learning.take() == ([0, 1, 2], True, 2), "its last chance"
    assert learning.take() == ([0, 1, 0], True, 1)
    learning.pool.fast = {0, 1, 2}
    assert learning.take() == ([0, 1, 2], True, 2)
    assert learning.take() == ([0, 1, 2], False, 1), "all go on where they were"


def test_with_a_lag_of_one_only_parts_of_now_may_be_missing():
    learning = Learning(lag=1)
    learning.pool.fast = {1}
    assert learning.take() == ([1, 1, 1], True, 0)
    assert learning.take() == ([0, 1, 2], True, 1)


def test_a_dead_worker_holds_up_nobody_and_its_part_is_counted():
    learning = Learning(lag=2)
    learning.pool.dead, learning.pool.fast = {1}, {0, 1}
    assert learning.take() == ([0, 0, 0], True, 0)
    assert learning.segments.lost == 1
    learning.pool.fast = {0, 1, 2}
    assert learning.take() == ([0, 1, 2], True, 1)


def test_a_checkpoint_has_a_part_of_each_and_then_all_go_on():
    """Parts of another length than the next segment are given up, and counted."""
    learning = Learning(lag=1, num_rows=2)
    learning.take()
    before = len(learning.pool.asked)
    state = learning.segments.state_dict()
    assert len(learning.pool.asked) == before, "they rest"
    assert state["workers"] == ["state_dict 0", "state_dict 1", "state_dict 2"]
    assert state["parts"][0]["rows"]["reward"].tolist() == [[0, 1, 2]] * 2
    assert learning.take() == ([0, 1, 2], False, 1)
    learning.segments.give_up()
    learning.segments.ask(2, 0)
    learning.segments.requests = [
        SimpleNamespace(num_rows=1, sample_step=0, segment=None)
    ]
    learning.segments.requests[0].older = False
    part = learning.segments.first()
    assert len(part.logs) == 1
    assert part.breaks == [0]
    assert learning.segments.dropped == 6


@pytest.mark.parametrize(
    ("module", "options", "said"),
    [
        (dqn, {}, "dqn needs the steps of all environments"),
        (grpo, {"num_envs": 8}, "grpo needs the steps of all environments"),
        (ppo, {"max_policy_lag": 0}, "all workers act by the newest policy"),
        (ppo, {"when_stale": "drop"}, "goes with when_stale='wait'"),
        (ppo, {"replay_actor": True}, "and without replay_actor"),
        (ppo, {"collection": "sync"}, "is for workers of collection='ray'"),
    ],
)
def test_who_cannot_learn_from_the_first_is_refused(module, options, said):
    with pytest.raises(ValueError, match=f"wait_for_all = False: .*{said}"):
        module.Trainer(module.Config(**{**ON_RAY, "eval_every": 0, **options}))


class Uneven(Steps):
    """Slow in the worker that makes the file."""

    def __init__(self, path):
        super().__init__()
        try:
            path.touch(exist_ok=False)
            self.slow = 0.05
        except FileExistsError:
            self.slow = 0.0

    def step(self, action):
        time.sleep(self.slow)
        return super().step(action)


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
@pytest.mark.own_processes("RolloutWorkerActor")
def test_rollouts_are_whole_while_one_worker_is_slow_and_another_one_dies(tmp_path):
    """Also after a checkpoint; rows continue each other, and none is too old."""
    ray = pytest.importorskip("ray", reason="this test needs Ray")
    own = {"num_envs": 3, "rollout_workers": 3, "max_policy_lag": 2, "num_steps": 8}
    options = {**ON_RAY, **own, "total_steps": 480, "eval_every": 0}
    envs = partial(Uneven, tmp_path / "slow")
    with factories.trainer_of("ppo", envs=envs, **options) as trainer:
        pool, seen = trainer.collector.segments.pool, set()
        for log in trainer():
            assert log["logs"].get("policy_lag_max", 0) <= 2
            if trainer.buffer.full:
                rollout = trainer.buffer.rollout()
                check_rows(rollout)
                seen.add(len(rollout["policy_version"][0].unique()))
            if log["log_type"] == "collect" and log["sample_step"] == 120:
                trainer.load_state_dict(trainer.state_dict())
                ray.kill(pool.actors[1])
        assert trainer.agent.sample_step == 480
        assert pool.lives == [0, 1, 0]
    assert max(seen) > 1, "parts by different policies"
