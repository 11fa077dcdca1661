"""Exploration by acting at random now and then, less and less often."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl import abstractions, foundations
from yieldrl.abstractions import Logs
from yieldrl.foundations import UnitInterval
from yieldrl.functional import linear


@dataclass(frozen=True, kw_only=True)
class EpsilonConfig(foundations.Config):
    """How probable a random action is, over training."""

    epsilon_start: UnitInterval = 1.0
    """Probability of a random action at the start."""

    epsilon_end: UnitInterval = 0.05
    """Probability of a random action once exploration has settled. Higher explores for
    ever at the cost of the return while training; evaluations never explore."""

    exploration_fraction: UnitInterval = 0.2
    """Share of `total_steps` over which epsilon falls linearly from `epsilon_start` to
    `epsilon_end`. Higher explores for longer."""


class EpsilonGreedy(abstractions.Agent):
    """Random with probability epsilon, greedy otherwise."""

    def epsilon(self) -> float:
        """Probability of a random action at this step."""
        config: EpsilonConfig = self.algorithm.config
        steps = config.exploration_fraction * config.total_steps
        ends = config.epsilon_start, config.epsilon_end
        return linear(*ends, self.sample_step, steps)

    def exploration(self) -> Logs:
        return {"epsilon": self.epsilon()}
