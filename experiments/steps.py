"""Single steps of a training: collecting, evaluating, and what is logged of each."""

from __future__ import annotations

from typing import Any

from yieldrl.collectors import AsyncCollector, Collector, SyncCollector, mean_episode
from yieldrl.foundations import ranks
from yieldrl.foundations.foreign_names import arguments_here
from yieldrl.foundations.logs import LogData, Logs, LogType


class Steps:
    """Steps of a trainer that every algorithm takes alike."""

    agent: Any
    buffer: Any
    collector: Any
    config: Any
    envs: Any
    evaluator: Any
    learning_due: Any
    training_done: Any

    def make_collector(self) -> Collector:
        """The collector, which steps environments with the agent into the buffer."""
        config, parts = self.config, (self.envs, self.agent, self.buffer)
        seed = ranks().derive_seed(config.seed, "envs")
        if config.collection == "sync":
            return SyncCollector(*parts, seed=seed)
        lag = config.max_policy_lag
        if config.collection == "ray":
            from yieldrl.distributed import RayCollector

            ahead = self.rows_ahead
            return RayCollector(*parts, seed=seed, max_policy_lag=lag, rows_ahead=ahead)
        when_stale = config.when_stale
        return AsyncCollector(
            *parts, seed=seed, max_policy_lag=lag, when_stale=when_stale
        )

    def rows_ahead(self, rows: int) -> int:
        """How many rows a worker may collect by one policy, after so many that wait.

        As many as are taken before the next gradient step; 1 where that is unknown.
        """
        return 1

    @arguments_here(
        "trainer.evaluate(episodes=10)",
        n_episodes="they are episodes here",
        deterministic="actions always are; agent.sample explores",
    )
    def evaluate(self, episodes: int = 10, seed: int | None = None) -> LogData:
        """Play whole episodes with deterministic actions in environments apart.

        The logs are `episode_return` (mean), its `_std`, `_min`, `_max`,
        `episode_length` and `episodes`; the seed is `evaluator.seed` by default.
        """
        return self._log("evaluate", self.evaluator(self.agent, episodes, seed))

    @property
    def evaluation_due(self) -> bool:
        """Whether `eval_every` was crossed, or the end reached, since the last one."""
        now = self.agent.counters
        return self.evaluator.due(now.sample_step, lambda: self.training_done)

    def _run_collect(self) -> LogData:
        """Step all environments once, or as often as `log_every` says."""
        logs = self._collect()
        return self._log("collect", logs | self.agent.exploration() if logs else logs)

    def _run_evaluate(self) -> LogData:
        """Evaluate as the config says; of several processes the first one does."""
        first, nothing = ranks().first, self._log("evaluate", {})
        own = self.evaluate(self.config.eval_episodes) if first else nothing
        log = ranks().broadcast_object(own)
        self.evaluator.evaluated_at = self.agent.sample_step
        return log

    def _collect(self) -> dict[str, Any]:
        """Up to `log_every` steps, as long as nothing else is due; logs of episodes."""
        logs = [self.collector.step()]
        while len(logs) < self.config.log_every:
            if self.learning_due or self.evaluation_due or self.training_done:
                break
            self.collector.check()
            logs.append(self.collector.step())
        return logs[0] if len(logs) == 1 else mean_episode(logs)

    def _log(self, kind: LogType, logs: Logs) -> LogData:
        now = self.agent.counters
        return {
            "log_type": kind,
            "sample_step": now.sample_step,
            "learn_step": now.learn_step,
            "logs": logs,
        }
