"""The schedule of REINFORCE."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from yieldrl import abstractions
from yieldrl.abstractions import LogData
from yieldrl.buffers import EpisodeBuffer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(abstractions.Trainer):
    """Play whole episodes, take one gradient step, forget them, again.

    Training ends at `total_steps`; episodes that are not whole by then teach nothing.

    >>> trainer = Trainer(Config(total_steps=1000, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('collect', 1000, 5)
    """

    config: Config
    agent: Agent
    buffer: EpisodeBuffer

    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    def __init__(self, config: Config | None = None, **parts: Any) -> None:
        super().__init__(config, **parts)
        # A batch may begin with a reset, before which every episode must be reported.
        self.collector.report_every = 1

    def __call__(self) -> Generator[LogData, None, None]:
        # What comes next is read off the counters and the buffer, never off this
        # frame: break out of the loop anywhere, and a new loop goes on from there.
        while not self.training_done or self.evaluation_due:
            if self.buffer.full:
                yield self._run_train()
            elif self.evaluation_due:
                yield self._run_evaluate()
            else:
                yield self._run_collect()

    @property
    def training_done(self) -> bool:
        return self.collecting_done and not self.buffer.full

    def make_buffer(self) -> EpisodeBuffer:
        return EpisodeBuffer(
            self.config.num_episodes,
            self.envs.single_observation_space,
            self.envs.single_action_space,
            num_envs=self.envs.num_envs,
            device=self.agent.device,
        )

    def _run_collect(self) -> LogData:
        return self._log("collect", self.collector.step())

    def _run_train(self) -> LogData:
        logs = self.agent.learn(self.agent.prepare(self.buffer.episodes()))
        self.buffer.clear()
        if self.envs.num_envs > 1:  # the first to be done have begun another episode
            self.collector.reset(None)
        return self._log("train", logs)
