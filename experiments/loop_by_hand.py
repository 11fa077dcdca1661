"""Training by a loop of one's own: collect a rollout, learn from it, evaluate."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

from tensordict import TensorDict

from yieldrl.foundations import means
from yieldrl.foundations.foreign_names import CalledHere, check_entries


class LoopByHand:
    """Methods of a trainer for a loop of your own, with hints for other names.

    The loop is `rollout = trainer.collector.collect(num_steps)`, then
    `trainer.update(rollout)`, and `trainer.evaluate()` now and then.
    """

    agent: Any
    buffer: Any
    envs: Any
    learning_due: Any
    _run_train: Any

    train = CalledHere(
        "the loop is yours, `for log in trainer(): ...`; how many steps it takes, the"
        " config says, Config(total_steps=...)"
    )
    policy = CalledHere("the networks are trainer.model")
    env = CalledHere("the environments are trainer.envs")

    def update(self, rollout: TensorDict) -> dict[str, Any]:
        """Learn from a rollout `[T, N]` of `collector.collect` what the loop would.

        Of algorithms of rollouts that is `algorithm.update`. Others learn row by row,
        as if each had just been collected: it goes into the buffer, and the gradient
        steps follow that the config calls for by then. All its actions are those of the
        policy from before; a rollout of one step is the loop's own.

        Returns:
            Metrics, the means over the gradient steps.

        Raises:
            RuntimeError: If the learning rate has been annealed to zero.
        """
        return self.agent.algorithm.update(rollout)

    def _rows(self, rollout: TensorDict) -> Generator[TensorDict]:
        """The rows `[N]` of a rollout, as of the time when each was collected."""
        check_entries(set(rollout.keys()))
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
        """Put a rollout into the replay buffer and learn from that; once at least."""
        logs: list[dict[str, Any]] = []
        with closing(self._rows(rollout)) as rows:
            for row in rows:
                self.buffer.add(row.to_dict())
                while self.learning_due:
                    logs.append(self._run_train()["logs"])
        return means(logs or [self._run_train()["logs"]])
