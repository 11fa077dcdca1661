"""Wrappers of other packages' robot environments, for learning."""

from yieldrl.envs.robots.meta_world import MetaWorld, MetaWorldRepeated
from yieldrl.envs.robots.push_t import PushT, PushTMoves

__all__ = ["MetaWorld", "MetaWorldRepeated", "PushT", "PushTMoves"]
