"""Single steps of training, for the trainer's loop or one of your own."""

from collections.abc import Generator
from contextlib import closing
from typing import Any

from tensordict import TensorDict

from yieldrl.collectors import mean_episode
from yieldrl.experiments.trainer_base import TrainingRun
from yieldrl.foundations import means, ranks
from yieldrl.foundations.conversion import check_shapes
from yieldrl.foundations.logs import LogData, Logs, LogType


class Steps(TrainingRun):
    """Steps of a trainer that are the same for every algorithm."""

    learning_due: Any
    training_done: Any

    def evaluate(self, episodes: int = 10, seed: int | None = None) -> LogData:
        """Play whole episodes with deterministic actions in separate environments.

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
        """Step all environments once, or `log_every` times."""
        logs = self._collect()
        return self._log("collect", logs | self.agent.exploration() if logs else logs)

    def _run_evaluate(self) -> LogData:
        """Evaluate as the config says; of several processes only the first does."""
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


class LoopByHand(Steps):
    """Methods of a trainer for a loop of your own.

    The loop is `rollout = trainer.collector.collect(num_steps)`, then
    `trainer.update(rollout)`, and `trainer.evaluate()` now and then.
    """

    _run_train: Any

    def update(self, rollout: TensorDict) -> dict[str, Any]:
        """Learn from a rollout `[T, N]` of `collector.collect`, as the loop would.

        For algorithms that learn from rollouts this is `algorithm.update`. Others learn
        row by row, as if each had just been collected: it goes into the buffer, and the
        gradient steps due by the config follow. All actions are of the policy before
        the update; a rollout of one step does what the loop does.

        Returns:
            Metrics, the means over the gradient steps.

        Raises:
            RuntimeError: If the learning rate has been annealed to zero.
        """
        return self.agent.algorithm.update(rollout)

    def _rows(self, rollout: TensorDict) -> Generator[TensorDict]:
        """The rows `[N]` of a rollout, with `sample_step` as it was for each."""
        check_shapes(rollout)
        self.agent.algorithm.anneal_before(rollout)
        now = self.agent.counters
        end, steps = now.sample_step, self.envs.num_envs
        try:
            for t, row in enumerate(rollout.unbind(0), 1):
                now.sample_step = end - (len(rollout) - t) * steps
                yield row
        finally:
            now.sample_step = end

    def _replay_rows(self, rollout: TensorDict) -> dict[str, Any]:
        """Put a rollout into the replay buffer and learn from that, at least once."""
        logs: list[dict[str, Any]] = []
        self.buffer.end_episodes()  # this rollout may not continue them
        with closing(self._rows(rollout)) as rows:
            for row in rows:
                self.buffer.add(row.to_dict())
                while self.learning_due:
                    logs.append(self._run_train()["logs"])
        return means(logs or [self._run_train()["logs"]])
