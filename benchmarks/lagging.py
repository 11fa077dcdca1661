"""A collector whose policy is some updates old, and trainers with a correction."""

import copy
import dataclasses
from collections import deque
from typing import Any

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import appo, gipo, ppo
from yieldrl.collectors import SyncCollector

from .tasks import TASKS, trainer_class_of


class Lagged(SyncCollector):
    """Acts with the weights of `lag` updates ago; before so many, with the first
    ones."""

    def __init__(
        self, envs: Any, agent: Any, buffer: Any, *, seed: int, lag: int
    ) -> None:
        super().__init__(envs, agent.actor(), buffer, seed=seed)
        self.learner = agent
        self.mailbox: deque[tuple[int, Any]] = deque(maxlen=lag + 1)

    def step(self) -> dict[str, Any]:
        now = self.learner.policy_version
        if not self.mailbox or self.mailbox[-1][0] != now:
            self.mailbox.append((now, copy.deepcopy(self.learner.model.state_dict())))
            version, weights = self.mailbox[0]
            self.agent.model.load_state_dict(weights)
            self.agent.counters.policy_version = version
        logs = super().step()
        self.learner.count_steps(self.envs.num_envs)
        return {**logs, "policy_lag": len(self.mailbox) - 1}


class Uncorrected(appo.Algorithm):
    """Takes the actions of an older policy for those of the policy of now."""

    advantage = ppo.Algorithm.advantage


# correction -> whose loss it is; PPO's own clips the ratio
CORRECTIONS: dict[str, type[ppo.Algorithm]] = {
    "none": Uncorrected,
    "clip": ppo.Algorithm,
    "gipo": gipo.Algorithm,
    "vtrace": appo.Algorithm,
}


def trainer_of(task: str, correction: str, seed: int, steps: int, **fields: Any) -> Any:
    """A task's trainer, with the algorithm of a correction."""
    trainer_class = trainer_class_of(TASKS[task].algorithm)
    fields |= {"total_steps": steps, "eval_every": steps // 10, "device": "cpu"}
    config = dataclasses.replace(TASKS[task].make_config(seed), **fields)
    if correction == "clip":
        return trainer_class(config)
    mixed: Any = type("Config", (gipo.Config, type(config)), {})
    mixed = dataclass(mixed, frozen=True, kw_only=True)
    bases = CORRECTIONS[correction], trainer_class.algorithm_class
    parts = {"algorithm_class": type("Algorithm", bases, {}), "config_class": mixed}
    mixed_class = type("Trainer", (trainer_class,), parts)
    return mixed_class(mixed.from_dict(config.to_dict()))
