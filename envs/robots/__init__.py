"""Robots of other packages, as learning wants them."""

from yieldrl.envs.robots.meta_world import MetaWorld
from yieldrl.envs.robots.push_t import PushT

__all__ = ["MetaWorld", "PushT"]
