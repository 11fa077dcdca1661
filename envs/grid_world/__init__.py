"""Grid world with coloured shapes and an instruction that names the goal."""

from yieldrl.envs.grid_world.objects import COLORS, HELD_OUT, KINDS, SHAPES
from yieldrl.envs.grid_world.views import AGENT, CELL, FLOOR
from yieldrl.envs.grid_world.world import EAST, NORTH, SOUTH, WEST, GoToVectorEnv

__all__ = [
    "AGENT",
    "CELL",
    "COLORS",
    "EAST",
    "FLOOR",
    "HELD_OUT",
    "KINDS",
    "NORTH",
    "SHAPES",
    "SOUTH",
    "WEST",
    "GoToVectorEnv",
]
