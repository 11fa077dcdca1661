"""Check that an algorithm keeps acting and learning apart."""

import copy
import itertools
from contextlib import closing
from typing import Any

import numpy as np
from torch import nn

from yieldrl.core.conversion import as_array
from yieldrl.core.text import listed
from yieldrl.envs.arrays import copied
from yieldrl.experiments.contract.report import (
    CHECKS,
    ContractError,
    Report,
    Values,
    changed,
    generators,
    leaves,
    same,
    warn_of_concerns,
)
from yieldrl.experiments.contract.watch import Watch

__all__ = ["CHECKS", "ContractError", "check_algorithm"]

STEPS = ("sample_step", "learn_step")


def check_algorithm(
    trainer: Any, *, max_steps: int = 20_000, tolerance: float = 1e-5
) -> dict[str, int]:
    """Train for a while and check that acting and learning are kept apart, or raise.

    The trainer takes steps until it has learned from two rollouts or batches (from some
    more beside a collector in the background), and evaluates for an episode.
    `yieldrl.experiments.CHECKS` lists the checks. Warnings of a trainer's construction,
    such as of dropout in PPO, are repeated. If another thread acts, its agent is
    checked in this thread.

    Afterwards the earlier state is loaded: environments that cannot restore theirs
    begin new episodes. Give the trainer small networks, short rollouts and no loggers:
    values of the algorithm are compared after every step.

    Args:
        trainer: A trainer that has steps left to take.
        max_steps: Number of steps after which to give up, if it has not learned.
        tolerance: Largest difference of a stored log-probability from the one computed
            again, in units of one nat and its own size. Raise it for half precision,
            and for TF32 on a GPU.

    Returns:
        Name of each check -> how often it was made: 0 where it does not apply, such as
        without a target network.

    Raises:
        ContractError: If a check failed; it lists the first failure of each.
        ValueError: If the trainer did not learn.

    Example:
        >>> from yieldrl.algorithms import dqn
        >>> config = dqn.Config(learning_starts=16, total_steps=64)
        >>> looks = check_algorithm(dqn.Trainer(config))
        >>> looks["acting_in_eval_mode"] > 0, looks["stored_log_prob"]
        (True, 0)
    """
    report = Report()
    warn_of_concerns(trainer)
    before = copy.deepcopy(trainer.state_dict())
    try:
        watch = Watch(trainer, report, tolerance)
        with watch:
            first = _train(watch, max_steps)
            _check_acting(watch)
            _evaluate(watch)
            trainer.algorithm.sync_target()
            first.check_copy(watch, "after more was learned")
        _check_learning(watch)
        first.check_state(report)
        if hasattr(trainer.model, "evaluate_actions") and not watch.stored.recorded:
            trainer.load_state_dict(copy.deepcopy(before))
            _train_recording(trainer, report, max_steps, tolerance)
    finally:
        trainer.load_state_dict(before)
    if report.found:
        raise ContractError(trainer.run.name, report.found)
    return report.looks


def _train(watch: Watch, max_steps: int) -> "_Snapshot":
    """Take steps until the trainer has learned from some rollouts, and acted again.

    A snapshot after the first step; ValueError if it has not learned after `max_steps`.
    """
    trainer, calls = watch.trainer, watch.calls
    taken, rounds, kind, now = 0, 0, "", _counters(watch)
    lag = getattr(trainer.config, "max_policy_lag", 0)
    snapshot: _Snapshot | None = None
    with closing(trainer()) as logs:
        for log in itertools.islice(logs, max_steps):
            before, now = now, _counters(watch)
            _check_step(watch, log, before, now)
            snapshot = snapshot or _Snapshot(watch)
            taken += 1
            rounds += log["log_type"] == "train" and kind != "train"
            kind = log["log_type"]
            # Until learned weights have acted, also if another thread acts.
            due = 2 if calls["acted"] else 3 + lag
            if rounds >= due and calls["algorithm.learn"] > 1 and kind != "train":
                break
    if calls["algorithm.learn"] == 0 or snapshot is None:
        raise ValueError(
            f"{trainer.run.name} took {taken} steps and did not learn: check a trainer"
            " that has steps left (total_steps) and learns early (learning_starts,"
            " num_steps, num_episodes)"
        )
    return snapshot


def _train_recording(
    trainer: Any, report: Report, max_steps: int, tolerance: float
) -> None:
    """Train once more, with log-probabilities recorded when acting."""
    if len(trainer.buffer) > 0:  # finish the rollout without records
        with closing(trainer()) as logs:
            for _ in itertools.islice(logs, max_steps):
                if len(trainer.buffer) == 0:
                    break
    agent = trainer.agent
    was, agent.records_log_prob = agent.records_log_prob, True
    try:
        with Watch(trainer, report, tolerance) as watch:
            _train(watch, max_steps)
    finally:
        agent.records_log_prob = was


def _counters(watch: Watch) -> dict[str, int]:
    calls = watch.calls
    counters = {name: getattr(watch.agent, name) for name in STEPS}
    counters["learn"] = calls["algorithm.learn"]
    return counters | {"envs": calls["envs.step"] + calls["envs.reset"]}


def _check_step(watch: Watch, log: Any, before: Any, now: Any) -> None:
    """Check what a step of the trainer changed, counted and logged."""
    expect, kind = watch.report.expect, log["log_type"]
    learned, by = kind == "train", f"a {kind} step"
    watch.record(by)
    watch.check_version(by, learned=learned)
    watch.report.expect_metrics(log["logs"], by, finite=False)
    parts = watch.trainer.model.named_modules()
    training = [name or "model" for name, part in parts if part.training]
    expect(
        "learning_in_train_mode",
        not training,
        f"{listed(training)} stayed in train mode after {by}: learn through"
        " agent.learn, which goes back to eval mode",
    )
    expect(
        "learning_steps_no_environment",
        not (learned and now["envs"] != before["envs"]),
        f"{by} called envs.step() or reset(): collect in _run_collect",
    )
    sampled = watch.trainer.envs.num_envs if kind == "collect" else 0
    for name, due in zip(STEPS, (sampled, now["learn"] - before["learn"]), strict=True):
        expect(
            "counters",
            now[name] - before[name] == due and log[name] == now[name],
            f"{name} went from {before[name]} to {now[name]} in {by} in which {due}"
            f" were taken, and the log says {log[name]}: count every step once, and log"
            " the agent's counters",
        )


def _check_acting(watch: Watch) -> None:
    """Check that acting only acts, and that `predict` is deterministic."""
    agent, algorithm = watch.agent, watch.algorithm
    for obs in list(watch.seen):
        watch.act(agent, "sample", obs)
        before = generators(agent, algorithm, algorithm.model)
        once = _predicted(watch, agent, obs)
        again = _predicted(watch, agent, obs)
        drawn = changed(before, generators(agent, algorithm, algorithm.model))
        watch.report.expect(
            "predict_is_deterministic",
            same(once, again) and not drawn,
            f"predict gave {once.tolist()} and then {again.tolist()} for the same"
            f" observations, and drew from {listed(drawn) or 'no generator we know'}:"
            " take the mean, the mode or the greedy action, without noise",
        )


def _evaluate(watch: Watch) -> None:
    """Check that evaluation changes nothing that training needs."""
    try:
        _ = watch.trainer.evaluator.envs
    except ValueError:  # cannot be made a second time
        return
    before = watch.agent.sample_step
    watch.record("the trainer")
    watch.within("evaluate", watch.trainer.evaluate, 1)
    watch.check_acting("evaluate", watch.record("evaluate"))
    watch.report.expect(
        "evaluating_steps_no_training_environment",
        watch.agent.sample_step == before,
        f"evaluate moved sample_step from {before} to {watch.agent.sample_step}: count"
        " the steps that are learned from, alone",
    )


def _check_learning(watch: Watch) -> None:
    """Check that learning moved parameters, and `sync_target` alone the target."""
    watch.report.expect(
        "learning_moves_parameters",
        watch.moved or watch.zero_loss,
        f"{watch.calls['algorithm.learn']} calls of algorithm.learn changed nothing:"
        " give the optimizer the parameters that the loss depends on, and let it step",
    )
    parts = vars(watch.algorithm).items()
    modules = [name for name, part in parts if isinstance(part, nn.Module)]
    targets = tuple(f"{name}." for name in modules if "target" in name)
    names = leaves(watch.algorithm.state_dict())
    for name in {*watch.by_sync, *(x for x in names if x.startswith(targets))}:
        by = watch.by_others.get(name)
        watch.report.expect(
            "target_by_sync_alone",
            by is None,
            f"{name} was changed by {by}: leave that to sync_target, which the trainer"
            " calls through agent.sync_target when it is due",
        )


class _Snapshot:
    """The current state and actions, to compare with later ones."""

    def __init__(self, watch: Watch) -> None:
        self.trainer, self.agent = watch.trainer, watch.agent
        self.obs = self.trainer.envs.observation_space.sample()
        if watch.seen:
            self.obs = watch.seen[-1]
        self.state = copy.deepcopy(self.trainer.state_dict())
        self.saved = copied(leaves(self.trainer.algorithm.state_dict()))
        self.actions = self._actions()
        self.agent.load_state_dict(copy.deepcopy(self.state["agent"]))  # its memory
        self.actor: Any = None
        if hasattr(self.agent, "actor"):
            self.actor, self.version = self.agent.actor(), self.agent.policy_version
            self.weights = copied(leaves(self.agent.model.state_dict()))
            self.check_copy(watch, "when it was made")

    def check_copy(self, watch: Watch, when: str) -> None:
        """Check that an acting copy acts as the agent did when it was made."""
        if (actor := self.actor) is None:
            return
        action, chosen = _predicted(watch, actor, self.obs), self.actions["predict"]
        watch.act(actor, "sample", self.obs)
        wrong = changed(self.weights, leaves(actor.model.state_dict()))
        wrong += [name for name, part in actor.model.named_modules() if part.training]
        watch.report.expect(
            "acting_copy",
            same(action, chosen) and actor.policy_version == self.version and not wrong,
            f"{when}, agent.actor() chose {action.tolist()} at policy_version"
            f" {actor.policy_version}, where the agent had chosen {chosen.tolist()} at"
            f" {self.version}; other weights or train mode: {listed(wrong) or 'none'}."
            " Give it a copy of the model, in eval mode, and counters of its own, as"
            " Algorithm.acting_copy does",
        )

    def check_state(self, report: Report) -> None:
        """Load the state: the actions must be the earlier ones."""
        self.trainer.load_state_dict(copy.deepcopy(self.state))
        lost = changed(self.saved, leaves(self.trainer.algorithm.state_dict()))
        lost += changed(self.actions, self._actions())
        report.expect(
            "state_dict",
            not lost,
            f"state_dict() was loaded after more training, and {listed(lost)} differ"
            " from what they were: save all that acting depends on (running statistics"
            " are buffers of the model, a generator is saved by the agent)",
        )

    def _actions(self) -> Values:
        sampled = [self.agent.sample(self.obs)[0] for _ in range(4)]
        samples = {f"sample {i}": as_array(x) for i, x in enumerate(sampled, 1)}
        self.agent.begin_episode()
        return {"predict": as_array(self.agent.predict(self.obs)), **samples}


def _predicted(watch: Watch, agent: Any, obs: Any) -> np.ndarray:
    agent.begin_episode()
    return as_array(watch.act(agent, "predict", obs))
