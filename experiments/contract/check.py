"""Whether an algorithm keeps acting and learning apart, before it is trusted."""

from __future__ import annotations

import copy
import itertools
from contextlib import closing
from typing import Any

from yieldrl.experiments.contract.concerns import warn_of
from yieldrl.experiments.contract.drill import Drill
from yieldrl.experiments.contract.report import ContractError, Report
from yieldrl.experiments.contract.trials import Moment, evaluate, predict_twice
from yieldrl.experiments.contract.watch import Watch


def check_algorithm(
    trainer: Any, *, max_steps: int = 20_000, tolerance: float = 1e-5
) -> dict[str, int]:
    """Train for a while and look on; raise if acting and learning are not kept apart.

    The trainer takes steps until it has learned from two rollouts (or two batches; from
    some more beside a collector in the background), and evaluates for an episode.
    `yieldrl.experiments.CHECKS` says what is looked at: in which mode the model acts
    and learns, what each of them changes, what `policy_version` says of it, what was
    written down when acting, what a state holds. What trainers warn of when they are
    made, such as dropout in PPO, is said again. Where another thread acts, the agent
    that it acts with is tried in this one.

    Afterwards the trainer is where it was: its `state_dict` from before is loaded.
    Environments that cannot restore their state begin new episodes, as from a
    checkpoint. Give it small networks and short rollouts, and no loggers, which would
    log the steps. Values of the algorithm are compared after every step, which takes
    some memory and much time for a large model.

    Args:
        trainer: A trainer that has steps left to take.
        max_steps: After how many of its steps to give up, if it has not learned.
        tolerance: Largest difference of a stored log-probability from the one computed
            again, in units of one nat and its own size. Raise it for half precision,
            and for TF32 on a GPU.

    Returns:
        Name of each check -> how often it was looked at: 0 where there is nothing of
        the kind, such as a target network.

    Raises:
        ContractError: If anything was found; it lists the first of each check.
        ValueError: If the trainer did not learn.

    Example:
        >>> from yieldrl.algorithms import dqn
        >>> config = dqn.Config(learning_starts=16, total_steps=64)
        >>> looks = check_algorithm(dqn.Trainer(config))
        >>> looks["acting_in_eval_mode"] > 0, looks["stored_log_prob"]
        (True, 0)
    """
    report = Report()
    warn_of(trainer)
    _ = _has_eval_envs(trainer)  # made before anything is wrapped
    before = copy.deepcopy(trainer.state_dict())
    try:
        recorded = _train_and_try(trainer, report, max_steps, tolerance)
        if hasattr(trainer.agent, "records_policy") and not recorded:
            trainer.load_state_dict(copy.deepcopy(before))
            _train_recording(trainer, report, max_steps, tolerance)
    finally:
        trainer.load_state_dict(before)
    if report.found:
        raise ContractError(trainer.name, report.found)
    return report.looks


def _train_and_try(
    trainer: Any, report: Report, max_steps: int, tolerance: float
) -> bool:
    """All that is looked at; whether log-probabilities were written down in it."""
    watch = Watch(trainer, report, tolerance)
    moment = Moment(trainer, watch)
    with watch:
        Drill(watch, max_steps).run(at_first=moment.keep)
        predict_twice(watch)
        if _has_eval_envs(trainer):
            evaluate(watch)
        trainer.algorithm.sync_target()
        moment.try_copy()
    watch.ledger.target()
    calls = watch.counts["learn"]
    report.expect(
        "learning_moves_parameters",
        watch.moved or watch.quiet,
        f"{calls} calls of algorithm.learn changed nothing: give the optimizer the"
        " parameters that the loss depends on, and let it step",
    )
    moment.try_state()
    return watch.stored.recorded


def _train_recording(
    trainer: Any, report: Report, max_steps: int, tolerance: float
) -> None:
    """Once more, with log-probabilities written down when acting."""
    if len(trainer.buffer) > 0:  # a rollout under way goes on without
        with closing(trainer()) as logs:
            for _ in itertools.islice(logs, max_steps):
                if len(trainer.buffer) == 0:
                    break
    was, trainer.agent.records_policy = trainer.agent.records_policy, True
    try:
        with Watch(trainer, report, tolerance) as watch:
            Drill(watch, max_steps).run()
    finally:
        trainer.agent.records_policy = was


def _has_eval_envs(trainer: Any) -> bool:
    """Whether there are environments to evaluate in."""
    try:
        return trainer.eval_envs is not None
    except ValueError:  # no second one of the kind can be made
        return False
