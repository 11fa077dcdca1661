"""Follow a trainer's calls while it trains, and check what each of them changes."""

import copy
import itertools
import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Self
from unittest.mock import patch

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from yieldrl.core.conversion import as_array
from yieldrl.core.seeding import is_traced
from yieldrl.core.text import listed
from yieldrl.envs.arrays import copied
from yieldrl.experiments.contract.values import (
    Values,
    changed,
    generators,
    leaves,
    same,
    values_of,
)
from yieldrl.networks.train_mode import depends_on_mode

CHECKS = {
    "acting_in_eval_mode": "sample and predict run the model in eval mode: call"
    " model.eval() when learning is over, and model.train() never to act",
    "acting_without_gradients": "sample and predict record no gradients: act under"
    " torch.inference_mode(), as Agent.sample and predict do",
    "acting_changes_nothing": "acting changes no parameter, running statistic, target"
    " or optimizer state: that is for learning, where the buffer's data are at hand",
    "learning_in_train_mode": "learn runs the model in train mode, and afterwards it"
    " is in eval mode: learn through agent.learn, which switches",
    "learning_steps_no_environment": "learning steps no environment: collect in"
    " _run_collect, and let learn go by the data that it is given",
    "evaluating_steps_no_training_environment": "evaluate has environments of its own,"
    " trainer.evaluator.envs, and counts no steps",
    "stored_log_prob": "before the first update, stored actions have their stored"
    " log_prob: store the action as it was drawn, before it is clipped, and its own"
    " log_prob; evaluate it in eval mode; move statistics of observations only after",
    "policy_version": "policy_version rises by one before weights or statistics of the"
    " model change, as in agent.learn, and never else; transitions have that of when"
    " the action was chosen",
    "predict_is_deterministic": "predict gives the same again and draws no numbers:"
    " take the mean, the mode or the greedy action, without noise",
    "metrics": "learn returns finite numbers, or detached 0-dim tensors: log means,"
    " and write results per sample into the batch",
    "learning_moves_parameters": "learn changes a parameter: give the optimizer those"
    " that the loss depends on, and let it step",
    "target_by_sync_alone": "sync_target alone moves the target, and the trainer calls"
    " it after learning, when it is due",
    "counters": "learn_step counts calls of learn, sample_step environment steps:"
    " count each once, and log the agent's counters",
    "state_dict": "load_state_dict restores what was saved, and the actions with it:"
    " running statistics are buffers of the model, a generator is saved by the agent",
    "acting_copy": "agent.actor() goes on acting as the agent did when it was made:"
    " give it a copy of the model, in eval mode, and counters of its own, as"
    " Algorithm.acting_copy does",
}
"""Name of each check -> what must be true, and what to do."""


class Report:
    """Counts how often each check was made, and keeps the first failure of each."""

    def __init__(self) -> None:
        self.looks = dict.fromkeys(CHECKS, 0)
        self.failures: dict[str, str] = {}

    def expect(self, check: str, holds: object, found: str) -> None:
        """Count a check; if it fails, keep what was found first."""
        self.looks[check] += 1
        if not holds:
            self.failures.setdefault(check, f"{found}; but {CHECKS[check]}")


class Watch:
    """A context in which the methods of a trainer's parts are followed.

    They are wrapped on the objects, never on classes, and restored at the end. Other
    threads are not followed.

    Attributes:
        recorded: Whether log-probabilities and versions were stored when acting.
    """

    def __init__(self, trainer: Any, report: Report, tolerance: float) -> None:
        self.trainer, self.expect, self.tolerance = trainer, report.expect, tolerance
        self.agent, self.algorithm = trainer.agent, trainer.algorithm
        self.recorded = False
        self.seen: deque[Any] = deque(maxlen=8)  # the latest observations acted on
        self._calls: Counter[str] = Counter()  # of each method, in this thread
        self._learned: set[str] = set()  # parameters that learning changed
        self._zero_loss = True  # all losses were zero: then weights need not change
        self._by_sync: set[str] = set()  # names of values that sync_target changed
        self._by_others: dict[str, str] = {}  # that others changed -> the cause
        self._values = copied(values_of(self.algorithm))
        self._changed: list[str] = []  # weights, since the last check of the version
        self._version = self.agent.policy_version
        self._policies: dict[int, Any] = {}  # version -> the model that acted
        self._acted = False  # since the last learning
        self._running: list[str] = []  # names of calls that have not returned
        self._thread = threading.get_ident()
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        self._wrap(self.agent, "sample", "agent.sample", self._sampling)
        self._wrap(self.agent, "learn", "agent.learn", self._within)
        self._wrap(self.algorithm, "learn", "algorithm.learn", self._learning)
        self._wrap(self.algorithm, "sync_target", "sync_target", self._syncing)
        self._wrap(self.trainer.collector, "step", "collector.step", self._collecting)
        for name in ("step", "reset"):
            self._wrap(self.trainer.envs, name, f"envs.{name}", self._stepping)
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def train(self, max_steps: int) -> "Snapshot":
        """Take steps until the trainer has learned from some rollouts, and acted again.

        A snapshot after the first step; ValueError if it has not learned in so many.
        """
        trainer, calls = self.trainer, self._calls
        lag = getattr(trainer.config, "max_policy_lag", 0)
        taken, rounds, kind, snapshot, now = 0, 0, "", None, self._counters()
        with closing(trainer()) as logs:
            for log in itertools.islice(logs, max_steps):
                before, now = now, self._counters()
                self._check_step(log, before, now)
                snapshot = snapshot or Snapshot(self)
                taken += 1
                rounds += log["log_type"] == "train" and kind != "train"
                kind = log["log_type"]
                # Until learned weights have acted, also if another thread acts.
                due = 2 if calls["acted"] else 3 + lag
                if rounds >= due and calls["algorithm.learn"] > 1 and kind != "train":
                    break
        if calls["algorithm.learn"] == 0 or snapshot is None:
            raise ValueError(
                f"{trainer.run.name} took {taken} steps and did not learn: check a"
                " trainer that has steps left (total_steps) and learns early"
                " (learning_starts, num_steps, num_episodes)"
            )
        return snapshot

    def check_predict(self) -> None:
        """Check that acting only acts, and that `predict` is deterministic."""
        owners = self.agent, self.algorithm, self.algorithm.model
        for obs in list(self.seen):
            self.act(self.agent, "sample", obs)
            before = generators(*owners)
            once, again = (self.predicted(self.agent, obs) for _ in range(2))
            drawn = changed(before, generators(*owners))
            self.expect(
                "predict_is_deterministic",
                same(once, again) and not drawn,
                f"predict gave {once.tolist()} and then {again.tolist()} for the same"
                f" observations, and drew from {listed(drawn) or 'no generator'}",
            )

    def check_evaluate(self) -> None:
        """Check that evaluation changes nothing that training needs."""
        try:
            _ = self.trainer.evaluator.envs
        except ValueError:  # cannot be made a second time
            return
        before = self.agent.sample_step
        self._note_changes("the trainer")
        self._within("evaluate", self.trainer.evaluate, 1)
        self._expect_no_change("evaluate", self._note_changes("evaluate"))
        self.expect(
            "evaluating_steps_no_training_environment",
            self.agent.sample_step == before,
            f"evaluate moved sample_step from {before} to {self.agent.sample_step}",
        )

    def check_what_moved(self) -> None:
        """Check that learning moved parameters, and `sync_target` alone the target."""
        self.expect(
            "learning_moves_parameters",
            self._learned or self._zero_loss,
            f"{self._calls['algorithm.learn']} calls of algorithm.learn changed none",
        )
        parts = vars(self.algorithm).items()
        modules = [name for name, part in parts if isinstance(part, nn.Module)]
        targets = tuple(f"{name}." for name in modules if "target" in name)
        names = leaves(self.algorithm.state_dict())
        for name in {*self._by_sync, *(x for x in names if x.startswith(targets))}:
            self.expect(
                "target_by_sync_alone",
                name not in self._by_others,
                f"{name} was changed by {self._by_others.get(name)}",
            )

    def predicted(self, agent: Any, obs: Any) -> np.ndarray:
        """The deterministic actions `[N, ...]` at the beginning of episodes."""
        agent.begin_episode()
        return as_array(self.act(agent, "predict", obs))

    def act(self, agent: Any, name: str, obs: Any) -> Any:
        """Call `sample` or `predict`; check that it only acts."""
        by, before = f"agent.{name}", copied(values_of(agent.algorithm))
        version = agent.policy_version

        def check(part: nn.Module, graph: bool) -> None:
            where, acts = f"{by} ran a {type(part).__name__}", not part.training
            self.expect("acting_in_eval_mode", acts, f"{where} in train mode")
            self.expect("acting_without_gradients", not graph, f"{where} with some")

        check(agent.model, False)  # also where it is a table, without a forward
        with self._forwards(agent.model, lambda x: check(x, torch.is_grad_enabled())):
            answer = self._within(by, getattr(agent, name), obs)
        tensors = [x for x in leaves(answer).values() if isinstance(x, Tensor)]
        graph = any(x.requires_grad for x in tensors)
        self.expect("acting_without_gradients", not graph, f"{by} returned a graph")
        self._expect_no_change(by, changed(before, values_of(agent.algorithm)))
        now = agent.policy_version
        found = f"{by} moved policy_version from {version} to {now}"
        self.expect("policy_version", now == version, found)
        return answer

    def _counters(self) -> dict[str, int]:
        calls = self._calls
        return {
            "sample_step": self.agent.sample_step,
            "learn_step": self.agent.learn_step,
            "learn": calls["algorithm.learn"],
            "envs": calls["envs.step"] + calls["envs.reset"],
        }

    def _check_step(self, log: Any, before: Values, now: Values) -> None:
        """Check what a step of the trainer changed, counted and logged."""
        kind, version = log["log_type"], self.agent.policy_version
        learned, by = kind == "train", f"a {kind} step"
        self._note_changes(by)
        rose = version > self._version
        self.expect(
            "policy_version",
            rose if self._changed else learned or not rose,
            f"{listed(self._changed) or 'nothing'} changed in {by}, and policy_version"
            f" went from {self._version} to {version}",
        )
        self._version, self._changed = version, []
        self._expect_metrics(log["logs"], by, finite=False)
        parts = self.trainer.model.named_modules()
        training = [name or "model" for name, part in parts if part.training]
        found = f"{listed(training)} stayed in train mode after {by}"
        self.expect("learning_in_train_mode", not training, found)
        self.expect(
            "learning_steps_no_environment",
            not (learned and now["envs"] != before["envs"]),
            f"{by} called envs.step() or reset()",
        )
        sampled = self.trainer.envs.num_envs if kind == "collect" else 0
        due = {"sample_step": sampled, "learn_step": now["learn"] - before["learn"]}
        for name, count in due.items():
            self.expect(
                "counters",
                now[name] - before[name] == count and log[name] == now[name],
                f"{name} went from {before[name]} to {now[name]} in {by} in which"
                f" {count} were taken, and the log says {log[name]}",
            )

    def _expect_metrics(
        self, logs: Mapping[str, Any], by: str, *, finite: bool
    ) -> None:
        for name, value in logs.items():
            wrong = ""
            if isinstance(value, Tensor) and value.requires_grad:
                wrong = "a tensor with a graph"
            elif isinstance(value, Tensor) and value.ndim > 0:
                wrong = f"a tensor of shape {tuple(value.shape)}"
            elif finite and not math.isfinite(value):
                wrong = str(float(value))
            self.expect("metrics", not wrong, f"{by} gave {name} = {wrong}")

    def _note_changes(self, by: str) -> list[str]:
        """Names of values that changed since the latest call; `by` is the cause."""
        now = values_of(self.algorithm)
        names = changed(self._values, now)
        if names:
            self._values = copied(now)
        self._changed += [name for name in names if name.startswith("model.")]
        if by == "sync_target":
            self._by_sync |= set(names)
        else:
            self._by_others |= dict.fromkeys(names, by)
        return names

    def _expect_no_change(self, by: str, names: list[str]) -> None:
        self.expect(
            "acting_changes_nothing", not names, f"{by} changed {listed(names)}"
        )

    def _check_stored(self, data: TensorDict) -> None:
        """Check log-probabilities of the first minibatch after acting, and its rollout.

        A rollout with a `policy_version` is compared with that policy; other data, of
        transitions `[B]` or sequences `[T, n]`, with the policy that acted last.
        """
        policies, buffer = dict(list(self._policies.items())[-1:]), self.trainer.buffer
        if not (self._acted and policies):
            return
        if hasattr(buffer, "rollout"):
            rollout = buffer.rollout().flatten(0, 1)
            if {"log_prob", "policy_version"} <= set(rollout.keys()):
                self.recorded, acted = True, self._policies.keys()
                named = set(rollout["policy_version"].unique().tolist())
                wrong = {x for x in named - acted if x > min(acted)}
                self.expect(
                    "policy_version",
                    not wrong,
                    f"transitions name policy_version {sorted(wrong)}, and those that"
                    f" acted were {sorted(acted)}",
                )
                self._compare(self._inputs(rollout), rollout, self._policies)
                policies = self._policies if named <= acted else {}
        if "log_prob" in set(data.keys()) and policies:
            flat = data.flatten(0, 1) if data.ndim > 1 else data
            remembers = getattr(self.agent, "has_memory", False)
            self._compare(self._inputs(data if remembers else flat), flat, policies)

    def _inputs(self, data: TensorDict) -> Any:
        inputs = getattr(self.agent.model, "inputs", None)
        return data["obs"] if inputs is None else inputs(data)

    def _compare(
        self, inputs: Any, flat: TensorDict, policies: Mapping[int, Any]
    ) -> None:
        """Compare transitions `[B]` with log-probabilities of these policies.

        For actions of several parts, each with a `log_prob`, all must agree.
        """
        stored = flat["log_prob"].reshape(len(flat), -1)  # [B, K], of K parts
        seen = flat.get("valid", torch.ones(len(flat), dtype=torch.bool))
        versions = flat.get("policy_version", None)
        if versions is not None:  # an older one acted before the check began
            seen = seen & torch.isin(versions, torch.tensor([*policies]))
        miss = torch.full_like(stored, torch.inf)
        for version, policy in policies.items():
            with torch.no_grad():
                log_prob = policy.evaluate_actions(inputs, flat["action"])[0]
            distance = (log_prob.reshape(stored.shape) - stored).abs()
            if versions is not None:
                distance = distance.where(versions.unsqueeze(1) == version, torch.inf)
            miss = torch.fmin(miss, distance)
        right = (miss <= self.tolerance * (1 + stored.abs())).all(1)
        wrong = (seen & ~right).nonzero().squeeze(1)
        first = int(wrong[0]) if len(wrong) else 0
        self.expect(
            "stored_log_prob",
            len(wrong) == 0,
            f"{len(wrong)} of {int(seen.sum())} stored actions have another log_prob"
            " under the weights that acted: of the first"
            f" {float(stored[first].sum()):.6g} is stored,"
            f" {float(miss[first].sum()):.3g} away",
        )

    def _wrap(self, owner: Any, name: str, as_: str, around: Callable[..., Any]):
        """Call `around(as_, method, *args)` instead of the method, in this thread."""
        method = getattr(owner, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self._thread or as_ in self._running:
                return method(*args, **kwargs)
            return around(as_, method, *args, **kwargs)

        self._undo.enter_context(patch.object(owner, name, wrapper))

    @contextmanager
    def _forwards(
        self, model: nn.Module, check: Callable[[nn.Module], None]
    ) -> Iterator[None]:
        """Check each module of a model before its forward, in this thread."""
        modules = {id(part) for part in model.modules()}

        def hook(part: nn.Module, _: Any) -> None:
            here = threading.get_ident() == self._thread
            if here and id(part) in modules and not is_traced():
                check(part)

        handle = register_module_forward_pre_hook(hook)
        try:
            yield
        finally:
            handle.remove()

    def _within(self, name: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function, which is running under this name meanwhile."""
        self._calls[name] += 1
        self._running.append(name)
        try:
            return call(*args, **kwargs)
        finally:
            self._running.pop()

    def _sampling(self, name: str, call: Any, obs: Any) -> Any:
        if "collector.step" in self._running:
            self._calls["acted"] += 1
            self.seen.append(copy.deepcopy(obs))
        return self._within(name, call, obs)

    def _collecting(self, name: str, call: Any) -> Any:
        """Keep a copy of the policy that is about to act."""
        version, model = self.agent.policy_version, self.agent.model
        self._acted = True
        if hasattr(model, "evaluate_actions") and version not in self._policies:
            self._policies[version] = copy.deepcopy(model)
        return self._within(name, call)

    def _learning(self, name: str, call: Any, data: Any) -> Any:
        self._note_changes("the trainer")
        self._check_stored(data)
        self._acted = False
        if not self.seen:  # another thread acts: use its observations
            self.seen.append(data.reshape(-1)[: self.trainer.envs.num_envs]["obs"])
        model = self.algorithm.model
        # Frozen parts may stay in eval mode, and all where the mode does not matter.
        training = {id(part) for part in model.modules() if part.training}

        def check(part: nn.Module, stays: bool) -> None:
            found = f"{name} ran a {type(part).__name__} in eval mode"
            self.expect("learning_in_train_mode", part.training or stays, found)

        def check_forward(part: nn.Module) -> None:
            check(part, not torch.is_grad_enabled() or id(part) not in training)

        check(model, not depends_on_mode(model))
        with self._forwards(model, check_forward):
            logs = self._within(name, call, data)
        # Without parameters, as of a table, learning must change the buffers.
        learned = dict(model.named_parameters()) or dict(model.named_buffers())
        moved = set(self._note_changes(name))
        self._learned |= {f"model.{k}" for k in learned} & moved
        self._zero_loss &= float(logs.get("loss", logs.get("td_error", 1.0))) == 0
        self._expect_metrics(logs, name, finite=True)
        return logs

    def _syncing(self, name: str, call: Any) -> Any:
        self._note_changes("the trainer")
        for acting in {"agent.sample", "agent.predict"} & {*self._running}:
            self.expect("target_by_sync_alone", False, f"{acting} called {name}")
        answer = self._within(name, call)
        self._note_changes(name)
        return answer

    def _stepping(self, name: str, call: Any, *args: Any, **kwargs: Any) -> Any:
        learning = [x for x in self._running if x.endswith(".learn")]
        found = f"{', in '.join(learning[::-1])}, called {name}()"
        self.expect("learning_steps_no_environment", not learning, found)
        if "evaluate" in self._running:
            found = f"evaluate called {name}() of the training environments"
            self.expect("evaluating_steps_no_training_environment", False, found)
        return self._within(name, call, *args, **kwargs)


class Snapshot:
    """The current state and actions, to compare with later ones."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.trainer, self.agent = watch, watch.trainer, watch.agent
        self.obs = self.trainer.envs.observation_space.sample()
        if watch.seen:
            self.obs = watch.seen[-1]
        self.state = copy.deepcopy(self.trainer.state_dict())
        self.saved = copied(leaves(self.trainer.algorithm.state_dict()))
        self.actions = self._actions()
        self.agent.load_state_dict(copy.deepcopy(self.state["agent"]))  # its memory
        self.actor, self.version = self.agent.actor(), self.agent.policy_version
        self.weights = copied(leaves(self.agent.model.state_dict()))
        self.check_actor("when it was made")

    def check_actor(self, when: str) -> None:
        """Check that an acting copy acts as the agent did when it was made."""
        actor, chosen = self.actor, self.actions["predict"]
        action = self.watch.predicted(actor, self.obs)
        self.watch.act(actor, "sample", self.obs)
        wrong = changed(self.weights, leaves(actor.model.state_dict()))
        wrong += [name for name, part in actor.model.named_modules() if part.training]
        self.watch.expect(
            "acting_copy",
            same(action, chosen) and actor.policy_version == self.version and not wrong,
            f"{when}, agent.actor() chose {action.tolist()} at policy_version"
            f" {actor.policy_version}, where the agent had chosen {chosen.tolist()} at"
            f" {self.version}; other weights or train mode: {listed(wrong) or 'none'}",
        )

    def check_state(self) -> None:
        """Load the state: the actions must be the earlier ones."""
        self.trainer.load_state_dict(copy.deepcopy(self.state))
        lost = changed(self.saved, leaves(self.trainer.algorithm.state_dict()))
        lost += changed(self.actions, self._actions())
        found = f"after more training {listed(lost)} differ from what was saved"
        self.watch.expect("state_dict", not lost, found)

    def _actions(self) -> Values:
        sampled = [self.agent.sample(self.obs)[0] for _ in range(4)]
        samples = {f"sample {i}": as_array(x) for i, x in enumerate(sampled, 1)}
        self.agent.begin_episode()
        return {"predict": as_array(self.agent.predict(self.obs)), **samples}
