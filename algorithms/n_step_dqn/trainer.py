"""The schedule of n-step DQN: that of DQN, with samples that look further ahead."""

from typing import Any

from yieldrl.algorithms import dqn
from yieldrl.buffers import NStepReplayBuffer

from .config import Config


class Trainer(dqn.Trainer):
    """DQN with `Q(s_t, a_t)` moved towards n rewards and the value after them.

    The buffer does it all: a sample carries the sum of the rewards, the observation
    after the last of them, and `gamma^n` as its discount (see `NStepReplayBuffer`).

    Peng & Williams 1996, "Incremental Multi-Step Q-Learning"; Hessel et al. 2018,
    "Rainbow", arXiv:1710.02298, section "Multi-step learning".

    Differs from the paper: as `dqn.Algorithm` does.
    """

    config: Config
    buffer: NStepReplayBuffer
    config_class = Config
    buffer_class = NStepReplayBuffer

    def buffer_options(self) -> dict[str, Any]:
        return {**super().buffer_options(), "n_step": self.config.n_step}
