"""What algorithms that learn from rollouts share; each keeps its own mathematics.

A rollout `[T, N]` is collected with the policy of now, learned from, and forgotten.
Here are the fields of their configs, networks of actors and critics around one encoder,
what learning asks of a whole rollout before it begins, and the schedule around that.
"""

from yieldrl.on_policy.action_values import judged_by_action, of_actions
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
from yieldrl.on_policy.episode_rows import alike, joined
from yieldrl.on_policy.group_algorithm import GroupAlgorithm
from yieldrl.on_policy.mlp_actor import MLPActor
from yieldrl.on_policy.model import ActorCritic
from yieldrl.on_policy.phased_trainer import PhasedAgent, PhasedTrainer
from yieldrl.on_policy.phases import PhasedAlgorithm, PhasedConfig, PhasedModel
from yieldrl.on_policy.tokens import executed, in_rows, joint, tokens_taken, where_taken
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
    "alike",
    "check_desired_kl",
    "check_whole_sequences",
    "executed",
    "follow_kl",
    "in_rows",
    "joined",
    "joint",
    "judged_by_action",
    "of_actions",
    "tokens_taken",
    "where_taken",
]
