"""With the newest policy alone, collecting in the background changes no number."""

import factories
import pytest
import torch
from worlds import Doors

from yieldrl.collectors import AsyncCollector

POLE, ARM = ({"env_id": f"yieldrl/{name}-v1"} for name in ("CartPole", "Pendulum"))
CASES = {"ppo": {}, "ppo_lstm": POLE, "dqn": POLE, "sac": ARM, "grpo": {}}
OTHERS = {"ppo_masked": {}, "ppo_roa": {"num_envs": 4, "window": 4}}
OTHERS |= {"prioritized_dqn": {}, "mbpo": {}, "dreamer": {"num_envs": 4}}
ALL = [*CASES, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]


def trainer_of(name, collection="async", **options):
    doors = Doors(2, max_episode_steps=8) if name == "ppo_masked" else None
    own = {**(CASES | OTHERS).get(name, {}), "total_steps": 128, **options}
    trainer = factories.trainer_of(name, envs=doors, collection=collection, **own)
    if collection == "sync" and hasattr(trainer.agent, "records_log_prob"):
        trainer.agent.records_log_prob = True
    return trainer


@pytest.mark.parametrize("name", ALL)
def test_what_the_newest_policy_collects_gives_the_same_numbers(name):
    sync = trainer_of(name, "sync", max_policy_lag=0)
    expected = [factories.plain(log) for log in sync()]  # the next one seeds PyTorch
    background = trainer_of(name, max_policy_lag=0)
    assert isinstance(background.collector, AsyncCollector)
    assert sum(log["log_type"] == "train" for log in expected) >= 4
    found = []
    for log in background():
        assert log["logs"].get("policy_lag_max", 0) == 0
        found.append(factories.plain(log))
    assert repr(found) == repr(expected)  # nan is like nan
    pairs = zip(sync.model.parameters(), background.model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_rainbow_acts_and_learns_with_noise_of_two_generators():
    """One thread draws both from one, in turns; two threads could not."""

    def logs(*collection):
        trainer = trainer_of("rainbow", *collection, max_policy_lag=0)
        return [factories.plain(log) for log in trainer()]

    runs = [logs() for _ in range(2)]
    assert repr(runs[0]) == repr(runs[1])
    places = [
        [(log["log_type"], log["sample_step"], log["learn_step"]) for log in run]
        for run in (runs[0], logs("sync"))
    ]
    assert places[0] == places[1]


@pytest.mark.parametrize(("name", "lag"), [("ppo_lstm", 3), ("dqn", 3)])
def test_older_policies_train_as_many_steps(name, lag):
    trainer = trainer_of(name, max_policy_lag=lag)
    lags = [log["logs"].get("policy_lag_max", 0) for log in trainer()]
    assert max(lags) <= lag
    assert trainer.agent.sample_step == 128
    sync = trainer_of(name, "sync")
    list(sync())
    assert trainer.agent.learn_step == sync.agent.learn_step
    assert trainer.training_done
    assert all(bool(p.isfinite().all()) for p in trainer.model.parameters())


@pytest.mark.parametrize("name", ["reinforce", "sarsa"])
def test_who_must_decide_after_learning_refuses(name):
    module = factories.module_of(name)
    with pytest.raises(TypeError, match="collection"):
        module.Config(collection="async")
    with pytest.raises(ValueError, match="has no field 'collection'"):
        module.Config.from_dict({"collection": "async"})
    with pytest.raises(ValueError, match="cannot be collected in the background"):
        module.Trainer(module.Config(device="cpu"), collector=AsyncCollector)


@pytest.mark.slow
def test_a_compiled_update_learns_from_the_background(traced):
    arrays = {"compile": True, "env_id": "CartPole-v1"}

    def logs(name, **options):
        trainer = trainer_of(name, max_policy_lag=0, **arrays, **options)
        return [factories.plain(log) for log in trainer()]

    assert repr(logs("ppo", collection="sync")) == repr(logs("ppo"))
    older = trainer_of("dqn", max_policy_lag=2, compile=True)
    list(older())
    assert older.training_done
