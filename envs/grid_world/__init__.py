"""Grid world with coloured shapes and an instruction that names the goal."""

from yieldrl.envs.grid_world.objects import COLORS, KINDS
from yieldrl.envs.grid_world.world import GoToVectorEnv

__all__ = ["COLORS", "KINDS", "GoToVectorEnv"]
