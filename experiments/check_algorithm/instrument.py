"""Wrap the methods of a trainer's parts, to observe acting and learning."""

import copy
import functools
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from yieldrl.experiments.check_algorithm.observers import (
    ACTING,
    ChangeLog,
    Modes,
    module_names,
)
from yieldrl.experiments.check_algorithm.report import Report
from yieldrl.experiments.check_algorithm.stored_log_prob import StoredLogProbs
from yieldrl.foundations.tracing import is_traced

FEW = 8  # evaluation steps that are checked one by one
LEARNING = ("agent.learn", "algorithm.learn")


class Instrument:
    """A context in which the methods of a trainer's parts are observed.

    They are wrapped on the objects, never on classes, and restored at the end. Other
    threads are not observed.
    """

    def __init__(self, trainer: Any, report: Report, tolerance: float) -> None:
        self.trainer, self.report = trainer, report
        self.agent, self.algorithm = trainer.agent, trainer.algorithm
        self.changes = ChangeLog(self.agent, report)
        self.stored = StoredLogProbs(self.agent, report, tolerance)
        self.counts: Counter[str] = Counter()  # of calls; `acted` in this thread
        self.moved: set[str] = set()  # parameters of the model that learning changed
        self.zero_loss = True  # or zero TD error: then weights need not change
        self.seen: deque[Any] = deque(maxlen=8)  # observations that were acted on
        model = self.algorithm.model
        self.modes = Modes(model, report)
        # Without parameters, as of a table, learning must change the buffers.
        tensors = dict(model.named_parameters()) or dict(model.named_buffers())
        self._parameters = {f"model.{name}" for name in tensors}
        self._phases: list[str] = []
        self._thread = threading.get_ident()
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        self.follow(self.agent, self.changes)
        self._wrap(self.agent, "learn", self.within, "agent.learn")
        self._wrap(self.algorithm, "learn", self._learning, "algorithm.learn")
        self._wrap(self.algorithm, "sync_target", self._syncing, "sync_target")
        self._wrap(self.trainer.collector, "step", self._collecting, "collector.step")
        self._wrap(self.trainer.envs, "step", self._stepping, "step")
        self._wrap(self.trainer.envs, "reset", self._stepping, "reset")
        hook = register_module_forward_pre_hook(self._forward)
        self._undo.callback(hook.remove)
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def follow(self, agent: Any, changes: ChangeLog) -> None:
        """Observe while an agent acts, and record its changes in `changes`."""
        around = functools.partial(self._acting, changes)
        for name in ("sample", "predict"):
            self._wrap(agent, name, around, f"agent.{name}")
        self.modes.names |= module_names(agent.model)

    def within(self, name: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function, with `name` as the current phase."""
        self._phases.append(name)
        try:
            return call(*args, **kwargs)
        finally:
            self._phases.pop()

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any], as_: str):
        """Call `around(as_, method, *args)` instead of the method, in this thread."""
        method = getattr(owner, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self._thread:
                return method(*args, **kwargs)
            return around(as_, method, *args, **kwargs)

        if name in vars(owner):
            self._undo.callback(setattr, owner, name, method)
        else:
            self._undo.callback(delattr, owner, name)
        setattr(owner, name, wrapper)

    def _acting(self, changes: ChangeLog, name: str, call: Any, obs: Any) -> Any:
        if any(phase in ACTING for phase in self._phases):
            return call(obs)
        self.counts["evaluated"] += "evaluate" in self._phases
        if self.counts["evaluated"] > FEW:  # later ones are only compared at the end
            return self.within(name, call, obs)
        changes.record("the trainer")
        changes.version()
        if name == "agent.sample":
            self.seen.append(copy.deepcopy(obs))
            self.counts["acted"] += "collector.step" in self._phases
        self.modes.acts(changes.agent.model, name)
        answer = self.within(name, call, obs)
        changes.acted(name)
        self.modes.acted(name, answer)
        return answer

    def _learning(self, name: str, call: Any, data: Any) -> Any:
        if name in self._phases:
            return call(data)
        self.changes.record("the trainer")
        self.stored.learns(data, self.trainer.buffer)
        if not self.seen:  # another thread acts: use its observations
            rows = data.reshape(-1)[: self.trainer.envs.num_envs]
            self.seen.append(rows["obs"])
        self.modes.learns(self.algorithm.model)
        logs = self.within(name, call, data)
        self.counts["learn"] += 1
        self.moved |= self._parameters & set(self.changes.record(name))
        loss = logs.get("loss", logs.get("td_error", 1.0))
        self.zero_loss &= float(loss) == 0
        self.report.expect_metrics(logs, name, finite=True)
        return logs

    def _syncing(self, name: str, call: Any) -> Any:
        self.changes.record("the trainer")
        acting = [phase for phase in self._phases if phase in ACTING]
        if acting:
            self.report.expect(
                "target_by_sync_alone",
                False,
                f"{acting[0]} called sync_target: let the trainer call it, after"
                " learning",
            )
        answer = self.within(name, call)
        self.changes.synced |= set(self.changes.record(name))
        return answer

    def _collecting(self, name: str, call: Any) -> Any:
        self.stored.acts()
        return self.within(name, call)

    def _stepping(self, name: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        self.counts[name] += 1
        learning = [phase for phase in self._phases if phase in LEARNING]
        self.report.expect(
            "learning_steps_no_environment",
            not learning,
            f"{', in '.join(learning[::-1])}, called envs.{name}(): collect in"
            " _run_collect, and let learn go by the data that it is given",
        )
        if "evaluate" in self._phases:
            self.report.expect(
                "evaluating_steps_no_training_environment",
                False,
                f"evaluate called {name}() of the training environments, whose episodes"
                " that breaks off: evaluate in trainer.eval_envs",
            )
        return call(*args, **kwargs)

    def _forward(self, part: nn.Module, _: Any) -> None:
        """Called before the forward of any module there is, in any thread."""
        if is_traced():  # compiled code is checked as a whole
            return
        if threading.get_ident() == self._thread and self._phases:
            self.modes.forward(part, self._phases[-1])
