"""The asynchronous collector: a thread steps environments while the learner learns."""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

import torch
from gymnasium.vector import VectorEnv
from torch import Tensor, nn

from yieldrl.collectors.segments import (
    PolicyLag,
    Segment,
    SegmentCollector,
    SegmentWriter,
    VersionedAgent,
)
from yieldrl.collectors.sync import SyncCollector
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.envs.arrays import as_tensors, copied, tree_map

PATIENCE = 5.0  # seconds to wait for the end of a step when stopping
NAME = "yieldrl collector"
_UNDER_WAY = "a step of the environments (or of the policy) in the background"


@dataclass
class Request:
    """A segment that was asked for, and how far it is."""

    num_rows: int
    sample_step: int  # environment steps before it
    version: int | None = None  # of the policy that acts, once it has begun
    logs: list[dict[str, Any]] = field(default_factory=list)  # of rows that are written
    part: Segment | None = None  # once it is whole


class _Thread(threading.Thread):
    """A thread, and how far it is."""

    ending = False  # whether it was asked to end
    ended = False
    left_behind = False  # whether it did not end in time


class Weights:
    """A mailbox: the learner puts its newest weights in, the actor takes them out.

    Both copy under one lock. Parameters that both models share are skipped.
    """

    def __init__(self, learner: nn.Module, actor: nn.Module) -> None:
        self.learner = learner
        self.newest: int | None = None  # the latest version that was put
        learned, self._copies = _tensors(learner), _tensors(actor)
        pairs = list(zip(learned, self._copies, strict=True))
        self._shared = [a if a is b else None for a, b in pairs]
        self._acting = [b for a, b in pairs if a is not b]
        self._mail = [tensor.clone() for tensor in self._acting]
        self._learned()  # raise early if it cannot be put
        self._lock = threading.Lock()
        self._version: int | None = None  # the version not taken yet

    @torch.no_grad()
    def put(self, version: int) -> None:
        """Put the learner's weights in, between two gradient steps; or RuntimeError."""
        learned = self._learned()
        with self._lock:
            self._version = None  # until the copy is complete
            self._copy(self._mail, learned)
            self._version = self.newest = version

    @torch.no_grad()
    def take(self) -> int | None:
        """Copy newer weights into the actor, from its thread; their version, if any."""
        with self._lock:  # newer weights may be copied now
            version, self._version = self._version, None
            if version is not None:
                self._copy(self._acting, self._mail)
        return version

    def _copy(self, to: list[Tensor], source: list[Tensor]) -> None:
        if to:
            torch._foreach_copy_(to, source)  # pyright: ignore[reportPrivateImportUsage]
            if to[0].is_cuda:  # each side has a stream of its own
                torch.cuda.current_stream(to[0].device).synchronize()

    def _learned(self) -> list[Tensor]:
        """The learner's tensors, without those that the actor shares."""
        learned = _tensors(self.learner)
        if [x.shape for x in learned] != [x.shape for x in self._copies]:
            raise RuntimeError(
                "the model was given other parts since the collector was made, and the"
                " copy that acts lacks them: make the trainer with the changed model"
            )
        pairs = list(zip(learned, self._shared, strict=True))
        if any(a is b and a.requires_grad for a, b in pairs):
            raise RuntimeError(
                "the agent that acts shares parameters that learn: let its `actor` have"
                " a copy of the model; or, if they were frozen when the collector was"
                " made, make the trainer with the changed model"
            )
        return [tensor for tensor, shared in pairs if shared is None]


class Background:
    """Collects segments in a thread, each with the newest weights when it begins.

    An exception in the thread ends it; `check` and `first` raise it, and the next
    segment goes on with another thread. The queues are of C code that holds no lock,
    so that Ctrl-C between any two instructions of the caller leaves none held.

    Args:
        envs: The environments.
        agent: The agent that learns; the thread acts with its `actor()`.
        report_every: As of a `SyncCollector`.

    Attributes:
        lag: Counts the policies that were handed over.
        dropped: Number of environment steps that were too old to be learned from.
        started: Whether episodes have begun.
    """

    def __init__(self, envs: Any, agent: Any, *, report_every: int) -> None:
        self.agent, actor = agent, agent.actor()
        self.lag, self.dropped, self.started = PolicyLag(agent.policy_version), 0, False
        self.actor = VersionedAgent(actor, envs.num_envs)
        self._weights = Weights(agent.model, actor.model)
        self._begun = False  # whether it has the learner's weights
        self._writer = SegmentWriter(copied)
        parts = envs, self.actor, self._writer
        self.collector = SyncCollector(*parts, seed=0, report_every=report_every)
        cuda = agent.device.type == "cuda"
        self._stream = torch.cuda.Stream(agent.device) if cuda else None
        self._requests: list[Request] = []  # the oldest first
        self._asked: SimpleQueue[None] = SimpleQueue()  # wakes the thread
        self._done: SimpleQueue[None] = SimpleQueue()  # wakes who waits for the thread
        self._error: BaseException | None = None
        self._thread: _Thread | None = None

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def num_rows(self) -> int:
        """Rows of all segments that were asked for."""
        return sum(request.num_rows for request in self._requests)

    @property
    def all_arrived(self) -> bool:
        """Whether the thread waits, because all that was asked for is collected."""
        return all(request.part is not None for request in self._requests)

    @property
    def running(self) -> bool:
        """Whether there is a thread that was not told to end."""
        thread = self._thread
        return thread is not None and not (thread.ending or thread.ended)

    def start(self, seed: int) -> None:
        """Begin the first episodes with the next segment."""
        self.collector.seed = seed
        self.collector.obs = self.collector.statistics = None
        self.started = True

    def run(self) -> None:
        """Hand over the weights, if they are newer, and let the thread go on."""
        version = self.agent.policy_version
        if version != self._weights.newest:
            if version != self.lag.newest:
                self.lag.publish(version)
            self._weights.put(version)
        if self.running or self.all_arrived:
            return
        self.end()  # a stop that Ctrl-C cut short
        with defer_keyboard_interrupt():
            self._thread = _Thread(target=self._run, daemon=True, name=NAME)
            self._thread.start()

    def ask(self, num_rows: int, sample_step: int, *, older: bool = False) -> None:
        """Ask for the next segment; of an `older` policy, newer weights wait."""
        with defer_keyboard_interrupt():
            self._requests.append(Request(num_rows, sample_step))
            self._asked.put(None)
        if not older:
            self.run()

    def first(self) -> Segment:
        """Wait for the oldest segment; raises as `check` does."""
        request = self._requests[0]
        while request.part is None and self._error is None:
            self._done.get()
        if request.part is None:
            self.check()
        assert request.part is not None
        return request.part

    def remove_first(self) -> None:
        """Forget the oldest segment, which was taken or dropped."""
        del self._requests[0]

    def give_up(self) -> None:
        """Forget all segments, also the one under way."""
        self.end()
        self._requests = []
        self._writer.clear()

    def reset(self) -> None:
        """Begin new episodes everywhere."""
        if self.collector.obs is not None:
            self.collector.reset(None)

    def report(self) -> dict[str, float]:
        """The lag since the last report, and how many steps were dropped."""
        dropped = {"dropped_steps": self.dropped} if self.dropped else {}
        return {**self.lag.report(), **dropped}

    def unreported(self) -> dict[str, float]:
        """Nothing: episodes are reported with the rows that end them."""
        return {}

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

    def end(self) -> None:
        """Stop as `stop` does, but raise RuntimeError if the thread still runs."""
        if not self._join():
            raise RuntimeError(
                f"{_UNDER_WAY} has not returned, so the state of the environments is"
                " unknown: try again when it has, or make a new trainer, with"
                " environments of its own"
            )

    def state_dict(self) -> dict[str, Any]:
        """Environments, the agent that acts, and the segments."""
        self.end()
        actor = self.actor.agent.state_dict()
        del actor["algorithm"]  # it will act with the learner's weights
        rows = as_tensors(self._writer.stacked()) if self._writer.rows else None
        return {
            "parts": [as_tensors(vars(r.part)) for r in self._requests if r.part],
            "asked": [
                [request.num_rows, request.sample_step, request.version, request.logs]
                for request in self._unfinished()
            ],
            "rows": rows,
            "breaks": self._writer.breaks,
            "actor": actor,
            "collector": self.collector.state_dict() if self.started else None,
            "lag": self.lag.state_dict(),
            "dropped": self.dropped,
        }

    def load_state_dict(self, state: Mapping[str, Any], seed: int) -> None:
        """Restore what `state_dict` returned, with the learner's weights."""
        self.lag.load_state_dict(state["lag"])
        self.dropped, self._weights.newest, self._begun = state["dropped"], None, False
        self.actor.agent.load_state_dict(state["actor"])
        parts = [Segment.saved(saved) for saved in state["parts"]]
        self._requests = [Request(len(p.logs), 0, part=p) for p in parts]
        asked = [
            Request(num_rows, step, version, [*logs])
            for num_rows, step, version, logs in state["asked"]
        ]
        self._requests += asked
        count = len(asked[0].logs) if asked else 0
        rows = [tree_map(lambda x, i=i: x[i], state["rows"]) for i in range(count)]
        self._writer.rows, self._writer.breaks = rows, list(state["breaks"])
        self.started = state["collector"] is not None
        self.collector.seed = seed
        if self.started:
            self.collector.load_state_dict(state["collector"])

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
                    request = next(iter(self._unfinished()), None)
                    if request is None:
                        self._asked.get()
                    elif len(request.logs) < request.num_rows:
                        self._step(request)
                    else:
                        self._finish(request)
        except BaseException as error:  # Ctrl-C too: the loop must raise it
            self._error = error
        finally:
            thread.ended = True
            self._done.put(None)

    def _step(self, request: Request) -> None:
        """Take a step for a segment, which begins with the newest weights."""
        if request.version is None or not self._begun:
            if (version := self._weights.take()) is not None:
                self.actor.set_version(version)
            self._begun = True
        if request.version is None:
            request.version = self.actor.version
            self.actor.agent.counters.sample_step = request.sample_step
        logs: dict[str, Any] = {}
        try:
            logs |= self.collector.step()
        finally:  # an agent may fail when the step is written
            if len(self._writer.rows) > len(request.logs):
                request.logs.append(logs)

    def _finish(self, request: Request) -> None:
        """Hand over a whole segment."""
        writer, version = self._writer, request.version
        assert version is not None
        part = Segment(writer.stacked(), request.logs, writer.breaks, version)
        if self._stream is not None:  # the learner has another one
            self._stream.synchronize()
        writer.clear()
        request.part = part
        self._done.put(None)

    def _unfinished(self) -> list[Request]:
        # Copied first: the other thread may remove what is finished.
        return [request for request in [*self._requests] if request.part is None]

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

    def step(self) -> dict[str, Any]:
        """Hand over one step, and newer weights to the thread."""
        self.segments.check()
        self.segments.run()
        return super().step()

    def check(self) -> None:
        """Raise the exception that ended the thread; nothing collected is lost."""
        self.segments.check()
        super().check()

    def stop(self) -> None:
        """Stop the thread between two steps, or leave it behind, with a warning."""
        self.segments.stop()


def _tensors(model: nn.Module) -> list[Tensor]:
    """All parameters and buffers of a model, in one traversal."""
    return [
        tensor
        for part in model.modules()
        for tensor in (*part._parameters.values(), *part._buffers.values())
        if tensor is not None
    ]
