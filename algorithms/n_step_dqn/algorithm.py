"""N-step DQN: rewards of several steps stand before the estimate."""

from typing import Any

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import dqn
from yieldrl.buffers import ReplayBuffer
from yieldrl.core import Count


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """DQN that looks n steps ahead; all other defaults are DQN's."""

    n_step: Count = 3
    """Steps whose rewards are summed before the value of the state after them is
    estimated. More carry rewards back faster and depend less on the estimate; they add
    variance, and the actions of an older policy."""


class Trainer(dqn.Trainer):
    """DQN with `Q(s_t, a_t)` moved towards n rewards and the value after them.

    The buffer does it all: a sample carries the sum of the rewards, the observation
    after the last of them, and `gamma^n` as its discount (see `ReplayBuffer`).

    Peng & Williams 1996, "Incremental Multi-Step Q-Learning"; Hessel et al. 2018,
    "Rainbow", arXiv:1710.02298, section "Multi-step learning".

    Differs from the paper: as `dqn.Algorithm` does.
    """

    config: Config
    config_class = Config

    def make_buffer(self, kind: Any = ReplayBuffer, **options: Any) -> Any:
        return super().make_buffer(kind, n_step=self.config.n_step, **options)
