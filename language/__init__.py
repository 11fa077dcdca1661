"""Language-model policies: tokenizers, a small transformer, sampling of tokens."""

from yieldrl.language.answers import AnswerCritic, AnswerPolicy
from yieldrl.language.characters import Characters
from yieldrl.language.config import LanguageConfig, policy_for, writer_or
from yieldrl.language.policy import TokenPolicy
from yieldrl.language.reward_model import RewardModel
from yieldrl.language.transformer import Transformer

__all__ = [
    "AnswerCritic",
    "AnswerPolicy",
    "Characters",
    "LanguageConfig",
    "RewardModel",
    "TokenPolicy",
    "Transformer",
    "policy_for",
    "writer_or",
]
