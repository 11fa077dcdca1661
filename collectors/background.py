"""The asynchronous collector: a thread steps environments while the learner learns."""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

import torch
from gymnasium.vector import VectorEnv
from torch import Tensor, nn

from yieldrl.collectors import segments
from yieldrl.collectors.segments import (
    Segment,
    SegmentCollector,
    Segments,
    SegmentWriter,
    tensors_of,
)
from yieldrl.collectors.sync import SyncCollector
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.envs.arrays import as_tensors, copied, tree_map

PATIENCE = 5.0  # seconds to wait for the end of a step when stopping
NAME = "yieldrl collector"
_UNDER_WAY = "a step of the environments (or of the policy) in the background"


@dataclass
class Request(segments.Request):
    """A segment that was asked for."""

    version: int | None = None  # of the policy that acts, once it has begun


class _Thread(threading.Thread):
    """A thread, and how far it is."""

    ending = False  # whether it was asked to end
    ended = False
    left_behind = False  # whether it did not end in time


class Weights:
    """Copies of the learner's newest weights, for the model that acts.

    A copy is never written again, so that two threads need no lock. Parameters that
    both models share are skipped.
    """

    def __init__(self, learner: nn.Module, actor: nn.Module) -> None:
        self._learner, self._acting = learner, tensors_of(actor)
        self.newest: int | None = None  # the latest version that was put
        self._copies()  # raise early if it cannot be put
        self._put: tuple[int, int, dict[str, Tensor]] = 0, 0, {}
        self._taken = 0  # number of what was taken last

    def put(self, version: int) -> None:
        """Copy the learner's weights, between two gradient steps; or RuntimeError."""
        self._put = self._put[0] + 1, version, self._copies()
        self.newest = version

    @torch.no_grad()
    def take(self) -> int | None:
        """Load newer weights into the actor, from its thread; their version, if any."""
        number, version, copies = self._put
        if number == self._taken:
            return None
        for name, copy in copies.items():
            self._acting[name].copy_(copy)
        self._taken = number
        return version

    @torch.no_grad()
    def _copies(self) -> dict[str, Tensor]:
        """Copies of the learner's tensors, without those that the actor shares."""
        learned, acting = tensors_of(self._learner), self._acting
        shapes = [{k: x.shape for k, x in each.items()} for each in (learned, acting)]
        if shapes[0] != shapes[1]:
            raise RuntimeError(
                "the model was given other parts since the collector was made, and the"
                " copy that acts lacks them: make the trainer with the changed model"
            )
        own = {name: x for name, x in learned.items() if x is not acting[name]}
        if any(x.requires_grad for name, x in learned.items() if name not in own):
            raise RuntimeError(
                "the agent that acts shares parameters that learn: let its `actor` have"
                " a copy of the model; or, if they were frozen when the collector was"
                " made, make the trainer with the changed model"
            )
        copies = {name: x.clone() for name, x in own.items()}
        for device in {x.device for x in copies.values() if x.is_cuda}:
            torch.cuda.current_stream(device).synchronize()  # the thread has another
        return copies


class Background(Segments):
    """Collects segments in a thread, each with the newest weights when it begins.

    An exception in the thread ends it; `check` and `first` raise it, and the next
    segment goes on with another thread. The queues are of C code that holds no lock,
    so that Ctrl-C between any two instructions of the caller leaves none held.

    Args:
        envs: The environments.
        agent: The agent that learns; the thread acts with its `actor()`.
        report_every: As of a `SyncCollector`.

    Attributes:
        actor: The agent that acts.
    """

    def __init__(self, envs: Any, agent: Any, *, report_every: int) -> None:
        super().__init__(agent)
        self.actor = agent.actor()
        self._weights = Weights(agent.model, self.actor.model)
        self._begun = False  # whether the actor has the learner's weights
        self._writer = SegmentWriter(copied, self.unread)
        parts = envs, self.actor, self._writer
        self.collector = SyncCollector(*parts, seed=0, report_every=report_every)
        cuda = agent.device.type == "cuda"
        self._stream = torch.cuda.Stream(agent.device) if cuda else None
        self._asked: SimpleQueue[None] = SimpleQueue()  # wakes the thread
        self._done: SimpleQueue[None] = SimpleQueue()  # wakes who waits for the thread
        self._error: BaseException | None = None
        self._thread: _Thread | None = None

    @property
    def all_arrived(self) -> bool:
        return not self._unfinished()

    def start(self, seed: int) -> None:
        self.collector.seed = seed
        self.collector.obs = self.collector.statistics = None
        self.started = True

    def go_on(self) -> None:
        version = self.agent.policy_version
        if version != self._weights.newest:
            if version != self.lag.newest:
                self.lag.publish(version)
            self._weights.put(version)
        thread = self._thread
        running = thread is not None and not (thread.ending or thread.ended)
        if running or self.all_arrived:
            return
        self._end()  # a stop that Ctrl-C cut short
        with defer_keyboard_interrupt():
            self._thread = _Thread(target=self._run, daemon=True, name=NAME)
            self._thread.start()

    def ask(self, num_rows: int, sample_step: int, *, older: bool = False) -> None:
        with defer_keyboard_interrupt():
            self.requests.append(Request(num_rows, sample_step))
            self._asked.put(None)
        if not older:
            self.go_on()

    def first(self, *, light: bool = False) -> Segment:
        request = self.requests[0]
        while request.segment is None:
            if self._error is not None:
                self.check()  # raises it
            self._done.get()
        return request.segment

    def give_up(self) -> None:
        self._end()
        super().give_up()
        self._writer.clear()

    def reset(self) -> None:
        if self.collector.obs is not None:
            self.collector.reset(None)

    def check(self) -> None:
        """Raise the exception with which the thread ended, once."""
        if self._error is None:
            return
        self.stop()
        error, self._error = self._error, None
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def stop(self) -> None:
        """Stop the thread after its current step; warn if that takes too long."""
        thread = self._thread
        told = thread is None or thread.left_behind
        if not self._join() and not told:
            warnings.warn(
                f"{_UNDER_WAY} has not returned for {PATIENCE:g} s: its thread is left"
                " behind, and ends with the program or when the step returns. Look"
                " for what the step waits for, and give it a time limit",
                RuntimeWarning,
                stacklevel=2,
            )

    def state_dict(self) -> dict[str, Any]:
        """Environments, the agent that acts, and the segments, also one under way."""
        self._end()
        actor = self.actor.state_dict()
        del actor["algorithm"]  # it will act with the learner's weights
        writer = self._writer
        under_way = as_tensors(vars(writer.segment(0))) if writer.rows else None
        return {
            **super().state_dict(),
            "asked": [
                [r.num_rows, r.sample_step, r.version] for r in self._unfinished()
            ],
            "under_way": under_way,
            "breaks": writer.breaks,
            "actor": actor,
            "collector": self.collector.state_dict() if self.started else None,
        }

    def load_state_dict(self, state: Mapping[str, Any], seed: int) -> None:
        """Restore what `state_dict` returned, with the learner's weights."""
        super().load_state_dict(state, seed)
        self._weights.newest, self._begun = None, False
        self.actor.load_state_dict(state["actor"])
        for num_rows, sample_step, version in state["asked"]:
            self.requests.append(Request(num_rows, sample_step, version=version))
        if state["under_way"] is not None:
            part = Segment.saved(state["under_way"])
            self._writer.logs = part.logs
            self._writer.rows = [
                tree_map(lambda x, t=t: x[t], part.rows) for t in range(len(part.logs))
            ]
        self._writer.breaks = list(state["breaks"])
        self.started = state["collector"] is not None
        self.collector.seed = seed
        if self.started:
            self.collector.load_state_dict(state["collector"])

    def _end(self) -> None:
        """Stop as `stop` does, but raise RuntimeError if the thread still runs."""
        if not self._join():
            raise RuntimeError(
                f"{_UNDER_WAY} has not returned, so the state of the environments is"
                " unknown: try again when it has, or make a new trainer, with"
                " environments of its own"
            )

    def _join(self) -> bool:
        """Tell the thread to end; whether it did so in time."""
        thread = self._thread
        if thread is None:
            return True
        thread.ending = True
        self._asked.put(None)  # wakes it
        if thread is threading.current_thread():
            return True
        until = time.monotonic() + (0.0 if thread.left_behind else PATIENCE)
        while not thread.ended:
            left = until - time.monotonic()
            if left <= 0:
                thread.left_behind = True
                return False
            with suppress(Empty):
                self._done.get(timeout=min(left, 0.1))
        with defer_keyboard_interrupt():
            thread.join()
            self._thread = None
        return True

    def _run(self) -> None:
        """Collect, in the thread, until it is told to end."""
        thread: Any = threading.current_thread()
        try:
            with self._in_stream():
                while not thread.ending:
                    waiting = self._unfinished()
                    if not waiting:
                        self._asked.get()
                    elif len(self._writer.rows) < waiting[0].num_rows:
                        self._step(waiting[0])
                    else:
                        self._finish(waiting[0])
        except BaseException as error:  # Ctrl-C too: the loop must raise it
            self._error = error
        finally:
            thread.ended = True
            self._done.put(None)

    def _step(self, request: Request) -> None:
        """Take a step for a segment, which begins with the newest weights."""
        if request.version is None or not self._begun:
            if (version := self._weights.take()) is not None:
                self.actor.counters.policy_version = version
            self._begun = True
        if request.version is None:
            request.version = self.actor.policy_version
            self.actor.counters.sample_step = request.sample_step
        self._writer.logs[-1] = self.collector.step()

    def _finish(self, request: Request) -> None:
        """Hand over a whole segment."""
        assert request.version is not None
        segment = self._writer.segment(request.version)
        if self._stream is not None:  # the learner has another one
            self._stream.synchronize()
        self._writer.clear()
        request.segment = segment
        self._done.put(None)

    def _unfinished(self) -> list[Request]:
        # Copied first: the other thread may remove what is finished.
        return [request for request in [*self.requests] if request.segment is None]

    @contextmanager
    def _in_stream(self) -> Iterator[None]:
        """Context for acting: on a GPU a stream of its own."""
        if self._stream is None:
            yield
            return
        self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with torch.cuda.stream(self._stream):
            try:
                yield
            finally:
                self._stream.synchronize()


class AsyncCollector(SegmentCollector):
    """Steps environments in a thread, with a copy of the policy.

    Every transition has the `policy_version` that acted, and the `log_prob` of policies
    that have one. The thread starts with the first `step`, and ends with `stop`, with
    the loop that used it, with the collector and with the program.

    Args:
        envs: A vector environment in any autoreset mode, which nothing else may step.
        agent: The agent that learns; the thread acts with its `actor()`.
        buffer: To which `step` adds each step.
        report_every: Steps between reports of episodes, for tensor environments.
        options: The others of a `SegmentCollector`.
    """

    in_background = True  # in a thread of its own

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        agent: Any,
        buffer: Any,
        *,
        report_every: int = 128,
        **options: Any,
    ) -> None:
        background = Background(envs, agent, report_every=report_every)
        super().__init__(envs, agent, buffer, background, **options)
        weakref.finalize(self, background.stop)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "an AsyncCollector has a thread of its own, and cannot be copied or"
            " pickled. Save the trainer and load it instead:"
            " trainer.save('copy.pt'), then type(trainer).load('copy.pt')"
        )
