"""Check that an algorithm keeps acting and learning apart."""

import copy
import itertools
from collections.abc import Callable
from contextlib import closing
from typing import Any

from yieldrl.experiments.check_algorithm import probes
from yieldrl.experiments.check_algorithm.instrument import Instrument
from yieldrl.experiments.check_algorithm.report import (
    CHECKS,
    ContractError,
    Report,
    warn_of_concerns,
)
from yieldrl.foundations.text import listed

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
    _ = probes.has_eval_envs(trainer)  # made before methods are wrapped
    before = copy.deepcopy(trainer.state_dict())
    try:
        recorded = _train_and_check(trainer, report, max_steps, tolerance)
        if hasattr(trainer.model, "evaluate_actions") and not recorded:
            trainer.load_state_dict(copy.deepcopy(before))
            _train_recording(trainer, report, max_steps, tolerance)
    finally:
        trainer.load_state_dict(before)
    if report.found:
        raise ContractError(trainer.name, report.found)
    return report.looks


def _train_and_check(
    trainer: Any, report: Report, max_steps: int, tolerance: float
) -> bool:
    """Run all checks; whether log-probabilities were recorded when acting."""
    instrument = Instrument(trainer, report, tolerance)
    taken: list[probes.Snapshot] = []
    with instrument:
        _train(instrument, max_steps, lambda: taken.append(probes.Snapshot(instrument)))
        probes.predict_twice(instrument)
        if probes.has_eval_envs(trainer):
            probes.evaluate(instrument)
        trainer.algorithm.sync_target()
        taken[0].try_copy()
    instrument.changes.target()
    report.expect(
        "learning_moves_parameters",
        instrument.moved or instrument.zero_loss,
        f"{instrument.counts['learn']} calls of algorithm.learn changed nothing: give"
        " the optimizer the parameters that the loss depends on, and let it step",
    )
    taken[0].try_state()
    return instrument.stored.recorded


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
        with Instrument(trainer, report, tolerance) as instrument:
            _train(instrument, max_steps)
    finally:
        agent.records_log_prob = was


def _train(
    instrument: Instrument, max_steps: int, at_first: Callable[[], None] | None = None
) -> None:
    """Take steps until the trainer has learned from some rollouts, and acted again;
    ValueError if it has not after `max_steps`. `at_first` is called after the first."""
    trainer, calls = instrument.trainer, instrument.counts
    taken, rounds, kind, now = 0, 0, "", _counters(instrument)
    lag = getattr(trainer.config, "max_policy_lag", 0)
    with closing(trainer()) as logs:
        for log in itertools.islice(logs, max_steps):
            before, now = now, _counters(instrument)
            _check_step(instrument, log, stepped=now["envs"] != before["envs"])
            _check_counters(instrument, log, before, now)
            if taken == 0 and at_first is not None:
                at_first()
            taken += 1
            rounds += log["log_type"] == "train" and kind != "train"
            kind = log["log_type"]
            # Until learned weights have acted, also if another thread acts.
            due = 2 if calls["acted"] else 3 + lag
            if rounds >= due and calls["learn"] > 1 and kind != "train":
                break
    if calls["learn"] == 0:
        raise ValueError(
            f"{trainer.name} took {taken} steps and did not learn: check a trainer"
            " that has steps left (total_steps) and learns early (learning_starts,"
            " num_steps, num_episodes)"
        )


def _check_step(instrument: Instrument, log: Any, *, stepped: bool) -> None:
    changes, report = instrument.changes, instrument.report
    learned, by = log["log_type"] == "train", f"a {log['log_type']} step"
    changes.record(by)
    if learned:
        changes.version()
    else:
        changes.unchanged_version(by)
    report.expect_metrics(log["logs"], by, finite=False)
    parts = instrument.trainer.model.named_modules()
    training = [name or "model" for name, part in parts if part.training]
    report.expect(
        "learning_in_train_mode",
        not training,
        f"{listed(training)} stayed in train mode after {by}: learn through"
        " agent.learn, which goes back to eval mode",
    )
    report.expect(
        "learning_steps_no_environment",
        not (learned and stepped),
        f"{by} called envs.step() or reset(): collect in _run_collect",
    )


def _check_counters(instrument: Instrument, log: Any, before: Any, now: Any) -> None:
    kind = log["log_type"]
    sampled = instrument.trainer.envs.num_envs if kind == "collect" else 0
    learned = now["learn"] - before["learn"]
    for name, due in zip(STEPS, (sampled, learned), strict=True):
        instrument.report.expect(
            "counters",
            now[name] - before[name] == due and log[name] == now[name],
            f"{name} went from {before[name]} to {now[name]} in a {kind} step in"
            f" which {due} were taken, and the log says {log[name]}: count every"
            " step once, and log the agent's counters",
        )


def _counters(instrument: Instrument) -> dict[str, int]:
    agent, calls = instrument.agent, instrument.counts
    found = {"learn": calls["learn"], "envs": calls["step"] + calls["reset"]}
    return found | {name: getattr(agent, name) for name in STEPS}
