"""Inference actors act for many workers as each would by its own copy of the policy."""

import asyncio
import pickle
from collections import defaultdict
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import algorithm_of, config_of, plain
from worlds import Steps, check_rows

from yieldrl.algorithms import dqn, ppo, ppo_lstm
from yieldrl.distributed import (
    InferenceActor,
    Weights,
    WorkerError,
    inference,
)
from yieldrl.distributed.actors import DeadWorkerError
from yieldrl.distributed.inference import InferencePool, RemoteAgent
from yieldrl.distributed.recipes import Recipe
from yieldrl.distributed.weights import AgentCopy, Stored, learned

SPACES = gym.spaces.Box(-9, 9, (4,)), gym.spaces.Discrete(2)
PASSES = {"num_envs": 4, "total_steps": 128, "eval_every": 0}


def ray_config(**options):
    own = {**PASSES, "collection": "ray", "inference_actors": 1, **options}
    return config_of(ppo, **own)


def actor_of(module=ppo, size=5, seconds=60.0, **options):
    """An actor in this process, and the agent that it was made of."""
    algorithm = algorithm_of(module, *SPACES, num_envs=4, **options)
    agent = module.Agent(algorithm, algorithm.config)
    actor = InferenceActor(agent.config.seed, size, "cpu")
    actor.seconds = seconds
    actor.copy = AgentCopy()  # of its rows, which are other ones in each test
    load(actor, agent, 0)
    return actor, agent


def load(actor, agent, version):
    """Give an actor the agent, whose weights are of this version."""
    recipe = pickle.dumps(Recipe.of_agent(agent, agent.config))
    weights = Weights.of(learned(agent.model), version)
    actor.copy.load(Stored([recipe], [version], version), weights, recipe)


def ask(actor, *questions, step=0):
    """What an actor answers to questions of so many rows each, asked at once."""

    async def all_of_them():
        asked = (actor.act(obs, step) for obs in questions)
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(all_of_them())


def rows(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 4)).astype(np.float32)


class TestBatches:
    def test_questions_are_answered_together_when_enough_rows_are_there(self):
        actor, agent = actor_of()
        one, other = rows(2), rows(3, seed=1)
        (first, size), (second, _) = ask(actor, one, other)
        action, extras = agent.actor().sample(np.concatenate([one, other]))
        assert size == 5
        assert np.array_equal(first["action"], action[:2])
        assert np.array_equal(second["action"], action[2:])
        found = [answer["extras"]["log_prob"] for answer in (first, second)]
        assert np.array_equal(np.concatenate(found), extras["log_prob"].numpy())

    def test_they_do_not_wait_for_longer_than_the_deadline(self):
        actor, _ = actor_of(size=99, seconds=0.0)
        ((answer, size),) = ask(actor, rows(2))
        assert size == len(answer["action"]) == 2
        assert ask(actor, rows(3))[0][1] == 3

    def test_weights_are_those_of_the_version_that_every_row_names(self):
        actor, agent = actor_of(size=2)
        obs = rows(2)
        for version in (0, 7):
            if version:
                with torch.no_grad():
                    for x in agent.model.parameters():
                        x += 0.5
                load(actor, agent, version)
            ((answer, _),) = ask(actor, obs)
            extras = answer["extras"]
            assert extras["policy_version"].tolist() == [version] * 2
            action = torch.from_numpy(answer["action"])
            log_prob, *_ = agent.model.evaluate_actions(torch.from_numpy(obs), action)
            assert torch.allclose(torch.from_numpy(extras["log_prob"]), log_prob)

    def test_a_question_brings_newer_weights_and_none_that_are_older(self):
        actor, agent = actor_of(size=2)

        async def questions():
            found = []
            for version in (2, 1, 3):
                stored = asyncio.get_running_loop().create_future()
                stored.set_result(Weights.of(learned(agent.model), version))
                sent = Stored(actor.copy.sent.recipe, [stored], version)
                asked = rows(2), 0, sent
                answer, _ = await actor.act(*asked)
                found.append(answer["extras"]["policy_version"].tolist())
            return found

        assert asyncio.run(questions()) == [[2, 2], [2, 2], [3, 3]]

    def test_agents_without_log_probabilities_know_the_steps_and_name_the_version(self):
        options = {"epsilon_start": 1.0, "epsilon_end": 0.0, "total_steps": 100}
        actor, agent = actor_of(dqn, size=64, exploration_fraction=0.1, **options)
        obs = rows(64)
        ((early, _),), ((late, _),) = ask(actor, obs), ask(actor, obs, step=10)
        greedy = agent.predict(obs)
        assert 0 < (early["action"] != greedy).sum() < 64
        assert np.array_equal(late["action"], greedy)
        assert late["extras"]["policy_version"].tolist() == [0] * 64

    def test_an_error_of_the_policy_comes_to_all_who_asked_and_it_goes_on(self):
        actor, _ = actor_of(size=2)
        errors = ask(actor, rows(1), rows(1)[:, :3])
        assert [type(error) for error in errors] == [ValueError] * 2
        ((answer, _),) = ask(actor, rows(2))
        assert len(answer["action"]) == 2


def test_a_segment_is_as_old_as_the_oldest_weights_in_it(monkeypatch):
    pytest.importorskip("ray", reason="its answers are Ray's")
    versions, sent = iter([3, 5]), []

    def act(obs, step, weights):
        sent.append(weights)
        extras = {"policy_version": np.full(len(obs), next(versions))}
        return {"action": np.zeros(len(obs)), "extras": extras}, len(obs)

    agent = RemoteAgent()
    monkeypatch.setattr(inference, "answer_of", lambda who, answer: answer)
    actor = SimpleNamespace(act=SimpleNamespace(remote=act))
    weights = Stored([], [], 3, actor=actor)
    agent.ask(weights)
    for _ in range(2):
        agent.sample(rows(2))
    assert agent.report()[0] == 3
    assert sent == [weights, None], "the first question brings them"


class FakeCluster:
    """Notes what is made and ended."""

    def __init__(self):
        self.made, self.killed, self.closed = [], [], False

    def actor(self, kind, role, seed, size, device):
        self.made.append((role, seed, size, device))
        return SimpleNamespace(number=len(self.made))

    def kill(self, actor):
        self.killed.append(actor.number)

    def close(self):
        self.closed = True


def died(cause=None):
    """A worker's error, with the cause as Ray tells it."""
    error = WorkerError("rollout worker 0")
    exceptions = pytest.importorskip("ray.exceptions", reason="errors are Ray's")
    told = exceptions.RayTaskError("collect", "", cause or DeadWorkerError())
    error.__cause__ = told
    return error


class TestPool:
    def pool(self, **options):
        config = ray_config(rollout_workers=4, inference_actors=2, num_envs=8)
        own = config_of(ppo, **{**PASSES, "num_envs": 2, **options})
        return InferencePool(FakeCluster(), config, own)

    def test_each_has_the_rows_of_its_workers_and_a_seed_of_its_own(self):
        made = self.pool(seed=5).cluster.made
        assert [role for role, *_ in made] == ["inference_actors"] * 2
        assert [places for _, _, *places in made] == [[4, "cpu"]] * 2
        seeds = [seed for _, seed, *_ in made]
        assert seeds[0] == 5
        assert seeds[1] != 5

    def test_one_that_died_is_started_again_once_for_all_who_asked_it(self):
        pool = self.pool()
        asked = [pool.actor_of(worker) for worker in range(4)]
        assert [actor.number for actor in asked] == [1, 2, 1, 2]
        assert pool.replace_dead(1, asked[1], died())
        assert pool.replace_dead(3, asked[3], died())  # it asked the one that died, too
        assert not pool.replace_dead(0, asked[0], died(ValueError()))
        assert pool.lives == [0, 1]
        assert pool.cluster.killed == [2]
        assert pool.actor_of(3).number == 3
        assert pool.cluster.made[-1][2] == 4

    def test_agents_that_remember_are_refused(self):
        pool = self.pool()
        agent = object.__new__(ppo_lstm.Agent)
        with pytest.raises(ValueError, match=r"inference_actors.*ppo_lstm.*choose 0"):
            pool.check(agent)
        assert pool.cluster.closed


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_one_worker_that_asks_one_actor_gives_the_numbers_of_turns():
    """Also where it goes on from its state; and the worker has no policy."""
    options = {"env_id": "yieldrl/CartPole-v1", "max_policy_lag": 0}
    sync = ppo.Trainer(config_of(ppo, **PASSES, **options))
    sync.agent.records_log_prob = True
    expected, logs = [plain(log) for log in sync()], []
    with ppo.Trainer(ray_config(**options)) as trainer:
        for log in trainer():
            logs.append(log)
            if len(logs) == 35:
                break
        (worker,) = trainer.collector.state_dict()["workers"]
        assert "generator" not in worker["actor"]
        told = trainer.collector.statistics()
        assert told["inference_lives"] == [0]
        trainer.load_state_dict(trainer.state_dict())
        logs += list(trainer())
    assert repr([plain(log) for log in logs]) == repr(expected)
    batches = [log["logs"].get("inference_batch") for log in logs]
    assert set(batches) == {None, 4.0}


@pytest.mark.own_processes("InferenceActor")
@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_one_that_is_killed_is_started_again_with_the_newest_weights(one_ray):
    """No row comes twice, each names the weights that chose it, losses are counted."""
    options = {"total_steps": 256, "max_policy_lag": 1}
    config = ray_config(rollout_workers=2, **options)
    versions, found = {}, defaultdict(int)
    with ppo.Trainer(config, envs=Steps) as trainer:
        pool = trainer.collector.segments.pool.inference
        for log in trainer():
            version = trainer.agent.policy_version
            if version not in versions:
                state = trainer.model.state_dict()
                versions[version] = {k: x.clone() for k, x in state.items()}
            full = trainer.buffer.full and log["log_type"] == "collect"
            if full:
                check(trainer.buffer.rollout(), versions, found)
            if full and log["sample_step"] == 64:
                one_ray.kill(pool.actors[0])
        told = trainer.collector.statistics()
    assert told["inference_lives"] == [1]
    assert 1 <= told["lost_segments"] <= 4
    assert trainer.agent.sample_step == sum(found.values()) == 256
    assert max(found) > 0, "it acts by newer weights than the first"


def check(rollout, versions, found):
    """Rows continue each other, and are of the weights that they name."""
    check_rows(rollout)
    model = ppo.Model(Steps.observation_space, SPACES[1], ray_config())
    for version in rollout["policy_version"].unique().tolist():
        model.load_state_dict(versions[version])
        of = rollout[rollout["policy_version"] == version]
        log_prob, *_ = model.evaluate_actions(of["obs"], of["action"])
        assert torch.allclose(log_prob, of["log_prob"], atol=1e-5)
        found[version] += len(of)
