"""Estimates of the length of episodes, before they are played."""

import itertools
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from gymnasium.vector import VectorEnv

from yieldrl.collectors.stepping import Stepper
from yieldrl.envs.wrappers.chunks import longest_episode

STEPS = 3  # steps that are timed


class Pace(NamedTuple):
    """Seconds that things take, and how many steps an episode may have.

    Attributes:
        making: To make the environments, and to begin their first episode.
        beginning: To begin another one.
        deciding: To act once and to step, be it a chunk of actions.
        decisions: The most of an episode; None where it has no time limit.
    """

    making: float
    beginning: float
    deciding: float
    decisions: int | None

    @classmethod
    def of(
        cls, agent: Any, make: Callable[[], VectorEnv[Any, Any, Any]], seed: int
    ) -> Self:
        """Of an agent that acts a few times in environments, which it begins anew."""
        times = [time.monotonic()]
        envs = make()
        stepper = Stepper(envs)
        obs = stepper.reset(seed)
        times.append(time.monotonic())
        obs = stepper.reset(seed)
        if getattr(agent, "has_memory", False):
            agent.begin_episode()
        times.append(time.monotonic())
        for _ in range(STEPS):
            obs = stepper.step(agent.predict(obs)).obs
        times.append(time.monotonic())
        making, beginning, deciding = (
            later - sooner for sooner, later in itertools.pairwise(times)
        )
        return cls(making, beginning, deciding / STEPS, longest_episode(envs))

    @property
    def episode(self) -> float:
        """Seconds of the longest one; without a limit, of one of 1 000 decisions."""
        return self.beginning + self.deciding * (self.decisions or 1_000)
