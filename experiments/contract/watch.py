"""Follow a trainer's calls while it trains, and check what each of them changes."""

import copy
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Self
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from yieldrl.core.seeding import is_traced
from yieldrl.core.text import listed
from yieldrl.envs.arrays import copied
from yieldrl.experiments.contract.report import (
    Report,
    changed,
    leaves,
    values_of,
)
from yieldrl.experiments.contract.stored_log_prob import StoredLogProbs
from yieldrl.networks.train_mode import depends_on_mode, set_train_mode

LEARNING = ("agent.learn", "algorithm.learn")


class Watch:
    """A context in which the methods of a trainer's parts are followed.

    They are wrapped on the objects, never on classes, and restored at the end. Other
    threads are not followed.

    Attributes:
        calls: Number of calls of each method in this thread; `acted` is that of
            `sample` by the collector.
        seen: The latest observations that were acted on.
        moved: Parameters of the model that learning changed.
        zero_loss: Whether all losses, or TD errors, were zero: then weights need not
            change.
        by_sync: Names of the values that `sync_target` changed.
        by_others: Names of values that anything else changed -> the cause.
    """

    def __init__(self, trainer: Any, report: Report, tolerance: float) -> None:
        self.trainer, self.report = trainer, report
        self.agent, self.algorithm = trainer.agent, trainer.algorithm
        self.stored = StoredLogProbs(self.agent, report, tolerance)
        self.calls: Counter[str] = Counter()
        self.seen: deque[Any] = deque(maxlen=8)
        self.moved: set[str] = set()
        self.zero_loss = True
        self.by_sync: set[str] = set()
        self.by_others: dict[str, str] = {}
        self._known = copied(values_of(self.algorithm))
        self._weights: dict[str, str] = {}  # changed since the last step -> the cause
        self._version = self.agent.policy_version
        self._running: list[str] = []  # names of calls that have not returned
        self._thread = threading.get_ident()
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        self._wrap(self.agent, "sample", self._sampling, "agent.sample")
        self._wrap(self.agent, "learn", self.within, "agent.learn")
        self._wrap(self.algorithm, "learn", self._learning, "algorithm.learn")
        self._wrap(self.algorithm, "sync_target", self._syncing, "sync_target")
        self._wrap(self.trainer.collector, "step", self._collecting, "collector.step")
        for name in ("step", "reset"):
            self._wrap(self.trainer.envs, name, self._stepping, f"envs.{name}")
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def within(self, name: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function, which is running under this name meanwhile."""
        self.calls[name] += 1
        self._running.append(name)
        try:
            return call(*args, **kwargs)
        finally:
            self._running.pop()

    def record(self, by: str) -> list[str]:
        """Names of values that changed since the latest call; `by` is the cause."""
        now = values_of(self.algorithm)
        names = changed(self._known, now)
        if names:
            self._known = copied(now)
        self._weights |= {k: by for k in names if k.startswith("model.")}
        if by == "sync_target":
            self.by_sync |= set(names)
        else:
            self.by_others |= dict.fromkeys(names, by)
        return names

    def check_version(self, by: str, *, learned: bool) -> None:
        """Check that the version rose if the weights that act have changed since the
        last check, and otherwise only where something was learned."""
        now, weights = self.agent.policy_version, list(self._weights)
        self.report.expect(
            "policy_version",
            now > self._version if weights else learned or now == self._version,
            f"{listed(weights) or 'nothing'} changed in {by}, and policy_version went"
            f" from {self._version} to {now}: raise agent.policy_version by one before"
            " weights or statistics of the model change, as agent.learn does, and never"
            " else",
        )
        self._version, self._weights = now, {}

    def act(self, agent: Any, name: str, obs: Any) -> Any:
        """Call `sample` or `predict`; check that it only acts."""
        by, expect = f"agent.{name}", self.report.expect
        before, version = copied(values_of(agent.algorithm)), agent.policy_version
        names = _module_names(agent.model)

        def check_mode(part: nn.Module) -> None:
            expect(
                "acting_in_eval_mode",
                not part.training,
                f"{by} ran {names[id(part)]} in train mode: call model.eval() when"
                " learning is over, and model.train() never to act",
            )

        def check(part: nn.Module) -> None:
            check_mode(part)
            graph = torch.is_grad_enabled()
            self._expect_no_graph(
                not graph, f"{by} ran {names[id(part)]} with gradients"
            )

        check_mode(agent.model)  # also where it is a table, without a forward
        with self._forwards(names, check):
            answer = self.within(by, getattr(agent, name), obs)
        parts = leaves(answer, "answer").items()
        graph = [n for n, x in parts if isinstance(x, Tensor) and x.requires_grad]
        self._expect_no_graph(not graph, f"{by} returned {listed(graph)} of a graph")
        self.check_acting(by, changed(before, values_of(agent.algorithm)))
        expect(
            "policy_version",
            agent.policy_version == version,
            f"{by} moved policy_version from {version} to {agent.policy_version}: raise"
            " it only where the weights may change",
        )
        return answer

    def check_acting(self, by: str, names: list[str]) -> None:
        """Check that no values changed."""
        self.report.expect(
            "acting_changes_nothing",
            not names,
            f"{by} changed {listed(names)}: change weights, statistics and targets"
            " while learning only, where the buffer's data are at hand",
        )

    def _expect_no_graph(self, holds: bool, what: str) -> None:
        self.report.expect(
            "acting_without_gradients",
            holds,
            f"{what}: act under torch.inference_mode(), as Agent.sample and predict do",
        )

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any], as_: str):
        """Call `around(as_, method, *args)` instead of the method, in this thread."""
        method = getattr(owner, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self._thread or as_ in self._running:
                return method(*args, **kwargs)
            return around(as_, method, *args, **kwargs)

        self._undo.enter_context(patch.object(owner, name, wrapper))

    @contextmanager
    def _forwards(
        self, names: dict[int, str], check: Callable[[nn.Module], None]
    ) -> Iterator[None]:
        """Check each named module before its forward, in this thread."""

        def hook(part: nn.Module, _: Any) -> None:
            here = threading.get_ident() == self._thread
            if here and id(part) in names and not is_traced():
                check(part)

        handle = register_module_forward_pre_hook(hook)
        try:
            yield
        finally:
            handle.remove()

    def _sampling(self, name: str, call: Any, obs: Any) -> Any:
        if "collector.step" in self._running:
            self.calls["acted"] += 1
            self.seen.append(copy.deepcopy(obs))
        return self.within(name, call, obs)

    def _learning(self, name: str, call: Any, data: Any) -> Any:
        self.record("the trainer")
        self.stored.learns(data, self.trainer.buffer)
        if not self.seen:  # another thread acts: use its observations
            rows = data.reshape(-1)[: self.trainer.envs.num_envs]
            self.seen.append(rows["obs"])
        model = self.algorithm.model
        names, switched = _module_names(model), _parts_that_switch(model)

        def check(part: nn.Module) -> None:
            self.report.expect(
                "learning_in_train_mode",
                part.training
                or not torch.is_grad_enabled()
                or id(part) not in switched,
                f"{name} ran {names[id(part)]} in eval mode: learn through agent.learn,"
                " which switches, and leave the mode alone",
            )

        check(model)
        with self._forwards(names, check):
            logs = self.within(name, call, data)
        # Without parameters, as of a table, learning must change the buffers.
        learned = dict(model.named_parameters()) or dict(model.named_buffers())
        self.moved |= {f"model.{k}" for k in learned} & set(self.record(name))
        loss = logs.get("loss", logs.get("td_error", 1.0))
        self.zero_loss &= float(loss) == 0
        self.report.expect_metrics(logs, name, finite=True)
        return logs

    def _syncing(self, name: str, call: Any) -> Any:
        self.record("the trainer")
        acting = {"agent.sample", "agent.predict"} & {*self._running}
        if acting:
            self.report.expect(
                "target_by_sync_alone",
                False,
                f"{acting.pop()} called sync_target: let the trainer call it, after"
                " learning",
            )
        answer = self.within(name, call)
        self.record(name)
        return answer

    def _collecting(self, name: str, call: Any) -> Any:
        self.stored.acts()
        return self.within(name, call)

    def _stepping(self, name: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        learning = [x for x in self._running if x in LEARNING]
        self.report.expect(
            "learning_steps_no_environment",
            not learning,
            f"{', in '.join(learning[::-1])}, called {name}(): collect in"
            " _run_collect, and let learn go by the data that it is given",
        )
        if "evaluate" in self._running:
            self.report.expect(
                "evaluating_steps_no_training_environment",
                False,
                f"evaluate called {name}() of the training environments, whose episodes"
                " that breaks off: evaluate in trainer.evaluator.envs",
            )
        return self.within(name, call, *args, **kwargs)


def _module_names(model: nn.Module) -> dict[int, str]:
    """Name and class of each module, by its `id`."""
    parts = model.named_modules()
    return {id(x): f"{name or 'model'} ({type(x).__name__})" for name, x in parts}


def _parts_that_switch(model: nn.Module) -> set[int]:
    """The `id` of each module that learns in train mode; none if it does not matter."""
    if not depends_on_mode(model):
        return set()
    before = [(part, part.training) for part in model.modules()]
    set_train_mode(model)  # frozen parts may stay in eval mode
    switched = {id(part) for part in model.modules() if part.training}
    for part, training in before:
        part.training = training
    return switched
