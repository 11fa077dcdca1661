"""The mathematics of PPO for vision-language-action policies, imagined too.

After Janner et al. 2019, "When to Trust Your Model", arXiv:1906.08253, which branches
short rollouts from real states.
"""

from dataclasses import field
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass
from tensordict import TensorDict

from yieldrl.algorithms import vla_ppo
from yieldrl.algorithms.vla_grpo.algorithm import SMALL
from yieldrl.buffers import transitions
from yieldrl.imagination.config import WorldModelConfig
from yieldrl.imagination.imagining import ImaginationSchedule, PolicyImagination


@dataclass(frozen=True, kw_only=True)
class Config(WorldModelConfig, vla_ppo.Config):
    """PPO for vision-language-action policies beside a model of the world; the defaults
    let a tiny one, on a small grid, go on from a weak clone."""

    normalize_reward: ClassVar[bool] = False  # the world model predicts raw rewards

    env_kwargs: dict[str, Any] = field(default_factory=lambda: {**SMALL})

    total_steps: int = 20_000
    """Environment steps to train for, the expert's and those after. What is imagined
    does not count. The learning rate falls to zero over the real ones."""

    collection: Literal["sync", "async", "ray"] = "sync"
    demonstration_steps: int = 1_024
    clone_steps: int | None = 200
    num_envs: int = 256
    num_steps: int = 4
    num_epochs: int = 2
    num_minibatches: int = 4


class Algorithm(PolicyImagination, vla_ppo.Algorithm):
    """PPO of steps that were taken, and of steps that a model of the world foresees.

    A branch that has not ended at the horizon is cut there, and the critic says what is
    beyond, of the state that was imagined last.
    """

    config: Config

    def rows(self, data: TensorDict) -> TensorDict:
        """Each transition by itself, `[B, 1]`."""
        return transitions(data).unsqueeze(1)

    def worth(self, segment: TensorDict) -> TensorDict:
        """With generalized advantage estimates, as of a rollout."""
        return self.rows(vla_ppo.Algorithm.prepare(self, segment))


class Trainer(ImaginationSchedule, vla_ppo.Trainer):
    """Clone an expert; then learn a model of the world and a policy side by side."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
