"""With the newest policy alone, collecting in the background changes no number."""

import dataclasses
import importlib

import pytest
import torch
from worlds import Doors

from yieldrl import algorithms
from yieldrl.cli import catalog
from yieldrl.collectors import AsyncCollector

OFF_POLICY = {
    "learning_starts": 24,
    "batch_size": 8,
    "hidden_sizes": (8,),
    "train_every": 2,
}
ON_POLICY = {"num_steps": 8, "hidden_sizes": (8,)}
CONTINUOUS = {"env_id": "Pendulum-v1", **OFF_POLICY}
PASSES = {**ON_POLICY, "num_minibatches": 2, "num_epochs": 2}
GROUPS = {
    **PASSES,
    "env_id": "Pendulum-v1",
    "env_kwargs": {"max_episode_steps": 8},
    "demonstration_steps": 0,
    "num_envs": 4,
    "group_size": 2,
}
DREAMS = {
    **OFF_POLICY,
    "env_id": "CartPole-v1",
    "num_envs": 4,
    "sequence_length": 4,
    "horizon": 2,
    "memory_size": 8,
}
NO_PAIRS = {"group_size", "num_minibatches"}  # fields that DPO has not
IMAGINED = {
    "gradient_steps": 1,
    "num_branches": 16,
    "model_batch_size": 8,
    "model_epochs": 1,
    "model_hidden_sizes": (8,),
}
CASES = {
    "a2c": {**ON_POLICY, "num_envs": 2},
    "appo": PASSES,
    "dapo": GROUPS,
    "dpo": {k: v for k, v in GROUPS.items() if k not in NO_PAIRS},
    "dr_grpo": GROUPS,
    "gipo": PASSES,
    "grpo": GROUPS,
    "gspo": GROUPS,
    "ppo": PASSES,
    "ppo_lstm": {**PASSES, "lstm_size": 8},
    "ppo_masked": PASSES,
    "ppo_roa": {
        **PASSES,
        "env_id": "yieldrl/HiddenCartPole-v1",
        "num_envs": 4,
        "window": 4,
    },
    "reinforce_pp": GROUPS,
    "rloo": GROUPS,
    "dqn": OFF_POLICY,
    "double_dqn": OFF_POLICY,
    "dueling_dqn": OFF_POLICY,
    "prioritized_dqn": OFF_POLICY,
    "n_step_dqn": OFF_POLICY,
    "c51": OFF_POLICY,
    "rainbow": OFF_POLICY,
    "ddpg": CONTINUOUS,
    "td3": CONTINUOUS,
    "sac": CONTINUOUS,
    "sac_discrete": OFF_POLICY,
    "mbpo": {**CONTINUOUS, **IMAGINED},
    "dreamer": DREAMS,
    "q_learning": {},
}

RECORDING = {"a2c", "appo", "gipo", "ppo", "ppo_lstm", "ppo_masked", "ppo_roa"}
RECORDING |= {name for name, options in CASES.items() if "group_size" in options}
ALWAYS_SYNC = {"behavior_cloning", "reinforce", "sarsa"}
# which need another model here
BY_ITSELF = {"grpo_imagined", "ppo_imagined", "vla_grpo", "vla_ppo", "vla_ppo_steady"}


def module_of(name):
    return importlib.import_module(f"{algorithms.__name__}.{name}")


def trainer_of(name, collection="async", tensors=False, **options):
    module, steps = module_of(name), {"total_steps": 128, "eval_every": 0}
    config = module.Config(
        **{**CASES[name], **steps, "device": "cpu", "collection": collection, **options}
    )
    if not tensors:
        trainer = module.Trainer(config)
    elif name == "ppo_masked":
        trainer = module.Trainer(config, envs=Doors(4, max_episode_steps=8))
    else:
        config = dataclasses.replace(config, env_id=f"yieldrl/{config.env_id}")
        trainer = module.Trainer(config)
    if collection == "sync" and name in RECORDING:
        trainer.agent.records_log_prob = True
    return trainer


def metrics(trainer):
    """All numbers of training, but for what tells how old the policies were."""
    found = []
    for log in trainer():
        logs = {k: float(v) for k, v in log["logs"].items()}
        for name in ("policy_lag", "policy_lag_max"):
            assert logs.pop(name, 0) == 0
        found.append((log["log_type"], log["sample_step"], log["learn_step"], logs))
    return found


def test_all_algorithms_are_here():
    assert {*CASES, *ALWAYS_SYNC, *BY_ITSELF} == set(catalog.descriptions())


KINDS = [(name, tensors) for name in CASES for tensors in (False, True)]
KINDS.remove(("q_learning", True))  # its states are numbers: FrozenLake's
KINDS.remove(("ppo_roa", True))  # its worlds are tensors in any case
KINDS = [(name, tensors) for name, tensors in KINDS if name != "rainbow"]


@pytest.mark.parametrize(("name", "tensors"), KINDS)
def test_what_the_newest_policy_collects_gives_the_same_numbers(name, tensors):
    options = {"tensors": tensors, "max_policy_lag": 0}
    sync = trainer_of(name, "sync", **options)
    expected = metrics(sync)  # before another is made, which seeds PyTorch
    background = trainer_of(name, **options)
    assert isinstance(background.collector, AsyncCollector)
    assert sum(kind == "train" for kind, *_ in expected) >= 4
    assert repr(metrics(background)) == repr(expected)  # nan is like nan
    pairs = zip(sync.model.parameters(), background.model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_rainbow_acts_and_learns_with_noise_of_two_generators():
    """One thread draws both from one, in turns; two threads could not."""
    runs = [metrics(trainer_of("rainbow", max_policy_lag=0)) for _ in range(2)]
    assert repr(runs[0]) == repr(runs[1])
    sync = metrics(trainer_of("rainbow", "sync"))
    assert [log[:3] for log in sync] == [log[:3] for log in runs[0]]


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_older_policies_train_as_many_steps(name, lag):
    trainer = trainer_of(name, max_policy_lag=lag)
    lags = [log["logs"].get("policy_lag_max", 0) for log in trainer()]
    assert max(lags) <= lag
    assert trainer.agent.sample_step == 128
    assert trainer.agent.learn_step == trainer_of_steps(name)
    assert trainer.training_done
    assert all(bool(p.isfinite().all()) for p in trainer.model.parameters())


def trainer_of_steps(name):
    trainer = trainer_of(name, "sync")
    for _ in trainer():
        pass
    return trainer.agent.learn_step


@pytest.mark.parametrize("name", sorted(ALWAYS_SYNC))
def test_who_must_decide_after_learning_refuses(name):
    config = module_of(name).Config
    with pytest.raises(TypeError, match="collection"):
        config(collection="async")
    with pytest.raises(ValueError, match="'collection': it means nothing to"):
        config.from_dict({"collection": "async"})


def test_a_compiled_update_learns_from_the_background(traced):
    sync = metrics(trainer_of("ppo", "sync", speed="compile"))
    background = metrics(trainer_of("ppo", max_policy_lag=0, speed="compile"))
    assert repr(background) == repr(sync)
    older = trainer_of("dqn", max_policy_lag=2, speed="compile")
    for _ in older():
        pass
    assert older.training_done
