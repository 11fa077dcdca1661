"""The mathematics of Rainbow: nothing but that of its parts."""

from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import c51, double_dqn, prioritized_dqn

from .model import Model


class Algorithm(double_dqn.Algorithm, prioritized_dqn.Algorithm, c51.Algorithm):
    """Six improvements of DQN, each from its own folder.

    Hessel et al. 2018, "Rainbow: Combining Improvements in Deep Reinforcement
    Learning", arXiv:1710.02298.

    - Double DQN: `next_action`, the online network's choice.
    - Prioritized replay: `weigh`, `priority`; the buffer of `Trainer`.
    - Distributions: `td_target`, `element_loss`; the atoms of `Model`.
    - Dueling streams: `Model`.
    - n-step returns: in the data, by the buffer of `Trainer`.
    - Noisy networks: the layers of `Model`, the noise of `Agent`.

    Differs from the paper: as `dqn.Algorithm` does; there is less noise at the start
    (`noise_sigma`); Double DQN's choice is made under the same noise as the loss.
    """

    model: Model
    target_model: Model

    def priority(self, element_loss: Tensor, elements: Logs) -> Tensor:
        """Priorities `[B]`: the KL divergence of target and predicted distribution."""
        return elements["kl"]
