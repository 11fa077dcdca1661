"""Check that an algorithm keeps acting and learning apart."""

import copy
import warnings
from contextlib import closing
from typing import Any

from yieldrl.experiments.contract.watch import CHECKS, Report, Watch
from yieldrl.experiments.parts import concerns

__all__ = ["CHECKS", "ContractError", "check_algorithm"]


class ContractError(ValueError):
    """An algorithm breaks the contract between acting and learning.

    Attributes:
        failures: Name of each check that failed -> the problem, and what to do.
    """

    def __init__(self, name: str, failures: dict[str, str]) -> None:
        self.failures = failures
        lines = [f"- {check}: {text}" for check, text in failures.items()]
        title = f"{name} breaks the contract between acting and learning"
        super().__init__("\n".join([title, *lines]))


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
    report, agent = Report(), trainer.agent
    for concern in concerns(agent.algorithm):
        warnings.warn(f"{trainer.run.name}: {concern}", UserWarning, stacklevel=2)
    before = copy.deepcopy(trainer.state_dict())
    try:
        with Watch(trainer, report, tolerance) as watch:
            first = watch.train(max_steps)
            watch.check_predict()
            watch.check_evaluate()
            trainer.algorithm.sync_target()
            first.check_actor("after more was learned")
        watch.check_what_moved()
        first.check_state()
        if hasattr(trainer.model, "evaluate_actions") and not watch.recorded:
            # Once more, with log-probabilities recorded when acting.
            trainer.load_state_dict(copy.deepcopy(before))
            _finish_rollout(trainer, max_steps)
            agent.records_log_prob = True
            try:
                with Watch(trainer, report, tolerance) as watch:
                    watch.train(max_steps)
            finally:
                agent.records_log_prob = False
    finally:
        trainer.load_state_dict(before)
    if report.failures:
        raise ContractError(trainer.run.name, report.failures)
    return report.looks


def _finish_rollout(trainer: Any, max_steps: int) -> None:
    """Learn from a rollout that was begun, whose actions have no record."""
    with closing(trainer()) as logs:
        for _ in range(max_steps):
            if len(trainer.buffer) == 0:
                return
            next(logs)
