"""A grid with coloured shapes, and a sentence that says to which one to go."""

from yieldrl.envs.grid_world.objects import COLORS, HELD_OUT, KINDS, SHAPES
from yieldrl.envs.grid_world.painting import AGENT, CELL, FLOOR
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
