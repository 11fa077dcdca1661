"""Wrappers around vector environments, of tensors and of NumPy arrays alike."""

from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers.base import BatchWrapper
from yieldrl.envs.wrappers.bounds import ClipReward, RescaleAction, SignReward
from yieldrl.envs.wrappers.chunks import ActionChunks
from yieldrl.envs.wrappers.conversion import NumpyToTorch, TorchToNumpy
from yieldrl.envs.wrappers.episodes import EpisodeStatistics, TimeLimit
from yieldrl.envs.wrappers.frames import FrameStack
from yieldrl.envs.wrappers.groups import GroupStarts
from yieldrl.envs.wrappers.hidden import HiddenParameters
from yieldrl.envs.wrappers.judged import JudgedReward
from yieldrl.envs.wrappers.normalize import NormalizeObservation, NormalizeReward
from yieldrl.envs.wrappers.success import SuccessReward
from yieldrl.envs.wrappers.waiting import WaitingSteps

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
