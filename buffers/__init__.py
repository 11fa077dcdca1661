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
