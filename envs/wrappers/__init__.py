"""Wrappers around vector environments, of tensors and of NumPy arrays alike."""

from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers.base import BatchWrapper
from yieldrl.envs.wrappers.chunks import ActionChunks
from yieldrl.envs.wrappers.conversion import NumpyToTorch, RescaleAction, TorchToNumpy
from yieldrl.envs.wrappers.episodes import EpisodeStatistics, TimeLimit, WaitingSteps
from yieldrl.envs.wrappers.groups import GroupStarts
from yieldrl.envs.wrappers.hidden import HiddenParameters
from yieldrl.envs.wrappers.observations import FrameStack, NormalizeObservation
from yieldrl.envs.wrappers.rewards import (
    ClipReward,
    JudgedReward,
    NormalizeReward,
    SignReward,
    SuccessReward,
)

__all__ = [
    "ActionChunks",
    "BatchWrapper",
    "ClipReward",
    "EpisodeStatistics",
    "FrameStack",
    "GroupStarts",
    "HiddenParameters",
    "JudgedReward",
    "NormalizeObservation",
    "NormalizeReward",
    "NumpyToTorch",
    "RescaleAction",
    "SignReward",
    "Step",
    "SuccessReward",
    "TimeLimit",
    "TorchToNumpy",
    "WaitingSteps",
]
