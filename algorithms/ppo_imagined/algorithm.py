"""The mathematics of PPO for vision-language-action policies, imagined too.

After Janner et al. 2019, "When to Trust Your Model", arXiv:1906.08253, which branches
short rollouts from real states.
"""

from tensordict import TensorDict

from yieldrl.algorithms import vla_ppo
from yieldrl.buffers import transitions
from yieldrl.imagination.imagining import ImaginesToo

from .config import Config


class Algorithm(ImaginesToo, vla_ppo.Algorithm):
    """PPO of steps that were taken, and of steps that a model of the world foresees.

    A branch that has not ended at the horizon is cut there, and the critic says what is
    beyond, of the state that was imagined last.
    """

    config: Config

    def rows(self, prepared: TensorDict) -> TensorDict:
        """Each transition by itself, `[B, 1]`."""
        return transitions(prepared).unsqueeze(1)

    def worth(self, segment: TensorDict) -> TensorDict:
        """With generalized advantage estimates, as of a rollout."""
        return self.rows(vla_ppo.Algorithm.prepare(self, segment))
