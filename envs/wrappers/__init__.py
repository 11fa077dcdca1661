"""Wrappers around vector environments, of tensors and of NumPy arrays alike."""

import importlib
from typing import TYPE_CHECKING, Any

from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers.base import BatchWrapper

if TYPE_CHECKING:
    from yieldrl.envs.wrappers.chunks import ActionChunks
    from yieldrl.envs.wrappers.conversion import (
        NumpyToTorch,
        RescaleAction,
        TorchToNumpy,
    )
    from yieldrl.envs.wrappers.episodes import (
        EpisodeStatistics,
        TimeLimit,
        WaitingSteps,
    )
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

_ON_USE = {
    "ActionChunks": "chunks",
    "ClipReward": "rewards",
    "EpisodeStatistics": "episodes",
    "FrameStack": "observations",
    "GroupStarts": "groups",
    "HiddenParameters": "hidden",
    "JudgedReward": "rewards",
    "NormalizeObservation": "observations",
    "NormalizeReward": "rewards",
    "NumpyToTorch": "conversion",
    "RescaleAction": "conversion",
    "SignReward": "rewards",
    "SuccessReward": "rewards",
    "TimeLimit": "episodes",
    "TorchToNumpy": "conversion",
    "WaitingSteps": "episodes",
}
"""Name -> the module that defines it."""


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ON_USE[name]}"), name)
