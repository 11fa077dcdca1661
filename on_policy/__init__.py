"""Shared parts of algorithms that learn from rollouts `[T, N]`."""

from yieldrl.on_policy.action_values import action_value_targets, with_action_advantages
from yieldrl.on_policy.agents import RememberingAgent
from yieldrl.on_policy.config import ActorCriticConfig
from yieldrl.on_policy.episode_rows import joined, pad_across_ranks
from yieldrl.on_policy.rollouts import follow_kl
from yieldrl.on_policy.tokens import (
    executed_mask,
    in_rows,
    sum_executed,
    tokens_taken,
    where_taken,
)

__all__ = [
    "ActorCriticConfig",
    "RememberingAgent",
    "action_value_targets",
    "executed_mask",
    "follow_kl",
    "in_rows",
    "joined",
    "pad_across_ranks",
    "sum_executed",
    "tokens_taken",
    "where_taken",
    "with_action_advantages",
]
