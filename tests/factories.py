"""What most tests begin with: small configs, trainers, algorithms, buffers, logs."""

import dataclasses
import importlib
import io
import math
from itertools import chain, islice, repeat
from unittest.mock import DEFAULT, Mock

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

from yieldrl.buffers import ReplayBuffer
from yieldrl.core import means

SMALL = {
    "batch_size": 8,
    "demonstration_steps": 64,
    "gradient_steps": 1,
    "group_size": 2,
    "groups": 2,
    "hidden_sizes": (8,),
    "horizon": 3,
    "learning_starts": 8,
    "lstm_size": 4,
    "members": 3,
    "model_batch_size": 8,
    "model_epochs": 1,
    "model_every": 8,
    "model_hidden_sizes": (8,),
    "memory_size": 4,
    "model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8},
    "model_steps": 1,
    "model_warmup_steps": 2,
    "num_branches": 16,
    "num_envs": 2,
    "num_episodes": 2,
    "num_epochs": 2,
    "num_minibatches": 2,
    "num_steps": 8,
    "outcome": "number",
    "refreshes": 2,
    "sequence_length": 4,
    "target_every": 2,
    "total_steps": 400,
    "device": "cpu",
}
VECTOR = Box(-np.inf, np.inf, (2,))
PARTS = ("envs", "eval_envs", "model", "algorithm", "agent", "buffer")
OF_PROCESSES = {"policy_lag", "policy_lag_max", "workers", "segments_waiting"}
OF_PROCESSES |= {"weights_mb", "inference_batch", "inference_ms"}
"""Logged values that say who acted, not what was learned."""


def module_of(algorithm):
    """The module of an algorithm that is given by its name or as a module."""
    if isinstance(algorithm, str):
        return importlib.import_module(f"yieldrl.algorithms.{algorithm}")
    return algorithm


def config_of(algorithm, **options):
    """A small config, of the options that the algorithm has."""
    module = module_of(algorithm)
    known = {field.name for field in dataclasses.fields(module.Config)}
    if "demonstration_steps" in known and not module.__name__.endswith("cloning"):
        options = {"demonstration_steps": 0, **options}  # cloning is tried by itself
    if known & {"group_size", "judge"}:  # all groups differ, and end with the rollout
        limit = {"max_episode_steps": 8}
        options = {"env_id": "Pendulum-v1", "env_kwargs": limit, **options}
    if module.__name__.endswith("dreamer"):
        options = {"env_id": "CartPole-v1", "outcome": "symlog", **options}
    if module.__name__.endswith(("vla_grpo", "grpo_imagined")):
        options = {"observation_keys": {"proprio": "obs"}, "action_bins": 8, **options}
    known -= options.keys()
    return module.Config(**{k: v for k, v in SMALL.items() if k in known}, **options)


def trainer_of(algorithm, /, **options):
    """A trainer with a small config that does not evaluate, unless `options` say so.

    Among these are parts of one's own too: `envs=`, `model=` and the like.
    """
    module = module_of(algorithm)
    options = {"eval_every": 0, **options}
    parts = {name: options.pop(name, None) for name in PARTS}
    given = {name: part for name, part in parts.items() if part is not None}
    return module.Trainer(config_of(module, **options), **given)


def algorithm_of(algorithm, observation_space=VECTOR, action_space=None, **options):
    """An algorithm with a model of its own, of seed 0; two choices by default."""
    module = module_of(algorithm)
    config = config_of(module, **options)
    space = Discrete(2) if action_space is None else action_space
    torch.manual_seed(0)
    return module.Algorithm(module.Model(observation_space, space, config), config)


def buffer_of(
    kind=ReplayBuffer, rows=4, num_envs=3, space=VECTOR, action_space=None, **options
):
    """A buffer of `rows` steps of each of `num_envs` environments."""
    size = rows if kind.__name__ == "RolloutBuffer" else rows * num_envs
    choices = Discrete(2) if action_space is None else action_space
    return kind(size, space, choices, num_envs=num_envs, **options)


def transition(row, num_envs=3, **others):
    """A transition of which every entry says its number, `row * num_envs + n`."""
    number = (row * num_envs + np.arange(num_envs)).astype(np.float32)
    return {
        "obs": np.stack([number, -number], axis=1),
        "next_obs": np.stack([number + 1, -number - 1], axis=1),
        "action": (number % 2).astype(np.int64),
        "reward": number,
        "terminated": np.zeros(num_envs, bool),
        "truncated": np.zeros(num_envs, bool),
        **others,
    }


def plain(log):
    """A `LogData` that compares bit by bit, wherever its transitions were made."""
    logs = {k: float(v) for k, v in log["logs"].items() if k not in OF_PROCESSES}
    # As one object NaN equals itself.
    logs = {k: math.nan if math.isnan(x) else x for k, x in logs.items()}
    return {**log, "logs": logs}


def train_logs(trainer, count=None):
    """The plain logs of the next gradient steps, of all that are left by default."""
    logs = (plain(log) for log in trainer() if log["log_type"] == "train")
    return list(islice(logs, count))


def saved_and_loaded(state):
    """A state as `torch.load` gives it back, which unpickles tensors alone."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def resumed(trainer, stop, folder, **parts):
    """The plain logs of a run that is saved after `stop` of them and loaded again."""
    logs = list(islice(map(plain, trainer()), stop))
    again = type(trainer).load(trainer.save(folder / f"{stop}.pt"), **parts)
    return [*logs, *map(plain, again())]


def step(algorithm, data):
    """One counted gradient step of an algorithm on a batch; its metrics."""
    with algorithm.learning():
        return algorithm.learn(data)


def update(algorithm, rollout):
    """All gradient steps of an algorithm on a rollout; the means of their metrics."""
    minibatches, logs = algorithm.begin(rollout)
    return logs | means(list(algorithm.update(minibatches)))


def fails_once(owner, name, call, error):
    """Let that call of an object's method, counted from 1, raise the error."""
    effects = chain([DEFAULT] * (call - 1), [error], repeat(DEFAULT))
    setattr(owner, name, Mock(wraps=getattr(owner, name), side_effect=effects))


def ends_alike(one, other):
    """Run two trainers to their end: agents and buffers must be equal to the bit."""
    states = []
    for run in (one, other):
        list(run())
        state = run.state_dict()
        states.append([state["agent"], state["buffer"]])
    torch.testing.assert_close(*states, rtol=0, atol=0)
