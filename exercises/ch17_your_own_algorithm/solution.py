"""Chapter 17, your own algorithm."""

import torch
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import dqn


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """DQN's settings, and three of its own; the defaults are the paper's."""

    temperature: float = 0.03
    """How soft the policy is that the target speaks of. Higher is closer to chance;
    towards 0 it is the greedy policy, and with `munchausen_coef=0` this is DQN."""

    munchausen_coef: float = 0.9
    """Share of the scaled log-policy that is added to the reward. Higher widens the
    gaps between actions; at 0 nothing is added."""

    munchausen_clip: float = -1.0
    """The scaled log-policy counts as this where it is lower. Lower lets a single
    unlikely action cost more."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("temperature", low=0, above=True)
        self._check_range("munchausen_coef", low=0, high=1)
        self._check_range("munchausen_clip", low=-1_000, high=0)


class Algorithm(dqn.Algorithm):
    """DQN that is fined for what it thought a bad idea.

    Vieillard, Pietquin & Geist 2020, "Munchausen Reinforcement Learning",
    arXiv:2007.14430, equation 2, with the clipped log-policy of its experiments.

    Differs from the paper: as `dqn.Algorithm` does.
    """

    config: Config

    @torch.no_grad()
    def td_target(self, data: TensorDict) -> Tensor:
        """Reward, bonus, and the discounted soft value of the next state, `[B]`."""
        # The gap. DQN's own target has three lines; this one has about eight.
        #   log pi(. | s)   log_softmax(Q'(s, .) / tau), of the target network
        #   bonus           alpha max(tau log pi(a | s), l_0), of the action taken
        #   soft value      sum_a' pi(a' | s') (Q'(s', a') - tau log pi(a' | s'))
        #   target          r + bonus + discount * soft value, unless s' is terminal
        # In the config tau is `temperature`, alpha `munchausen_coef`, and l_0
        # `munchausen_clip`. `tau` there is something else: how fast Q' follows.
        # gap: the target: what is added, and which value follows?
        config, tau = self.config, self.config.temperature
        log_policy = (self.target_model.value(data["obs"]) / tau).log_softmax(1)
        taken = log_policy.gather(1, data["action"].unsqueeze(1)).squeeze(1)
        bonus = config.munchausen_coef * (tau * taken).clamp(min=config.munchausen_clip)
        next_q = self.target_model.value(data["next_obs"])
        next_log_policy = (next_q / tau).log_softmax(1)
        soft = (next_log_policy.exp() * (next_q - tau * next_log_policy)).sum(1)
        return data["reward"] + bonus + data["discount"] * soft * ~data["terminated"]
        # end


class Trainer(dqn.Trainer):
    """The schedule of DQN, as it is."""

    config_class = Config
    algorithm_class = Algorithm
