"""Storage for transitions: rollouts, replay buffers, demonstrations."""

from yieldrl.buffers.action_chunks import Windows, actions_taken
from yieldrl.buffers.datasets import read_dataset, write_dataset
from yieldrl.buffers.demonstrations import Demonstrations
from yieldrl.buffers.episodes import EpisodeBuffer
from yieldrl.buffers.groups import EpisodeGroups
from yieldrl.buffers.imagination import ImaginationBuffer
from yieldrl.buffers.minibatches import Minibatches, sequences, transitions
from yieldrl.buffers.n_step import NStepReplayBuffer
from yieldrl.buffers.prioritized import (
    PrioritizedNStepReplayBuffer,
    PrioritizedReplayBuffer,
)
from yieldrl.buffers.replay import ReplayBuffer
from yieldrl.buffers.ring import CircularBuffer
from yieldrl.buffers.rollout import RolloutBuffer
from yieldrl.buffers.step import StepBuffer

# Deprecated: their place before `yieldrl.functional`.
from yieldrl.functional import discounted_returns as discounted_returns
from yieldrl.functional import explained_variance as explained_variance
from yieldrl.functional import gae as gae
from yieldrl.functional import vtrace as vtrace

Passes = Minibatches  # deprecated alias

__all__ = [
    "CircularBuffer",
    "Demonstrations",
    "EpisodeBuffer",
    "EpisodeGroups",
    "ImaginationBuffer",
    "Minibatches",
    "NStepReplayBuffer",
    "PrioritizedNStepReplayBuffer",
    "PrioritizedReplayBuffer",
    "ReplayBuffer",
    "RolloutBuffer",
    "StepBuffer",
    "Windows",
    "actions_taken",
    "read_dataset",
    "sequences",
    "transitions",
    "write_dataset",
]
