"""Words of other libraries that config files may use, and what they are here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Look = Callable[[str], int]
"""Field -> its value in the file, or its default; a whole number."""


def _kind(given: Any, look: Look) -> str:
    kinds = {"standard": "sync", "vla": "async"}
    if given not in kinds:
        raise ValueError(f"choose one of {list(kinds)}")
    return kinds[given]


def _steps(given: Any, look: Look) -> int:
    return _whole(given) * look("num_steps") * look("num_envs")


def _minibatches(given: Any, look: Look) -> int:
    rollout = look("num_steps") * look("num_envs")
    if rollout % _whole(given):
        raise ValueError(
            f"it must divide the rollout of num_steps * num_envs = {look('num_steps')}"
            f" * {look('num_envs')} = {rollout} transitions"
        )
    return rollout // given


def _whole(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ValueError("give a whole number, at least 1")
    return given


class Word(NamedTuple):
    """What a word of another library is here.

    Attributes:
        ours: Our field.
        value: Our value, from the given one and the values of our other fields.
    """

    ours: str
    value: Callable[[Any, Look], Any] = lambda given, look: given


WORDS = {
    # Steps, rollouts and minibatches. Of an off-policy algorithm, whose fields they
    # are, buffer_size and batch_size stay what they are.
    "buffer_size": Word("num_steps"),
    "n_steps": Word("num_steps"),
    "buffer_type": Word("collection", _kind),  # standard: sync, vla: async
    "iterations": Word("total_steps", _steps),  # iterations * num_steps * num_envs
    "total_timesteps": Word("total_steps"),
    "n_epochs": Word("num_epochs"),
    "update_epochs": Word("num_epochs"),
    "batch_size": Word("num_minibatches", _minibatches),  # num_steps * num_envs / it
    "minibatch_size": Word("num_minibatches", _minibatches),
    "n_envs": Word("num_envs"),
    "train_freq": Word("train_every"),
    "target_update_interval": Word("target_every"),
    # Coefficients.
    "lr": Word("learning_rate"),
    "clip_range": Word("clip_coef"),
    "clip_range_vf": Word("clip_value"),
    "ent_coef": Word("entropy_coef"),
    "vf_coef": Word("value_coef"),
    "exploration_final_eps": Word("epsilon_end"),
    # The run.
    "eval_freq": Word("eval_every"),
    "num_eval_episodes": Word("eval_episodes"),
    "exp_name": Word("run_name"),
    # Words that mean something in one block alone.
    "env.name": Word("env_id"),
    "env.id": Word("env_id"),
    "env.cfg": Word("env_kwargs"),
    "env.kwargs": Word("env_kwargs"),
    "collector.name": Word("collection"),
}
"""Their word, or `block.word` -> ours."""

NAMES = {
    "policy": {"actor_critic": "default"},
    "loggers": {"progress_bar": "progress", "early_stopping": "early_stop"},
}
"""Block -> their name of something that is registered here -> ours."""

VLA = "vla"
"""The policy whose values are not fields of the config but arguments of its own: what
stands in its `vla_config` is a field only where the config has such fields."""
