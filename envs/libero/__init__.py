"""LIBERO's manipulation tasks as Gymnasium environments (extra `[libero]`)."""

from yieldrl.envs.libero.suites import HORIZONS, SUITES, Task, tasks_of
from yieldrl.envs.libero.wrapper import LiberoEnvChunk, LiberoEnvWrapper

__all__ = [
    "HORIZONS",
    "SUITES",
    "LiberoEnvChunk",
    "LiberoEnvWrapper",
    "Task",
    "tasks_of",
]
