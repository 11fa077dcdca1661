"""Hyper-parameters of PPO on real and on imagined rollouts."""

from dataclasses import field
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import vla_ppo
from yieldrl.algorithms.vla_grpo.config import SMALL
from yieldrl.imagination.imagining_config import ImaginesTooConfig


@dataclass(frozen=True, kw_only=True)
class Config(ImaginesTooConfig, vla_ppo.Config):
    """PPO for vision-language-action policies beside a model of the world; the defaults
    let a tiny one, on a small grid, go on from a weak clone."""

    normalize_reward: ClassVar[bool] = False  # the world model predicts raw rewards

    env_kwargs: dict[str, Any] = field(default_factory=lambda: {**SMALL})
    """Arguments of the environment."""

    total_steps: int = 20_000
    """Environment steps to train for, the expert's and those after. What is imagined
    does not count. The learning rate falls to zero over the real ones."""

    collection: Literal["sync", "async", "ray"] = "sync"

    demonstration_steps: int = 1_024
    """Environment steps of an expert that is cloned first; 0 begins without it. What
    the clone sees by, it keeps."""

    clone_steps: int | None = 200
    """Gradient steps of cloning, in place of `clone_epochs`; None takes as many as
    these take."""

    num_envs: int = 256
    num_steps: int = 4

    num_epochs: int = 2
    """Passes over each rollout and what was imagined beside it. More move the policy
    further from the one that acted; `clip_coef` and `target_kl` limit that."""

    num_minibatches: int = 4
