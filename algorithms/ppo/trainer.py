"""The schedule of PPO: where a rollout is stored, and when it begins and ends."""

from collections.abc import Mapping
from typing import Any

from tensordict import TensorDict

from yieldrl import abstractions, buffers
from yieldrl.abstractions import LogData, Logs
from yieldrl.algorithms.rollouts import judge_logs
from yieldrl.core import means
from yieldrl.core.conversion import check_shapes
from yieldrl.experiments import on_ray
from yieldrl.experiments.parts import transition_parts

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(abstractions.Trainer):
    """Collect a rollout, pass over it a few times in minibatches, forget it, again.

    Training ends with the first whole rollout at or after `total_steps`.

    >>> trainer = Trainer(Config(total_steps=1024, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 1024, 32)
    """

    config: Config
    buffer: buffers.RolloutBuffer
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    _learns_in_step = True

    @property
    def training_done(self) -> bool:
        steps = self.agent.counters.sample_step
        return steps >= self.config.total_steps and len(self.buffer) == 0

    @property
    def learning_due(self) -> bool:
        return self.buffer.full

    def make_buffer(self) -> buffers.RolloutBuffer:
        options = {"next_obs": self.algorithm.reads_next_obs, **transition_parts(self)}
        return buffers.RolloutBuffer(self.config.num_steps, **options)

    def _make_parts(self, buffer: Any, collector: Any) -> None:
        self._learners = on_ray.make_learners(self)  # they learn in its place
        super()._make_parts(buffer, collector)

    def _rows_ahead(self, rows: int) -> int:
        return self.config.num_steps

    def _run_collect(self) -> LogData:
        if len(self.buffer) == 0:  # the next action begins a rollout
            self.agent.counters.acted_version = self.agent.counters.policy_version
        return super()._run_collect()

    def _run_train(self) -> LogData:
        learners: Any = self._learners
        minibatches: Any = self.buffer.minibatches
        begins = minibatches is None if learners is None else learners.done
        rollout, logs = self._rollout_due() if begins else (None, {})
        if begins and rollout is None:
            self.buffer.clear()
        elif learners is not None:
            logs = learners.step(rollout, continues=self.buffer.continues)
            if learners.done:
                self._end_update()
        else:
            if rollout is not None:
                minibatches, logs = self._begin(rollout)
            if not minibatches.exhausted:  # if all steps only reset
                logs |= next(self.algorithm.update(minibatches))
            if minibatches.exhausted:
                self._end_update()
        return self._log("train", logs)

    def _begin(self, rollout: TensorDict) -> tuple[Any, Logs]:
        """The minibatches of a rollout, in the buffer too, which saves them."""
        if not self.buffer.continues:
            self.algorithm.forget_episodes()
        minibatches, logs = self.algorithm.begin(rollout)
        self.buffer.minibatches = minibatches
        return minibatches, {**logs, **judge_logs(rollout)}

    def _rollout_due(self) -> tuple[TensorDict | None, Logs]:
        """The rollout `[T, N]` to learn from now; or None, so that another one is
        collected by the same policy, and what to log of that."""
        return self.buffer.rollout(), {}

    def _end_update(self) -> None:
        """Clear the buffer after the last minibatch of a rollout."""
        self.buffer.clear()

    def update(self, rollout: TensorDict) -> Logs:
        """Learn all there is to learn from a rollout `[T, N]`; means of metrics."""
        check_shapes(rollout)
        if self._learners is not None:
            return self._learners.update(rollout)
        minibatches, logs = self.algorithm.begin(rollout.to(self.agent.device))
        return logs | means(list(self.algorithm.update(minibatches)))

    def state_dict(self) -> dict[str, Any]:
        if self._learners is None:
            return super().state_dict()
        self._learners.mirror()
        state = {**super().state_dict(), "learners": self._learners.state_dict()}
        buffer = state["buffer"]
        storage = on_ray.with_obs(self, buffer["storage"])
        return {**state, "buffer": {**buffer, "storage": storage}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        buffer = state["buffer"]
        storage = on_ray.with_tickets(self, buffer["storage"])
        super().load_state_dict({**state, "buffer": {**buffer, "storage": storage}})
        if self._learners is not None:
            self._learners.load_state_dict(state.get("learners", {"steps": []}))
