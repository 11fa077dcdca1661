"""Requests to workers for segments, and segments that wait to be handed over."""

from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from yieldrl.collectors.policy_lag import PolicyLag
from yieldrl.distributed.answers import DeadWorkerError, WorkerError
from yieldrl.distributed.joining import Joining
from yieldrl.distributed.newest_weights import NewestWeights
from yieldrl.distributed.parts import Request, joined, part_of, there
from yieldrl.distributed.pool import WorkerPool
from yieldrl.distributed.recipes import AgentRecipe
from yieldrl.distributed.slow_workers import SlowWorkers
from yieldrl.distributed.worker import Segment
from yieldrl.envs.arrays import as_tensors
from yieldrl.foundations import defer_keyboard_interrupt


class Segments:
    """Asks workers for segments, each by the newest policy, and joins them.

    Args:
        pool: The workers.
        agent: The agent that learns.
        in_actor: Whether a replay actor joins the workers' segments.

    Attributes:
        started: Whether workers have the agent.
        lag: Counts the policies that were handed over.
        lost: Number of segments lost with a dead worker and collected again.
        dropped: Number of environment steps that were too old to be learned from.
    """

    def __init__(self, pool: WorkerPool, agent: Any, *, in_actor: bool) -> None:
        self.pool, self.agent = pool, agent
        self.joining = Joining(pool) if in_actor else None
        self.started, self.lost, self.dropped = False, 0, 0
        self._broken = False  # a worker restarted since the last segment
        self._newest = NewestWeights(pool, agent.model)
        self._slow = SlowWorkers(pool.count)
        self.lag = PolicyLag(agent.policy_version)
        self._requests: deque[Request] = deque()
        self._told: list[dict[str, float]] = []  # logs since the last report

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def num_rows(self) -> int:
        """Rows of all segments that were asked for."""
        return sum(request.num_rows for request in self._requests)

    def start(self, seed: int, states: Any = None, acting: Any = None) -> None:
        """Give workers the current agent; begin episodes, or go on from states.

        The states of inference actors are `acting`.
        """
        model = deepcopy(self.agent.model).to("cpu")
        made_of = AgentRecipe(type(self.agent), type(self.agent.algorithm), model)
        self.pool.begin(made_of, seed, states, acting)
        self._newest = NewestWeights(self.pool, self.agent.model)
        self.started = True

    @property
    def ready(self) -> int:
        """The number of requested segments that have arrived."""
        return sum(there(self.pool.cluster.ray, self._requests))

    def ask(self, num_rows: int, sample_step: int, *, older: bool = False) -> None:
        """Ask all workers for the next segment; by an `older` policy, see `Request`."""
        answers = [None] * self.pool.count
        request = Request(num_rows, sample_step, answers, older=older)
        if self._broken:
            request.breaks.add(0)
            self._broken = False
        with defer_keyboard_interrupt():  # requests must be completed
            for index in range(self.pool.count):
                request.answers[index] = self._asked(index, request)
            if self.joining is not None:
                request.whole = self.joining.ask(request.answers)
            self._requests.append(request)

    def next(self) -> Segment:
        """Wait for the next segment, and take it out."""
        part = self._answered(self._requests[0])
        self._requests.popleft()
        self._told.append(part.inference)
        return part

    def ask_all(self, method: str) -> list[Any]:
        """The answers of all workers to a call; dead ones are replaced first."""
        asked = [self.pool.call(index, method) for index in range(self.pool.count)]
        for index, answer in enumerate(asked):
            while True:
                try:
                    asked[index] = self.pool.get(index, answer)
                    break
                except DeadWorkerError:
                    self._revive(index)
                    answer = self.pool.call(index, method)
        return asked

    def report(self) -> dict[str, float]:
        """Metrics: the lag since the last report, workers, waiting, lost segments."""
        told, self._told = [each for each in self._told if each], []
        means = {k: sum(x[k] for x in told) / len(told) for k in (told or [{}])[0]}
        counts = {"workers": self.pool.count, "segments_waiting": len(self)}
        lost = {"lost_segments": self.lost, "dropped_steps": self.dropped}
        counts |= {name: count for name, count in lost.items() if count}
        megabytes = {"weights_mb": self._newest.megabytes}
        return {**self.lag.report(), **means, **counts, **megabytes}

    def give_up(self) -> None:
        self._requests.clear()

    def state_dict(self) -> dict[str, Any]:
        """Environments and agents of all workers, and the segments."""
        parts = [self._answered(request) for request in self._requests]
        return {
            "parts": [as_tensors(vars(part)) for part in parts],
            "workers": self.ask_all("state_dict") if self.started else None,
            "inference": self.pool.inference.state_dict() if self.started else None,
            "lag": self.lag.state_dict(),
            "lost": self.lost,
            "dropped": self.dropped,
        }

    def load_state_dict(self, state: Mapping[str, Any], seed: int) -> None:
        """Restore what `state_dict` returned."""
        self.lag.load_state_dict(state["lag"])
        self.lost, self.dropped = state["lost"], state.get("dropped", 0)
        if state["workers"] is not None:
            self.start(seed, state["workers"], state.get("inference"))
        parts = [part_of(saved) for saved in state["parts"]]
        self._requests = deque(Request(len(p.logs), 0, [], part=p) for p in parts)

    def _asked(self, index: int, request: Request) -> Any:
        """Ask one worker, with new weights if it or its actor has older ones."""
        now = self.agent.policy_version
        version = self._newest.version_or(now) if request.older else now
        weights = self._newest.told(index, version)
        if version != self.lag.newest:
            self.lag.publish(version)
        rows = request.num_rows, request.sample_step
        return self.pool.call(index, "collect", *rows, *weights)

    def _answered(self, request: Request) -> Segment:
        """The answers of all workers, as one segment `[T, N]`."""
        if request.part is None:
            found = self.joining and self.joining.get(request.whole)
            if not found:
                parts = [self._answer(i, request) for i in range(self.pool.count)]
                found = joined(parts), [part.seconds for part in parts]
            request.part, seconds = found
            self._slow.look(seconds)
            request.part.breaks = sorted(request.breaks.union(request.part.breaks))
        return request.part

    def _answer(self, index: int, request: Request) -> Segment:
        """The answer of one worker, or of its replacement if it has died."""
        while True:
            if request.answers[index] is None:
                self._ask_again(index)
            try:
                return self.pool.get(index, request.answers[index])
            except DeadWorkerError:
                self._revive(index)
            except WorkerError as error:  # the next call begins new episodes
                with defer_keyboard_interrupt():
                    given_up = self._forget(index)
                    if not self.pool.inference.restarted(index, error):
                        raise
                    self.lost += given_up

    def _revive(self, index: int) -> None:
        """Start a worker again; its unfinished segments are discarded."""
        with defer_keyboard_interrupt():
            lost = self._forget(index)
            self.lost += lost
            self._broken |= not lost
            self.pool.restart(index)
            self._newest.forget(index)

    def _forget(self, index: int) -> int:
        """Discard a worker's unfinished segments; their number."""
        unanswered = [request for request in self._requests if request.part is None]
        for request in unanswered:
            request.answers[index] = request.whole = None
        return len(unanswered)

    def _ask_again(self, index: int) -> None:
        """Ask again for discarded segments, in order; they begin new episodes."""
        unanswered = [request for request in self._requests if request.part is None]
        with defer_keyboard_interrupt():
            unanswered[0].breaks.add(0)
            self.pool.call(index, "reset")
            for request in unanswered:
                request.answers[index] = self._asked(index, request)
