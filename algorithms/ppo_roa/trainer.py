"""The schedule of PPO-ROA is that of PPO; rollouts move from phase to phase."""

from yieldrl.abstractions import LogData, Logs, LogType
from yieldrl.algorithms import ppo

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(ppo.Trainer):
    """PPO's, and after it, on each rollout, adaptation.

    The `phase` in the logs is 0 for train, 1 for adapt, 2 for finetune. It begins with
    the first rollout after the last step of the one before; a rollout that was begun in
    another phase is dropped.
    """

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    def _run_collect(self) -> LogData:
        algorithm = self.agent.algorithm
        if len(self.buffer) > 0 and algorithm.outdated:  # discard the rollout
            self.buffer.clear()
            if self.config.collection == "sync":
                self.buffer.end_episodes()  # the next rollout continues none
        if len(self.buffer) == 0 or self.buffer.exhausted:
            algorithm.advance()  # it may be loaded with other phases
            algorithm.rollout_since = algorithm.counters.policy_version
        return super()._run_collect()

    def _run_train(self) -> LogData:
        if self.agent.algorithm.outdated:
            return self._run_collect()
        phase = self._phase  # the last step may begin another phase
        log = super()._run_train()
        log["logs"]["phase"] = phase
        return log

    def _log(self, kind: LogType, logs: Logs) -> LogData:
        return super()._log(kind, {**logs, "phase": self._phase})

    @property
    def _phase(self) -> float:
        return float(self.agent.algorithm.model.phase_number)
