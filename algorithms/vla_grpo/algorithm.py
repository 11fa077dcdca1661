"""The mathematics of GRPO for policies whose actions are many tokens.

Li et al. 2025, "SimpleVLA-RL: Scaling VLA Training via Reinforcement Learning",
arXiv:2509.09674; Yu et al. 2025, "RLinf-VLA", arXiv:2510.06710.
"""

from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

import torch
from gymnasium.vector import VectorEnv
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from yieldrl.algorithms import grpo, vla_ppo
from yieldrl.algorithms.vla_ppo.algorithm import adamw, in_chunks
from yieldrl.core import Coefficient, LearningRate
from yieldrl.functional import share_above
from yieldrl.vla.config import VLAConfig

SMALL = {"height": 3, "width": 3, "num_objects": 1, "max_episode_steps": 4}
"""A grid on which hundreds of updates take a minute."""


@dataclass(frozen=True, kw_only=True)
class Config(VLAConfig, grpo.Config):
    """GRPO for vision-language-action policies; the defaults train a tiny one, with
    weights of its own, on yieldrl/GoTo-v1 seen as images with its instruction: it
    clones an expert for a moment, and its successes do the rest."""

    uncompiled: ClassVar[str | None] = "libraries of large models compile their own"
    precision: ClassVar[str] = "float32"  # the model's own is `dtype`
    actor_obs: ClassVar[tuple[str, ...]] = ()  # it reads what `observation_keys` says
    value_learning_rate: ClassVar[None] = None  # there is no critic
    d_model: ClassVar[int] = 128  # for language models only
    num_layers: ClassVar[int] = 4
    num_heads: ClassVar[int] = 4
    template: ClassVar[str] = "{}"
    top_k: ClassVar[None] = None
    tempered_learning: ClassVar[bool] = True

    env_id: str = "yieldrl/GoToPixels-v1"
    """Id of a registered environment, with images or with `observation_keys`. Its
    rewards may be of successes alone."""

    env_kwargs: dict[str, Any] = field(default_factory=lambda: {**SMALL})
    """Arguments of the environment. Members of a group wait for the longest episode,
    which a lower `max_episode_steps` shortens."""

    total_steps: int = 40_000

    demonstration_steps: int = 1_024
    """Environment steps of an expert that is cloned first; 0 begins without it. The
    clone has to succeed now and then: where all of a group fail, nothing is learned."""

    clone_batch_size: int = 32
    clone_steps: int | None = 100
    num_envs: int = 256

    num_steps: int = 4
    """Chunks of actions that every environment executes for a rollout (T), in which a
    group begins another episode only if the longest would still end."""

    num_minibatches: int = 2
    num_epochs: int = 2
    eval_episodes: int = 10
    warmup_share: float = 0.0

    learning_rate: float = 5e-4
    """Learning rate of AdamW at the start. Pretrained models take less, 1e-5 say;
    higher learns faster, too high forgets what was known before."""

    adapter_learning_rate: LearningRate | None = None
    """Learning rate of low-rank adapters, which can take more than the weights that
    they stand for. By default `learning_rate`."""

    weight_decay: Coefficient = 0.0
    """Share of every weight that AdamW takes away per step, times the learning rate.
    Higher keeps weights smaller."""

    least_share: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Leave out groups of which a smaller share succeeded, or failed. Higher learns
    from what is neither too hard nor too easy yet, of fewer groups."""

    ratio_level: Literal["token", "action", "step", "sequence"] = "token"
    """Unit of the probability ratio: each `token` by itself; the tokens of an `action`
    together; those of a `step`, that is of a chunk of actions; or the whole episode, as
    a `sequence`. Longer products leave the clip sooner."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio_level in ("token", "action") and self.log_prob_per != "token":
            raise self.error(
                "ratio_level",
                "the ratio of a token needs its log-probability: choose 'step', or"
                " log_prob_per='token'",
            )


class Algorithm(grpo.Algorithm):
    """GRPO of episodes whose steps are chunks of actions, of L * D tokens each.

    Tokens of actions that were not executed have no part in it. A value head that the
    model may have is not trained.
    """

    config: Config

    def make_optimizer(self) -> torch.optim.Optimizer:
        return adamw(self.model, self.config)

    def relative(self, returns: Tensor, counted: Tensor) -> Tensor:
        """GRPO's advantages `[K, G]`, but 0 in groups that `least_share` leaves out."""
        share, least = share_above(returns, counted), self.config.least_share
        kept = torch.minimum(share, 1 - share) > least - 1e-6
        return super().relative(returns, counted) * kept

    def shared(self, log_ratio: Tensor, mask: Tensor) -> Tensor:
        """GRPO's ratios, and between its levels those of the D tokens of an action.

        A policy that tells one number for a chunk has K = 1.
        """
        actions = min(self.config.chunk_length, log_ratio.shape[2])
        parts = log_ratio.unflatten(2, (actions, -1))  # [B, T, L, D]
        levels = {"token": (), "action": (3,), "step": (2, 3), "sequence": (1, 2, 3)}
        axes = levels[self.config.ratio_level]
        total = parts.sum(axes, keepdim=True) if axes else parts
        return total.expand_as(parts).flatten(2)


class Trainer(grpo.Trainer):
    """Behaviour cloning and GRPO, one after the other, on one model."""

    config: Config
    config_class = Config
    model_class = vla_ppo.Model
    algorithm_class = Algorithm

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Environments that take chunks of actions, in training in groups."""
        return super().wrap_envs(in_chunks(envs, self.config), training)
