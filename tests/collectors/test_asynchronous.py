"""The background collects ahead, no further than it may, and signs what it collects."""

import copy
import itertools

import numpy as np
import pytest
import torch
from factories import buffer_of, config_of
from interruptions import Recorded
from pacing import Paced
from worlds import Counter

from yieldrl.algorithms import dqn, n_step_dqn, ppo, sac
from yieldrl.buffers import CircularBuffer, RolloutBuffer
from yieldrl.collectors import AsyncCollector, Collector, SyncCollector
from yieldrl.collectors.acting import Acting
from yieldrl.collectors.weight_transfer import Weights
from yieldrl.envs import SerialVectorEnv


def trainer_of(module, envs=None, parts=None, **options):
    on_policy = {"num_steps": 4, "num_minibatches": 1}
    off_policy = {"learning_starts": 2, "batch_size": 4, "train_every": 2}
    family = on_policy if module is ppo else off_policy
    own = {"total_steps": 10**6, "eval_every": 0, "num_envs": 1, **family}
    envs = envs or SerialVectorEnv([lambda: Counter(5)] * 2)
    config = config_of(module, **{**own, "collection": "async", **options})
    return module.Trainer(config, envs=envs, **(parts or {}))


def before_learning(trainer, look):
    """Call `look(number)` before every gradient step."""
    learn, numbers = trainer.algorithm.learn, itertools.count()

    def learned(data):
        look(next(numbers))
        return learn(data)

    trainer.algorithm.learn = learned


def learn_steps(trainer, count):
    """Loop until so many gradient steps were taken; all logs."""
    logs = []
    for log in trainer():
        logs.append(log)
        if trainer.agent.learn_step == count:
            break
    return logs


@pytest.mark.parametrize("lag", [0, 3])
def test_it_steps_on_while_the_learner_learns_and_waits_at_the_limit(lag):
    """One rollout is learned from, and as many are ahead as may be."""
    trainer = trainer_of(ppo, max_policy_lag=lag, num_epochs=1)
    paced, seen = Paced(trainer), []

    def look(number):
        paced.reach(4 * (number + 1 + lag))  # else it would wait for ever
        seen.append((paced.taken, paced.at_limit))

    before_learning(trainer, look)
    learn_steps(trainer, 5)
    assert seen == [(4 * (number + 1 + lag), True) for number in range(5)]
    assert trainer.agent.sample_step == 5 * 8


@pytest.mark.parametrize("lag", [0, 3])
def test_steps_for_a_replay_buffer_are_counted_one_by_one(lag):
    trainer = trainer_of(dqn, max_policy_lag=lag)
    paced, seen = Paced(trainer), []

    def look(number):
        handed_over = trainer.agent.sample_step // 2
        paced.reach(handed_over + lag)
        seen.append((paced.taken - handed_over, paced.at_limit))

    before_learning(trainer, look)
    learn_steps(trainer, 6)
    assert seen == [(lag, True)] * 6
    assert len(trainer.buffer) == trainer.agent.sample_step


@pytest.mark.parametrize("lag", [0, 2])
def test_the_lag_in_the_logs_is_that_of_what_is_learned_from(lag):
    """Always as far ahead as may be: rollout k is collected by policy k - lag."""
    trainer = trainer_of(ppo, max_policy_lag=lag, num_epochs=2)
    paced = Paced(trainer)
    before_learning(trainer, lambda n: paced.reach(4 * (n // 2 + 1 + lag)))
    logs = [log["logs"] for log in learn_steps(trainer, 12)]
    lags = [(x["policy_lag"], x["policy_lag_max"]) for x in logs if "policy_lag" in x]
    assert len(lags) >= 6  # one a rollout, and with each episode's end
    assert all(mean <= most <= lag for mean, most in lags)
    assert lags[-1] == (lag, lag)  # the first ones found no newer policy
    assert all("dropped_steps" not in x for x in logs)


def test_what_is_dropped_is_the_oldest_and_is_counted():
    options = {"max_policy_lag": 1, "when_stale": "drop", "num_epochs": 1}
    trainer = trainer_of(ppo, Recorded(), **options)
    paced, ring = Paced(trainer, 4), trainer.buffer
    rollouts, anew = [], []

    def look(number):
        rollouts.append(ring.rollout()["next_obs"][:, 0, 0].tolist())
        anew.append(not ring.continues)
        paced.go_on_to((24, 25)[number])

    before_learning(trainer, look)
    learn_steps(trainer, 1)
    # Of segments 0 to 5, of four steps each, 1, 2 and 3 were overwritten.
    assert sorted(ring.slots) == [0, 4, 5]
    assert ring.dropped == 12
    logs = [log["logs"] for log in learn_steps(trainer, 2)]
    report = [log for log in logs if "policy_lag" in log][-1]
    assert report["dropped_steps"] == 24  # of two environments
    assert report["policy_lag"] == report["policy_lag_max"] == 1
    assert rollouts == [[1, 2, 3, 4], [17, 18, 19, 20]]
    assert anew == [False, True]
    # All of segment 5 was collected by the first of three policies.
    next(log for log in trainer() if log["log_type"] == "collect")
    assert ring.dropped == 16
    assert ring.rollout()["next_obs"][:, 0, 0].tolist() == [25]
    assert not ring.continues


def test_windows_of_several_steps_never_cross_what_was_dropped():
    options = {"max_policy_lag": 1, "when_stale": "drop", "n_step": 3}
    trainer = trainer_of(n_step_dqn, Recorded(), **options)
    paced = Paced(trainer, 3)
    ahead = [6, 1, 1, 1, 1, 1, 1]  # of six, three are overwritten and two are stale
    before_learning(trainer, lambda n: paced.go_on_to(paced.taken + ahead[n % 7]))
    learn_steps(trainer, 40)
    assert trainer.collector.ring.dropped > 10
    batch, gamma = trainer.buffer.sample(2000), trainer.config.gamma
    first, last = batch["obs"][:, 0], batch["next_obs"][:, 0]
    steps = (batch["discount"].log() / np.log(gamma)).round()
    assert torch.equal(last - first, steps)
    assert set(steps.tolist()) == {1.0, 2.0, 3.0}


def snapshots_of(trainer):
    """Version -> a copy of the model whose weights were handed over as that."""
    collector = trainer.collector
    version = collector._acting.actor.version
    kept = {version: copy.deepcopy(trainer.model)}
    put = collector._weights.put

    def putting(version):
        kept[version] = copy.deepcopy(trainer.model)
        put(version)

    collector._weights.put = putting
    return kept


def test_the_weights_that_acted_are_those_of_the_version():
    """Statistics of observations are among them."""
    options = {"max_policy_lag": 2, "learning_rate": 0.05, "num_epochs": 2}
    trainer = trainer_of(ppo, normalize_observation=True, **options)
    kept, differ = snapshots_of(trainer), 0
    for log in trainer():
        ring = trainer.buffer
        if ring.full and log["log_type"] == "collect":
            for row in ring.rollout():
                (version,) = set(row["policy_version"].tolist())
                acted = kept[version].evaluate_actions(row["obs"], row["action"])[0]
                torch.testing.assert_close(row["log_prob"], acted, rtol=1e-5, atol=1e-6)
                now = trainer.model.evaluate_actions(row["obs"], row["action"])[0]
                differ += not torch.allclose(row["log_prob"], now, atol=1e-4)
        if trainer.agent.learn_step == 30:
            break
    assert differ > 10
    assert len(kept) >= 12


def test_an_agent_of_one_policy_takes_new_weights_between_segments_only():
    trainer = trainer_of(ppo)
    actor = copy.deepcopy(trainer.agent)
    actor.one_policy = True
    weights = Weights(trainer.model, actor.model)
    acting = Acting(trainer.envs, actor, trainer.buffer, weights, drops=False, seed=0)
    for version in range(10, 15):
        weights.put(version)
        acting.step()
    assert [row.version for row in acting.rows.values()] == [10] * 4 + [14]


def test_greedy_actions_are_those_of_the_version():
    greedy = {"epsilon_start": 0.0, "epsilon_end": 0.0, "learning_rate": 0.05}
    trainer = trainer_of(dqn, max_policy_lag=2, **greedy)
    kept = snapshots_of(trainer)
    learn_steps(trainer, 60)
    storage, rows = trainer.buffer._storage, trainer.agent.sample_step // 2
    versions = storage["policy_version"][:rows]
    assert versions.dtype == torch.int64
    assert len(versions.unique()) > 10
    assert versions[:, 0].equal(versions[:, 1])
    assert versions[:, 0].diff().min() >= 0
    for row in range(rows):
        model = kept[int(versions[row, 0])]
        with torch.no_grad():
            value = model.value(storage["obs"][row])
        assert value.argmax(1).equal(storage["action"][row])


def test_the_actor_has_a_model_of_its_own_but_for_what_is_frozen():
    envs = SerialVectorEnv([lambda: Counter(5)] * 2)
    spaces = envs.single_observation_space, envs.single_action_space
    model = ppo.Model(*spaces, config_of(ppo))
    model.critic.requires_grad_(False)
    trainer = trainer_of(ppo, envs, {"model": model})
    actor = trainer.collector._acting.actor.agent.model
    assert not any(p.requires_grad for p in actor.parameters())
    for name, mine in model.named_parameters():
        theirs = actor.get_parameter(name)
        assert (mine is theirs) == name.startswith("critic")
        assert mine.equal(theirs)


def test_exploration_goes_by_the_steps_of_who_explores():
    trainer = trainer_of(dqn, max_policy_lag=3, total_steps=100)
    paced = Paced(trainer)
    learn_steps(trainer, 10)
    actor = trainer.collector._acting.actor.agent
    assert actor.sample_step == 2 * paced.taken
    assert trainer.agent.sample_step <= actor.sample_step
    assert actor.counters is not trainer.agent.counters
    assert actor.model is not trainer.model


class TestWhoCollects:
    def test_the_config_chooses(self):
        envs = SerialVectorEnv([lambda: Counter(5)] * 2)
        sync = trainer_of(ppo, envs, collection="sync")
        assert type(sync.collector) is SyncCollector
        assert type(sync.buffer) is RolloutBuffer
        background = trainer_of(ppo, max_policy_lag=3, when_stale="drop")
        collector = background.collector
        assert type(collector) is AsyncCollector
        assert isinstance(collector, Collector)
        assert (collector.max_policy_lag, collector.drops) == (3, True)
        assert type(background.buffer) is CircularBuffer
        assert background.buffer.num_segments == 5
        assert collector.ring is background.buffer

    def test_a_class_of_collectors_is_made_of_the_trainers_parts(self):
        parts = {"collector": AsyncCollector}
        trainer = trainer_of(sac, "Pendulum-v1", parts, collection="sync")
        assert type(trainer.collector) is AsyncCollector
        assert trainer.collector.agent is trainer.agent
        assert trainer.collector.buffer is trainer.buffer
        learn_steps(trainer, 3)

    def test_a_rollout_buffer_takes_the_rows_one_by_one(self):
        """Any buffer will do: the rows go through a small ring of the collector's."""
        one = trainer_of(ppo, max_policy_lag=0)
        buffer = buffer_of(RolloutBuffer, num_envs=2)
        other = trainer_of(ppo, parts={"buffer": buffer}, max_policy_lag=0)
        assert other.collector.ring is not buffer
        expected, found = (
            [log["logs"] for log in learn_steps(trainer, 16) if "loss" in log["logs"]]
            for trainer in (one, other)
        )
        assert repr(found) == repr(expected)
