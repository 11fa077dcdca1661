"""Shared parts of on-policy algorithms: configs, networks, advantages, trainers.

A rollout `[T, N]` is collected by the current policy, learned from, and discarded.
"""

from yieldrl.on_policy.action_values import action_value_targets, with_action_advantages
from yieldrl.on_policy.actor import Actor
from yieldrl.on_policy.adaptive_rate import check_desired_kl, follow_kl
from yieldrl.on_policy.agents import RememberingAgent, SamplingAgent
from yieldrl.on_policy.algorithm import OnPolicyAlgorithm
from yieldrl.on_policy.cloned_first import ClonesFirst
from yieldrl.on_policy.cloning_config import CloningConfig
from yieldrl.on_policy.config import (
    ActorCriticConfig,
    OnPolicyConfig,
    check_whole_sequences,
)
from yieldrl.on_policy.episode_rows import joined, pad_across_ranks
from yieldrl.on_policy.group_algorithm import GroupAlgorithm
from yieldrl.on_policy.mlp_actor import MLPActor
from yieldrl.on_policy.model import ActorCritic
from yieldrl.on_policy.phased_trainer import PhasedAgent, PhasedTrainer
from yieldrl.on_policy.phases import PhasedAlgorithm, PhasedConfig, PhasedModel
from yieldrl.on_policy.tokens import (
    executed_mask,
    in_rows,
    sum_executed,
    tokens_taken,
    where_taken,
)
from yieldrl.on_policy.trainer import OnPolicyTrainer

__all__ = [
    "Actor",
    "ActorCritic",
    "ActorCriticConfig",
    "ClonesFirst",
    "CloningConfig",
    "GroupAlgorithm",
    "MLPActor",
    "OnPolicyAlgorithm",
    "OnPolicyConfig",
    "OnPolicyTrainer",
    "PhasedAgent",
    "PhasedAlgorithm",
    "PhasedConfig",
    "PhasedModel",
    "PhasedTrainer",
    "RememberingAgent",
    "SamplingAgent",
    "action_value_targets",
    "check_desired_kl",
    "check_whole_sequences",
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
