"""With its transitions in an actor, a replay buffer draws the batches that it did."""

import factories
import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import plain

from yieldrl.buffers import PrioritizedReplayBuffer, ReplayBuffer
from yieldrl.distributed import Cluster, RemoteReplay, WorkerError, replay

ray = pytest.importorskip("ray", reason="these tests need Ray")
pytestmark = pytest.mark.usefixtures("on_ray")


def trainer_of(name, **options):
    own = {"learning_starts": 24, "train_every": 2, "num_envs": 1}
    own |= {"total_steps": 80, "buffer_size": 40, "max_policy_lag": 0}
    if name == "dqn":
        own["gradient_steps"] = 3
    return factories.trainer_of(name, env_id="yieldrl/CartPole-v1", **own, **options)


def in_actor(name):
    return trainer_of(name, collection="ray", replay_actor=True)


@pytest.mark.parametrize(
    "name", [pytest.param("dqn", marks=pytest.mark.slow), "prioritized_dqn"]
)
def test_training_gives_the_same_numbers(name):
    """To the bit, also of priorities, and after a checkpoint between two samples."""
    alone = trainer_of(name)
    expected = [plain(log) for log in alone()]
    found = []
    with in_actor(name) as trainer:
        assert isinstance(trainer.buffer, RemoteReplay)
        for log in trainer():
            found.append(plain(log))
            if log["learn_step"] == 17:
                break
        trainer.load_state_dict(trainer.state_dict())
        found += [plain(log) for log in trainer()]
        state = trainer.buffer.state_dict()
        assert len(trainer.buffer) == len(alone.buffer)
    assert repr(found) == repr(expected)
    here = alone.make_buffer()
    here.load_state_dict(state)
    batch, expected = here.sample(8), alone.buffer.sample(8)
    assert same(batch.select(*expected.keys()), expected)


class Actors:
    """A cluster whose actors are objects in processes that stay."""

    def __init__(self, processes):
        self.processes = processes

    def actor(self, kind, role, *args):
        return self.processes.actor(kind, *args)


@pytest.fixture
def cluster(processes):
    return Actors(processes)


def same(one, other):
    assert one.keys() == other.keys()
    assert one.device == other.device
    return all(torch.equal(one[k], other[k]) for k in one.keys())  # noqa: SIM118


def step(number):
    numbers = np.full(2, number, np.float32)
    ended = np.array([number % 4 == 3, False])
    parts = {"obs": numbers[:, None], "next_obs": numbers[:, None] + 1}
    parts |= {"action": np.array([number % 2, 0]), "reward": numbers}
    return {**parts, "terminated": ended, "truncated": ~ended & ended}


def buffers(cluster, kind=PrioritizedReplayBuffer, **own):
    """A buffer in an actor, and one here."""
    spaces = gym.spaces.Box(0, 99, (1,)), gym.spaces.Discrete(2)
    options = {"num_envs": 2, "gamma": 0.9, "seed": 4, **own}
    parts = {"observation_space": spaces[0], "action_space": spaces[1], **options}
    return RemoteReplay(cluster, kind, 12, **parts), kind(12, **parts)


def test_batches_and_priorities_are_those_of_a_buffer_here(on_ray, in_this_process):
    """To which an object in this process answers as an actor would."""
    there, here = buffers(Cluster("", {}), n_step=3)
    for number in range(10):
        for buffer in (there, here):
            buffer.add(step(number))
            if number == 5:
                buffer.end_episodes()
        assert len(there) == len(here) == 2 * min(max(number - 1, 0), 4)
        if number >= 2:
            batches = there.sample(4, 0.5), here.sample(4, 0.5)
            assert same(*batches)
            for buffer, batch in zip((there, here), batches, strict=True):
                buffer.update_priorities(batch["index"], batch["reward"])


@pytest.mark.slow
def test_what_does_not_fit_is_said_and_what_is_lost(cluster):
    there, _ = buffers(cluster, ReplayBuffer)
    with pytest.raises(RuntimeError, match="the replay buffer is empty"):
        there.sample(1)
    there.add(step(0))
    there.add({**step(1), "reward": np.zeros(3)})
    with pytest.raises(WorkerError, match=r"replay actor 0: ValueError: .*reward"):
        there.sample(1)


@pytest.mark.slow
@pytest.mark.own_processes("ReplayBufferActor")
def test_when_the_actor_dies_it_is_said_what_is_lost():
    with in_actor("dqn") as trainer:
        for log in trainer():
            if log["learn_step"] == 1:
                break
        ray.kill(trainer.buffer._pool.actors[0])  # which takes a moment
        samples = iter(lambda: trainer.buffer.sample(1), None)
        with pytest.raises(WorkerError, match="the replay actor has died, and its"):
            list(samples)


@pytest.mark.slow
def test_many_writes_are_sent_before_a_sample(cluster, monkeypatch):
    monkeypatch.setattr(replay, "MAX_WRITES", 2)
    there, here = buffers(cluster, ReplayBuffer)
    for number in range(21):
        there.add(step(number))
        here.add(step(number))
        assert len(there._calls) == (number + 1) % 2
    assert same(there.sample(4), here.sample(4))
