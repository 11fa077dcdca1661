"""Worlds whose observations are prompts and whose actions are answers, as text."""

from yieldrl.envs.writing.steps import StepsVectorEnv
from yieldrl.envs.writing.sums import SumsVectorEnv

__all__ = ["StepsVectorEnv", "SumsVectorEnv"]
