"""The background collects ahead, no further than it may, and signs what it collects."""

import copy
import itertools

import numpy as np
import pytest
import torch
from factories import config_of
from interruptions import Recorded
from pacing import Paced
from worlds import Counter

from yieldrl.algorithms import dqn, n_step_dqn, ppo, sac
from yieldrl.buffers import RolloutBuffer
from yieldrl.collectors import AsyncCollector, Collector, SyncCollector, segments
from yieldrl.collectors.segments import PolicyLag
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


@pytest.mark.parametrize(("module", "rows"), [(ppo, 4), (dqn, 1)])
@pytest.mark.parametrize("lag", [0, 3])
def test_it_steps_on_while_the_learner_learns_and_waits_at_the_limit(module, rows, lag):
    """One rollout is learned from, and as many are ahead as may be; for a replay
    buffer steps are counted one by one."""
    options = {"num_epochs": 1} if module is ppo else {}
    trainer = trainer_of(module, max_policy_lag=lag, **options)
    paced, seen = Paced(trainer), []

    def look(_):
        handed_over = trainer.agent.sample_step // 2
        paced.reach(handed_over + rows * lag)  # else it would wait for ever
        seen.append((paced.taken - handed_over, paced.at_limit))

    before_learning(trainer, look)
    learn_steps(trainer, 5)
    assert seen == [(rows * lag, True)] * 5
    assert trainer.agent.sample_step == 5 * 2 * rows


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


def test_a_report_is_of_what_came_since_the_last_and_a_checkpoint_keeps_the_rest():
    """Lags count policies that were handed over, not the numbers they bear."""
    policies, saved = PolicyLag(0), PolicyLag(0)
    policies.publish(1)
    for version in (0, 1, 1, 1):
        policies.add(version)
    assert policies.report() == {"policy_lag": 0.25, "policy_lag_max": 1}
    policies.add(1)
    assert policies.report() == {"policy_lag": 0.0, "policy_lag_max": 0}
    policies.publish(2)
    policies.add(1)
    policies.add(2)
    saved.load_state_dict(policies.state_dict())
    assert [saved.of(version) for version in (0, 1, 2)] == [2, 1, 0]
    assert saved.newest == 2
    assert saved.report() == {"policy_lag": 0.5, "policy_lag_max": 1}


def test_it_remembers_so_many_versions(monkeypatch):
    monkeypatch.setattr(segments, "MAX_VERSIONS", 4)
    policies = PolicyLag(0)
    for version in range(1, 10):
        policies.publish(version)
    assert [policies.of(version) for version in (6, 7, 8, 9)] == [3, 2, 1, 0]
    assert len(policies.state_dict()["versions"]) == 4


def test_what_is_dropped_is_the_oldest_and_is_counted():
    """While the learner learns, and all that was asked for is there, it goes on."""
    options = {"max_policy_lag": 1, "when_stale": "drop", "num_epochs": 4}
    trainer = trainer_of(ppo, Recorded(), **options)
    paced, rollouts, anew = Paced(trainer, 4), [], []

    def look(number):
        if number % 4 == 0:
            rollouts.append(trainer.buffer.rollout()["next_obs"][:, 0, 0].tolist())
            anew.append(not trainer.buffer.continues)
        if number < 4:
            paced.allowed = 12 + 4 * number
            paced.settle()

    before_learning(trainer, look)
    logs = [log["logs"] for log in learn_steps(trainer, 8)]
    # Segments 1 and 2 were asked for with 0; after each gradient step one of them goes.
    assert rollouts == [[1, 2, 3, 4], [21, 22, 23, 24]]
    assert anew == [False, True]
    report = [log for log in logs if "policy_lag" in log][-1]
    assert report["dropped_steps"] == 4 * 4 * 2  # of two environments
    assert report["policy_lag_max"] <= 1


def test_windows_of_several_steps_never_cross_what_was_dropped():
    options = {"max_policy_lag": 1, "when_stale": "drop", "n_step": 3}
    trainer = trainer_of(n_step_dqn, Recorded(), **options)
    paced = Paced(trainer, 6)
    before_learning(trainer, lambda n: paced.go_on(2 if n % 5 else 9))
    learn_steps(trainer, 60)
    assert trainer.collector.segments.dropped > 20
    batch, gamma = trainer.buffer.sample(2000), trainer.config.gamma
    first, last = batch["obs"][:, 0], batch["next_obs"][:, 0]
    steps = (batch["discount"].log() / np.log(gamma)).round()
    assert torch.equal(last - first, steps)
    assert {1.0, 2.0} <= set(steps.tolist()) <= {1.0, 2.0, 3.0}


def snapshots_of(trainer):
    """Version -> a copy of the model whose weights were handed over as that."""
    background = trainer.collector.segments
    version = background.actor.policy_version
    kept = {version: copy.deepcopy(trainer.model)}
    put = background._weights.put

    def putting(version):
        kept[version] = copy.deepcopy(trainer.model)
        put(version)

    background._weights.put = putting
    return kept


def test_the_weights_that_acted_are_those_of_the_version():
    """Statistics of observations are among them."""
    options = {"max_policy_lag": 2, "learning_rate": 0.05, "num_epochs": 2}
    trainer = trainer_of(ppo, normalize_observation=True, **options)
    kept, differ = snapshots_of(trainer), 0
    for log in trainer():
        if trainer.buffer.full and log["log_type"] == "collect":
            for row in trainer.buffer.rollout():
                (version,) = set(row["policy_version"].tolist())
                acted = kept[version].evaluate_actions(row["obs"], row["action"])[0]
                torch.testing.assert_close(row["log_prob"], acted, rtol=1e-5, atol=1e-6)
                now = trainer.model.evaluate_actions(row["obs"], row["action"])[0]
                differ += not torch.allclose(row["log_prob"], now, atol=1e-4)
        if trainer.agent.learn_step == 30:
            break
    assert differ > 10
    assert len(kept) >= 12


def test_a_segment_is_of_one_policy_the_newest_when_it_begins():
    trainer = trainer_of(ppo)
    background, paced = trainer.collector.segments, Paced(trainer, 1)
    background.start(seed=0)
    background.ask(3, 0)
    paced.go_on(0)  # one of its steps is taken
    trainer.agent.counters.policy_version = 11
    background.ask(2, 0)  # hands over newer weights
    paced.allowed = 5
    for version, rows in ((0, 3), (11, 2)):
        part = background.first()
        assert part.version == version
        assert part.rows["policy_version"].tolist() == [[version] * 2] * rows
        background.remove_first()


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
    actor = trainer.collector.segments.actor.model
    assert not any(p.requires_grad for p in actor.parameters())
    for name, mine in model.named_parameters():
        theirs = actor.get_parameter(name)
        assert (mine is theirs) == name.startswith("critic")
        assert mine.equal(theirs)


def test_exploration_goes_by_the_steps_of_who_explores():
    trainer = trainer_of(dqn, max_policy_lag=3, total_steps=100)
    paced = Paced(trainer)
    learn_steps(trainer, 10)
    actor = trainer.collector.segments.actor
    assert actor.sample_step == 2 * paced.taken
    assert trainer.agent.sample_step <= actor.sample_step
    assert actor.counters is not trainer.agent.counters
    assert actor.model is not trainer.model


def test_the_config_or_a_class_says_who_collects():
    sync = trainer_of(ppo, collection="sync")
    assert type(sync.collector) is SyncCollector
    background = trainer_of(ppo, max_policy_lag=3, when_stale="drop")
    collector = background.collector
    assert type(collector) is AsyncCollector
    assert isinstance(collector, Collector)
    assert (collector.max_policy_lag, collector.drops) == (3, True)
    assert type(background.buffer) is type(sync.buffer) is RolloutBuffer
    parts = {"collector": AsyncCollector}
    trainer = trainer_of(sac, "Pendulum-v1", parts, collection="sync")
    assert type(trainer.collector) is AsyncCollector
    assert trainer.collector.agent is trainer.agent
    assert trainer.collector.buffer is trainer.buffer
    learn_steps(trainer, 3)
