"""The mathematics of Double DQN: one network chooses, the other judges."""

from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import dqn


class Algorithm(dqn.Algorithm):
    """DQN without maximization bias: the online network chooses the target's action.

    van Hasselt, Guez & Silver 2016, "Deep Reinforcement Learning with Double
    Q-learning", arXiv:1509.06461.

    Differs from the paper: as `dqn.Algorithm` does.
    """

    def next_action(self, data: TensorDict, target_q_value: Tensor) -> Tensor:
        """The online network's best action `[B]`, which the target network values."""
        return self.model.value(data["next_obs"]).argmax(1)


class Trainer(dqn.Trainer):
    """DQN's schedule around Double DQN's mathematics."""

    algorithm_class = Algorithm
