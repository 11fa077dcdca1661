"""Segments of those workers on Ray that are first: nobody waits for a slow one."""

import logging
from typing import Any

from yieldrl.collectors.segments import Segment
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.distributed.actors import WAIT_SECONDS, Call
from yieldrl.distributed.worker_segments import Request, WorkerSegments, join_segments

log = logging.getLogger("yieldrl.distributed")


class FirstSegments(WorkerSegments):
    """Segments of the parts that arrive first, of whichever workers.

    Each worker collects all the time, by the policy that was the newest when it began.
    A segment has as many parts as there are workers: two of a fast one, and none of a
    slow or a dead one, unless its part would be too old for the next segment. A part
    lies where the environments of its worker do, or in place of a missing one; if not
    each worker gave one, and in the segment before too, episodes count as cut.

    Espeholt et al. 2018, "IMPALA", arXiv:1802.01561. Differs from the paper: a part
    that would become too old is waited for.

    Args:
        parts: Workers, agent and tickets, as of `WorkerSegments`.
        max_policy_lag: The largest lag of a part, at least 1.
    """

    def __init__(self, *parts: Any, max_policy_lag: int) -> None:
        super().__init__(*parts)
        self.max_policy_lag = max_policy_lag
        self._calls: dict[int, Call] = {}  # by worker, of the part that it collects
        self._taken: list[tuple[Call, Segment]] = []  # workers' calls, and their parts
        self._complete = False  # whether the segment before had a part of each worker

    def ask(self, num_rows: int, sample_step: int, *, older: bool = False) -> None:
        self.requests.append(Request(num_rows, sample_step, older=older))
        self._ask_idle()

    def give_up(self) -> None:
        super().give_up()
        self._calls, self._taken, self._complete = {}, [], False

    def _finish(self) -> None:
        """Wait for one part of each worker, and let them rest."""
        while self.requests and self.requests[0].segment is None:
            self._join_first(self.requests[0], whole=True, rest=True)

    def _answered(self, request: Request) -> Segment:
        while request.segment is None:
            self._join_first(request, whole=self.whole)
        return request.segment

    def _join_first(self, request: Request, *, whole: bool, rest: bool = False) -> None:
        """Make the next segment, unless a part is lost; its workers collect the one
        after it, or rest."""
        count, rows = self.pool.count, request.num_rows
        while len(self._taken) < count:
            if not rest or not self._calls:
                self._ask_idle()
            for index in self._arrived(count - len(self._taken)):
                part = self._answer(call := self._calls[index])
                with defer_keyboard_interrupt():
                    if part is None:  # it is asked again
                        continue
                    del self._calls[index]
                    if len(part.logs) == rows:
                        self._taken.append((call, part))
                    else:  # asked for when segments had another length
                        self.dropped += len(part.logs) * self.pool.config.num_envs
                        self._complete = False
        firsts = {each[0].index: each for each in reversed(self._taken)}
        more = [each for each in self._taken if each is not firsts[each[0].index]]
        complete = not more
        taken = [firsts[i] if i in firsts else more.pop(0) for i in range(count)]
        segment = join_segments(*(part for _, part in taken))
        if segment.aside and (lost := self._take_aside(segment, whole)):
            self._taken = [x for place, x in enumerate(taken) if place not in lost]
            for place in lost:
                self._replace(taken[place][0])
            return
        if not (complete and self._complete):
            segment.breaks = sorted({0, *segment.breaks})
        with defer_keyboard_interrupt():
            request.segment, self._complete, self._taken = segment, complete, []
            if not rest:
                self._ask_idle()

    def _arrived(self, most: int) -> list[int]:
        """Workers whose parts are there and may be taken; waits for one, for a while.

        Args:
            most: Number of parts that the segment lacks.
        """
        old = {i for i, call in self._calls.items() if self._would_be_too_old(call)}
        rest = most - len(old)  # parts of workers that may as well come later
        calls = {x.answer: i for i, x in self._calls.items() if rest > 0 or i in old}
        ready, _ = self.ray.wait([*calls], num_returns=len(calls), timeout=0)
        if not ready:
            ready, _ = self.ray.wait([*calls], num_returns=1, timeout=WAIT_SECONDS)
        if not ready:
            names = ", ".join(str(index) for index in sorted(calls.values())[:10])
            said = "no answer for %g s of %d rollout workers: %s ..."
            log.warning(said, WAIT_SECONDS, len(calls), names)
        there = [calls[answer] for answer in ready]
        others = [index for index in there if index not in old]
        return [index for index in there if index in old] + others[:rest]

    def _would_be_too_old(self, call: Call) -> bool:
        """Whether a worker's part could not be in the segment after this one."""
        newer = self.lag.of(call.args[2].version)
        newer += self.agent.policy_version != self.lag.newest
        return newer >= self.max_policy_lag

    def _ask_idle(self) -> None:
        """Ask all workers that collect nothing."""
        with defer_keyboard_interrupt():
            for index in range(self.pool.count):
                if index not in self._calls:
                    self._calls[index] = self._ask(index, self.requests[-1])

    def _ask_again(self, index: int, *, lost: bool) -> None:
        """Ask a worker for a part by new episodes; count one that was lost."""
        self.lost += lost
        self._calls[index] = self._ask(index, self.requests[-1], reset=True)
