"""Agents and trainers of training in phases."""

from collections.abc import Mapping
from typing import Any

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs, LogType
from yieldrl.on_policy.phases import PhasedAlgorithm
from yieldrl.on_policy.trainer import OnPolicyTrainer


class PhasedAgent(abstractions.Agent):
    """An agent that saves when phase and rollout began."""

    algorithm: PhasedAlgorithm

    @property
    def learns_since(self) -> int:
        """The `policy_version` with which the phase began: of older ones nothing."""
        return self.algorithm.phase_since

    def state_dict(self) -> dict[str, Any]:
        since = self.algorithm.phase_since, self.algorithm.rollout_since
        return {**super().state_dict(), "since": since}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.algorithm.phase_since, self.algorithm.rollout_since = state["since"]


class PhasedTrainer(OnPolicyTrainer):
    """A phase begins with the first rollout after the last step of the one before.

    Logs say the number of the `phase`, from 0. A rollout that was begun in another
    phase is dropped.
    """

    agent: PhasedAgent

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
