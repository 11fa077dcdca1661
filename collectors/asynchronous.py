"""The asynchronous collector: it steps environments while the learner learns."""

import weakref
from collections.abc import Mapping
from typing import Any, Literal, NoReturn

import torch
from gymnasium.vector import VectorEnv
from tensordict import TensorDict

from yieldrl.buffers import CircularBuffer
from yieldrl.collectors.acting import Acting, StepRecord
from yieldrl.collectors.background import Background
from yieldrl.collectors.policy_lag import LagLimit, PolicyLag
from yieldrl.collectors.protocols import Collector, check_parts
from yieldrl.collectors.sync import collect
from yieldrl.collectors.weight_transfer import Weights
from yieldrl.core import defer_keyboard_interrupt


class AsyncCollector(Collector):
    """Steps environments in a thread, with a copy of the policy, into a ring.

    `step` hands over the next step that the thread has finished, and newer weights to
    the thread. Every transition has the `policy_version` that acted, and the `log_prob`
    of policies that have one. The thread starts with the first `step`, and ends with
    `stop`, with the loop that used it, with the collector and with the program.

    Args:
        envs: A vector environment in any autoreset mode, which nothing else may step.
        agent: The agent that learns; the thread acts with its `actor()`.
        buffer: A `CircularBuffer`, or one to which `step` adds each step.
        seed: Seed of the environments' first reset.
        max_policy_lag: How many newer policies may be handed over before a transition.
        when_stale: What to do at that limit: `wait`, or `drop` the oldest.
        report_every: Steps between reports of episodes, for tensor environments.
    """

    in_background = True  # in a thread of its own

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        agent: Any,
        buffer: Any,
        *,
        seed: int,
        max_policy_lag: int = 1,
        when_stale: Literal["wait", "drop"] = "wait",
        report_every: int = 128,
    ) -> None:
        if max_policy_lag < 0:
            raise ValueError(f"max_policy_lag = {max_policy_lag}: choose at least 0")
        if when_stale not in ("wait", "drop"):
            raise ValueError(f"when_stale = {when_stale!r}: choose 'wait' or 'drop'")
        check_parts(envs, agent, buffer)
        self.envs, self.agent, self.buffer = envs, agent, buffer
        self.max_policy_lag, self.drops = max_policy_lag, when_stale == "drop"
        self.ring = buffer
        if not isinstance(buffer, CircularBuffer):  # it takes steps one by one
            both = envs.single_observation_space, envs.single_action_space
            size = {"num_envs": envs.num_envs, "num_segments": max_policy_lag + 2}
            self.ring = CircularBuffer(1, *both, device=agent.device, **size)
        actor = agent.actor()
        self._weights = Weights(agent.model, actor.model)
        options = {"drops": self.drops, "seed": seed, "report_every": report_every}
        self._acting = acting = Acting(envs, actor, self.ring, self._weights, **options)
        self._background = Background(acting.step, acting.ready, acting.stream)
        weakref.finalize(self, self._background.stop)
        self._lag = PolicyLag(agent.policy_version)
        self._limit = LagLimit(agent, acting, self._lag, max_policy_lag)
        self.logs: dict[str, Any] = {}

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "an AsyncCollector has a thread of its own, and cannot be copied or"
            " pickled. Save the trainer and load it instead:"
            " trainer.save('copy.pt'), then type(trainer).load('copy.pt')"
        )

    def step(self) -> dict[str, Any]:
        """Hand over one step of all environments; logs of the episodes that ended.

        These, and those of a segment's last step, have `policy_lag`, the mean since the
        last report, `policy_lag_max` and, once any were dropped, `dropped_steps`.
        """
        if self.buffer is self.ring and self.ring.taken > 0:
            self.ring.clear()  # drop the rest that `collect` left
        while True:
            self._hand_weights_over()
            self._background.start()
            self._background.wait(lambda: self._acting.finished > self.ring.next_row)
            number = self.ring.claim()  # protects it from being overwritten
            row = self._acting.rows[number]
            if not self._limit.stale(row):
                break
            self._limit.drop(number)
        # A step is handed over, added and counted, or not at all.
        with defer_keyboard_interrupt():
            self._hand_step_over(row)
        self._acting.rows.pop(number, None)
        return self._logs(row)

    def collect(self, num_steps: int, *, reset: bool = False) -> TensorDict:
        """Collect a rollout `[T, N]` for the caller instead of for the buffer.

        Meanwhile the thread runs ahead by `max_policy_lag` rollouts of this length (of
        the buffer's, if that is shorter), with which the next `collect` goes on; with
        `reset` they are dropped. RuntimeError if half a rollout of the buffer was
        handed over.
        """
        if self.buffer is not self.ring:
            self.buffer.end_episodes()
        elif len(self.ring) > 0:
            raise RuntimeError(
                f"{len(self.ring)} steps of a rollout were handed over step by step:"
                " loop on until it is learned from, or clear() the buffer"
            )
        if reset:
            self._background.end()  # not in the middle of a step
        if reset and self._acting.inner.obs is not None:
            self.reset(None)
            self._limit.drop_all()
        self._limit.begin(num_steps)
        try:
            return collect(self, num_steps, new_episodes=reset)
        finally:
            self._limit.end()
            if self.buffer is self.ring:
                self.ring.set_aside()

    def report(self) -> dict[str, Any]:
        return self._lag.report()

    def check(self) -> None:
        """Raise the exception that ended the thread; nothing collected is lost."""
        self._background.check()

    def stop(self) -> None:
        """Stop the thread between two steps, or leave it behind, with a warning."""
        self._background.stop()

    def reset(self, seed: int | None) -> None:
        self._background.end()
        self.ring.end_episodes()
        self._acting.inner.reset(seed)

    def state_dict(self) -> dict[str, Any]:
        """The environments, the acting agent, and the unread rows."""
        self._background.end()
        own = None if self.buffer is self.ring else self.ring.state_dict()
        return {"ring": own, "lag": self._lag.state_dict(), **self._acting.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, with the learner's weights."""
        self._background.end()
        if self.buffer is not self.ring:
            self.ring.load_state_dict(state["ring"])
        self._acting.load_state_dict(state)
        self._lag.load_state_dict(state["lag"])
        self._weights.newest = None

    def _hand_weights_over(self) -> None:
        """Publish new weights, and then allow the rows that they make possible."""
        version, ring, acting = self.agent.policy_version, self.ring, self._acting
        if version != self._lag.newest:
            self._lag.publish(version)
        if version != self._weights.newest:
            self._weights.put(version)
        limit = self._limit.max_rows
        if limit != acting.limit:
            if ring.device.type == "cuda":
                acting.released = torch.cuda.current_stream(ring.device).record_event()
            acting.limit = limit
            self._background.notify()

    def _hand_step_over(self, row: StepRecord) -> None:
        ring = self.ring
        if row.written is not None:
            torch.cuda.current_stream(ring.device).wait_event(row.written)
        if self.buffer is not ring:
            if ring.gap:
                self.buffer.end_episodes()
            self.buffer.add(ring.peek())  # if this fails, the row is kept
        ring.hand_over()
        if self.buffer is not ring and ring.used_up:
            ring.clear()
        self.agent.count_steps(self.envs.num_envs)

    def _logs(self, row: StepRecord) -> dict[str, Any]:
        self._lag.add(row.version)
        if not (row.logs or (self.buffer is self.ring and self.ring.full)):
            return row.logs
        logs = {**row.logs, **self._lag.report()}
        if self.ring.dropped > 0:
            logs["dropped_steps"] = self.ring.dropped * self.envs.num_envs
        return logs
