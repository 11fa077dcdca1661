"""Rollouts for a caller hold what the generator learns from, and teach the same."""

import dataclasses
from itertools import islice

import factories
import numpy as np
import pytest
import torch
from factories import config_of
from interruptions import Recorded
from pacing import Paced
from worlds import Counter, Doors

from yieldrl.algorithms import dqn, ppo, vla_ppo
from yieldrl.collectors import AsyncCollector, SyncCollector
from yieldrl.core import means
from yieldrl.envs import SerialVectorEnv
from yieldrl.experiments.contract.values import changed, leaves

STEPS, ENVS, UPDATES = 8, 2, 4
BOTH = pytest.mark.parametrize("collection", ["sync", "async"])


def trainer_of(name, collection="sync", records=None, **options):
    own = {"total_steps": STEPS * ENVS * UPDATES, **options}
    if name == "ppo":
        own |= {"normalize_observation": True, "normalize_reward": True}
    if name not in ("sarsa", "reinforce"):
        own |= {"collection": collection, "max_policy_lag": 0}
    envs = Doors(ENVS, max_episode_steps=5) if name == "ppo_masked" else None
    trainer = factories.trainer_of(name, envs=envs, **own)
    if records is not None and hasattr(trainer.agent, "records_log_prob"):
        trainer.agent.records_log_prob = records
    return trainer


def by_the_generator(trainer):
    """Rollouts as they were learned from, and the metrics of each."""
    rollouts, metrics, begin = [], [], trainer.algorithm.begin

    def begun(rollout):
        answer = begin(rollout)
        rollouts.append(rollout.clone())
        metrics.append((dict(answer[1]), []))  # the trainer adds to it
        return answer

    trainer.algorithm.begin = begun
    for log in trainer():
        if log["log_type"] == "train":
            metrics[-1][1].append(log["logs"])
    return rollouts, metrics


@pytest.mark.parametrize(
    ("name", "collection"),
    [("a2c", "sync"), ("ppo", "sync"), ("ppo_lstm", "async"), ("ppo_masked", "sync")],
)
def test_collect_and_update_do_what_the_generator_does(name, collection):
    """Bitwise: transitions, advantages, losses and weights."""
    records = None if name == "a2c" else collection == "async"
    one = trainer_of(name, collection, records)
    expected, logs = by_the_generator(one)
    other = trainer_of(name, collection, records)
    found, metrics = [], []
    for _ in range(UPDATES):
        found.append(other.collector.collect(STEPS))
        metrics.append(other.update(found[-1]))
    other.collector.stop()
    assert len(expected) == len(found) == UPDATES
    for mine, theirs in zip(found, expected, strict=True):
        for key, value in theirs.items(True, True):
            assert torch.equal(mine[key], value), key
    for mine, (begun, steps) in zip(metrics, logs, strict=True):
        own = [{k: v for k, v in step.items() if k not in begun} for step in steps]
        assert mine.keys() == {*begun, *own[0]}
        for key, value in {**begun, **means(own)}.items():
            assert repr(float(mine[key])) == repr(float(value)), key
    pairs = zip(other.model.parameters(), one.model.parameters(), strict=True)
    assert all(mine.equal(theirs) for mine, theirs in pairs)
    assert other.agent.learn_step == one.agent.learn_step
    assert other.agent.sample_step == one.agent.sample_step


def test_a_rollout_has_every_key():
    trainer = trainer_of("ppo_masked", "async", records=True)
    rollout = trainer.collector.collect(5)
    trainer.collector.stop()
    keys = "obs next_obs action reward terminated truncated log_prob policy_version"
    keys += " value entropy advantage returns"
    assert set(keys.split()) <= set(rollout.keys())
    assert rollout.batch_size == (5, ENVS)
    assert all(leaf.shape[:2] == (5, ENVS) for leaf in rollout.values(True, True))
    assert torch.equal(rollout["returns"], rollout["advantage"] + rollout["value"])
    assert not any(leaf.requires_grad for leaf in rollout.values(True, True))
    assert set(rollout["obs"].keys()) == {"there", "action_mask"}
    assert rollout["obs"].batch_size == (5, ENVS)


def numbered(module, **options):
    return factories.trainer_of(module, envs=Recorded(), collection="async", **options)


def steps_of(rollout):
    return rollout["next_obs"][:, 0, 0].int().tolist()


def hand_loop(trainer, steps, count):
    """The document's loop, where a policy is handed over for every rollout."""
    found, lags = [], []
    for _ in range(count):
        rollout = trainer.collector.collect(steps)
        found += steps_of(rollout)
        lags.append(trainer.collector.logs["policy_lag_max"])
        trainer.agent.counters.policy_version += 1
    trainer.collector.stop()
    return found, max(lags)


@pytest.mark.parametrize(("steps", "lag"), [(1, 3), (4, 0), (6, 1), (20, 3)])
def test_rollouts_of_any_length_drop_nothing_and_are_never_too_old(steps, lag):
    trainer = numbered(ppo, num_steps=16, num_minibatches=1, max_policy_lag=lag)
    found, oldest = hand_loop(trainer, steps, 12)
    assert found == [*range(1, 12 * steps + 1)]
    assert trainer.collector.segments.dropped == 0
    assert oldest <= lag
    assert len(trainer.buffer) == 0


def test_a_loop_of_short_rollouts_before_which_the_thread_was_far_ahead():
    """What is too old by then is dropped, counted, and a gap in the episodes."""
    options = {"num_steps": 16, "num_minibatches": 1, "num_epochs": 1}
    trainer = numbered(ppo, max_policy_lag=1, **options)
    logs = trainer()
    list(islice(logs, 17))  # it learns from the first rollout, and the next one waits
    found, oldest = hand_loop(trainer, 4, 6)
    dropped = trainer.collector.segments.dropped // ENVS
    assert oldest <= 1
    assert found[:4] == [17, 18, 19, 20]
    assert dropped > 0
    assert len(found) == 24
    assert found[-1] == 16 + 24 + dropped
    logs.close()


@BOTH
def test_a_rollout_can_begin_with_new_episodes_and_tells_of_them(collection):
    config = config_of(ppo, collection=collection)
    trainer = ppo.Trainer(config, envs=SerialVectorEnv([lambda: Counter(3)] * ENVS))
    steps, told = [], []
    for count, reset in ((2, True), (2, False), (1, True), (1, False)):
        rollout = trainer.collector.collect(count, reset=reset)
        steps.append(rollout["obs"][:, 0, 1].tolist())
        told.append(trainer.collector.logs)
    trainer.collector.stop()
    assert steps == [[0, 1], [2, 0], [0], [1]]
    assert [log.get("episodes") for log in told] == [None, ENVS, None, None]
    assert told[1]["episode_return"] == 6
    assert told[1]["episode_length"] == 3
    assert ("policy_lag" in told[0]) == (collection == "async")


def test_rows_of_before_the_version_since_which_an_agent_learns_are_dropped():
    trainer = numbered(ppo, max_policy_lag=3, num_steps=4)
    paced = Paced(trainer)
    trainer.collector.collect(2)
    paced.settle()
    trainer.agent.counters.policy_version = 1
    trainer.agent.counters.learns_since = 1
    rollout = trainer.collector.collect(4)
    trainer.collector.stop()
    assert (rollout["policy_version"] == 1).all()
    dropped = trainer.collector.segments.dropped // ENVS
    assert steps_of(rollout) == [n + 3 + dropped for n in range(4)]
    assert dropped >= 4


def test_what_the_episodes_of_a_rollout_of_tensors_came_to_is_told_with_it():
    config = ppo.Config(env_id="yieldrl/CartPole-v1", num_envs=64, eval_every=0)
    trainer = ppo.Trainer(config)
    ended = returns = 0
    for steps in (40, 40, 300, 7):
        rollout = trainer.collector.collect(steps)
        here = (rollout["terminated"] | rollout["truncated"]).sum().item()
        logs = trainer.collector.logs
        assert logs.get("episodes", 0) == here
        ended += here
        returns += here * logs.get("episode_return", 0)
    under_way = trainer.collector.statistics.arrays.returns.sum().item()
    assert ended > 100
    assert returns + under_way == pytest.approx(387 * 64)  # one for every step


def test_a_rollout_between_two_steps_of_a_loop_is_the_callers():
    """The replay buffer has neither its steps nor an episode that leads over them."""
    trainer = numbered(dqn, max_policy_lag=1, learning_starts=100)
    logs = trainer()
    list(islice(logs, 3))
    assert steps_of(trainer.collector.collect(4)) == [4, 5, 6, 7]
    list(islice(logs, 2))
    logs.close()
    storage = trainer.buffer._storage
    assert storage["next_obs"][:5, 0, 0].int().tolist() == [1, 2, 3, 8, 9]
    assert storage["truncated"][:5, 0].tolist() == [False, False, True, False, False]
    assert trainer.agent.sample_step == 9 * ENVS


def test_an_error_in_between_gives_the_buffer_back():
    trainer = trainer_of("ppo", "async")
    buffer = trainer.collector.buffer
    factories.fails_once(trainer.envs, "step", 3, ConnectionError)
    with pytest.raises(ConnectionError):
        trainer.collector.collect(STEPS)
    assert trainer.collector.buffer is buffer
    assert len(buffer) == 0
    list(trainer())
    assert trainer.training_done


def test_half_a_rollout_of_the_loop_is_refused_once_another_one_was_learned_from():
    trainer = trainer_of("ppo")
    list(islice(trainer(), 3))
    trainer.update(trainer.collector.collect(STEPS))
    with pytest.raises(RuntimeError, match=r"by policy version 0: .* clear\(\)"):
        list(trainer())
    trainer.buffer.clear()
    list(trainer())
    assert trainer.training_done


@pytest.mark.parametrize("kind", [SyncCollector, AsyncCollector])
def test_a_collector_of_another_trainers_parts_is_refused(kind):
    other = trainer_of("dqn")
    parts = {"agent": other.agent, "buffer": other.buffer}
    collector = kind(other.envs, *parts.values(), seed=1)
    with pytest.raises(ValueError, match="made of another agent than the trainer's"):
        dqn.Trainer(other.config, collector=collector)
    trainer = dqn.Trainer(other.config, envs=other.envs, **parts, collector=collector)
    assert trainer.collector is collector


ONE_BY_ONE = {"prioritized_dqn": {}, "td3": {}, "mbpo": {"model_every": 250}}
ONE_BY_ONE |= {"sarsa": {}, "dreamer": {"total_steps": 32}}


def weights_of(trainer):
    saved = trainer.agent.state_dict()
    del saved["generator"]
    flat = leaves(saved)
    return {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in flat.items()}


def made(name, **options):
    replay = {"learning_starts": 16, "train_every": 2}
    replay = {} if name in ("sarsa", "ppo") else replay
    return factories.trainer_of(name, **{**replay, "total_steps": 64, **options})


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_rollouts_of_one_step_teach_bitwise_what_the_loop_does(name):
    """Schedules, targets, priorities and all that is saved of the agent included."""
    one = made(name, **ONE_BY_ONE[name])
    list(one())
    other = made(name, **ONE_BY_ONE[name])  # only now: both draw from global generators
    begins = getattr(other.config, "learning_starts", 0)
    steps = begins // other.envs.num_envs or 1  # before them the loop does not learn
    while other.agent.sample_step < other.config.total_steps:
        other.update(other.collector.collect(steps))
        steps = max(1, getattr(other.config, "train_every", 1) // other.envs.num_envs)
    expected, found = weights_of(one), weights_of(other)
    assert not changed(expected, found)
    assert other.agent.learn_step == one.agent.learn_step > 0


@BOTH
def test_rewards_are_scaled_by_the_returns_of_their_own_episodes(collection):
    """A rollout that begins with new episodes does not carry on the sums of others."""
    trainer = trainer_of("ppo", collection, normalize_reward=True)
    scaler = trainer.algorithm.reward_scaler
    rollout = trainer.collector.collect(5)
    trainer.update(rollout)
    carried = rollout["truncated"][-1] | rollout["terminated"][-1]
    assert carried.all() or scaler.carry.any()
    trainer.collector.collect(5, reset=True)
    assert not scaler.carry.any()
    trainer.collector.stop()


@pytest.mark.parametrize("name", ["rainbow", "td3"])
def test_a_target_follows_in_a_loop_by_hand(name):
    trainer = made(name)
    before = weights_of(trainer)
    for _ in range(2):  # TD3's target follows every other step
        trainer.update(trainer.collector.collect(8))
    assert any("target_" in k for k in changed(before, weights_of(trainer)))
    assert trainer.agent.counters.sync_step > 0


def test_windows_of_steps_end_with_a_rollout():
    """They led from the one's last row to the other's first, of another episode."""
    trainer = made("n_step_dqn")
    first, second = (trainer.collector.collect(4, reset=True) for _ in "ab")
    trainer.update(first)
    trainer.update(second)
    rows = trainer.buffer.state_dict()["storage"]
    assert (rows["truncated"] | rows["terminated"])[3].all()


def test_a_rollout_goes_into_the_replay_buffer_and_is_learned_from_when_due():
    trainer = made("dqn", learning_starts=8, target_every=5, tau=1.0)
    synced, sync, agent = [], trainer.algorithm.sync_target, trainer.agent
    trainer.algorithm.sync_target = lambda: synced.append(agent.learn_step) or sync()
    for taken, learned in ((32, 13), (64, 29)):
        metrics = trainer.update(trainer.collector.collect(16))
        assert len(trainer.buffer) == taken == trainer.agent.sample_step
        assert trainer.agent.learn_step == learned
        assert metrics["loss"].isfinite()
    assert synced == [5, 10, 15, 20, 25]
    assert trainer.training_done
    early = made("dqn", learning_starts=1000)
    early.update(early.collector.collect(4))  # it was asked for
    assert early.agent.learn_step == 1


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_an_update_that_could_move_nothing_is_refused(name):
    """The learning rate is annealed to zero at `total_steps`."""
    options = {"learning_starts": 4} if name == "dqn" else {}
    trainer = made(name, **options, anneal_learning_rate=True, total_steps=32)
    for _ in range(2):
        before = weights_of(trainer)
        trainer.update(trainer.collector.collect(8))
        after = weights_of(trainer)
        assert any("model." in k for k in changed(before, after))
    rollout = trainer.collector.collect(8)
    with pytest.raises(RuntimeError, match="total_steps = 32 and 32 steps were taken"):
        trainer.update(rollout)
    assert not [k for k in changed(after, weights_of(trainer)) if "model." in k]
    config = dataclasses.replace(trainer.config, anneal_learning_rate=False)
    trainer.config = trainer.agent.config = trainer.algorithm.config = config
    trainer.update(rollout)
    assert trainer.agent.learn_step > 0


def test_sarsa_learns_from_what_was_done_next_and_decides_after_the_last_row():
    trainer = made("sarsa", num_envs=ENVS)
    rollout = trainer.collector.collect(5)
    seen, learn = [], trainer.algorithm.learn
    trainer.algorithm.learn = lambda x: (
        seen.append(x["next_action"].clone()) or learn(x)
    )
    trainer.update(rollout)
    ended = rollout["terminated"] | rollout["truncated"]
    for t in range(4):
        assert torch.equal(seen[t][~ended[t]], rollout["action"][t + 1][~ended[t]])
    following = trainer.collector.collect(1)
    assert torch.equal(following["action"][0][~ended[4]], seen[4][~ended[4]])


def test_reinforce_refuses_a_rollout_in_which_no_episode_ends():
    trainer = trainer_of("reinforce")
    with pytest.raises(ValueError, match="no episode ends within the 2 steps"):
        trainer.update(trainer.collector.collect(2))
    assert trainer.agent.learn_step == 0


def test_ppo_does_not_begin_by_hand_before_the_demonstrations_are_cloned():
    cloning = {"demonstration_steps": 32, "clone_batch_size": 8}
    parts = {"model": ppo.Model, "env_id": "yieldrl/CartPole-v1"}
    trainer = factories.trainer_of(vla_ppo, **parts, **cloning)
    rollout = trainer.collector.collect(8)
    with pytest.raises(RuntimeError, match=r"until trainer\.cloning is None"):
        trainer.update(rollout)


@pytest.mark.parametrize(
    ("name", "steps"), [("behavior_cloning", 8), ("ppo_roa", 8), ("reinforce", 64)]
)
def test_the_others_learn_by_hand_too(name, steps):
    trainer = factories.trainer_of(name)
    before = weights_of(trainer)
    logs = trainer.update(trainer.collector.collect(steps))
    assert all(np.isfinite(float(value)) for value in logs.values())
    assert any("model." in k for k in changed(before, weights_of(trainer)))
