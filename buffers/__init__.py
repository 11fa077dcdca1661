"""Where transitions wait: rollouts for on-policy learning, replay for off-policy."""

from yieldrl.buffers.circular import CircularBuffer
from yieldrl.buffers.demonstrations import Demonstrations
from yieldrl.buffers.episodes import EpisodeBuffer
from yieldrl.buffers.minari_data import read_dataset, write_dataset
from yieldrl.buffers.n_step import NStepReplayBuffer
from yieldrl.buffers.passes import Passes, sequences, transitions
from yieldrl.buffers.prioritized import (
    PrioritizedNStepReplayBuffer,
    PrioritizedReplayBuffer,
)
from yieldrl.buffers.replay import ReplayBuffer
from yieldrl.buffers.returns import discounted_returns, explained_variance, gae
from yieldrl.buffers.rollout import RolloutBuffer
from yieldrl.buffers.step import StepBuffer
from yieldrl.buffers.v_trace import vtrace
from yieldrl.buffers.windows import Windows, actions_taken

__all__ = [
    "CircularBuffer",
    "Demonstrations",
    "EpisodeBuffer",
    "NStepReplayBuffer",
    "Passes",
    "PrioritizedNStepReplayBuffer",
    "PrioritizedReplayBuffer",
    "ReplayBuffer",
    "RolloutBuffer",
    "StepBuffer",
    "Windows",
    "actions_taken",
    "discounted_returns",
    "explained_variance",
    "gae",
    "read_dataset",
    "sequences",
    "transitions",
    "vtrace",
    "write_dataset",
]
