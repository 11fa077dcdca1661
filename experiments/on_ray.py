"""A trainer's parts on Ray; their package is imported when a config needs it."""

from collections.abc import Mapping
from typing import Any

from yieldrl.core import Config, ranks
from yieldrl.experiments.run_files import algorithm_name


def is_death_of_learner(error: BaseException) -> bool:
    """Whether training may go on from a checkpoint, with new learners."""
    from yieldrl.distributed import DeadLearnerError

    return isinstance(error, DeadLearnerError)


def make_envs(trainer_class: Any, source: Any, config: Config) -> Any:
    """The spaces of environments that rollout workers step.

    ValueError if the config has learners, and these could not learn as the trainer
    does: it does not learn from rollouts, or they cannot be split.
    """
    from yieldrl.distributed import WorkerPool

    if config.learners and not trainer_class._learns_in_step:
        name = algorithm_name(trainer_class.__module__)
        problem = f"{name} does not learn from whole rollouts"
        raise config.error("learners", f"{problem}: choose 0")
    if not config.wait_for_all:
        _check_first_segments(trainer_class, config)
    home = {
        name: next(c for c in trainer_class.__mro__ if name in vars(c))
        for name in ("_run_train", "_learns_in_step")
    }
    if config.learners and home["_run_train"] is not home["_learns_in_step"]:
        reason = f"they would not call _run_train of {home['_run_train'].__module__}"
        raise config.error("learners", f"{reason}: choose 0")
    if config.learners and config.num_envs % config.learners:
        raise config.error(
            "learners",
            f"they cannot share num_envs = {config.num_envs} equally: choose a"
            f" multiple of {config.learners} environments",
        )
    return WorkerPool(source, config, trainer_class).envs


def _check_first_segments(trainer_class: Any, config: Config) -> None:
    """ValueError if a trainer cannot learn from the workers that are first."""
    reason = ""
    if not trainer_class._learns_in_step or hasattr(config, "group_size"):
        name = algorithm_name(trainer_class.__module__)
        reason = f"{name} needs the steps of all environments, in their places"
    elif config.max_policy_lag == 0:
        reason = "with max_policy_lag = 0 all workers act by the newest policy"
    elif config.when_stale == "drop" or config.replay_actor:
        reason = "it goes with when_stale='wait', and without replay_actor"
    if reason:
        raise config.error("wait_for_all", f"{reason}: leave it out")


def make_collector(trainer: Any) -> Any:
    """The collector that hands over the steps of rollout workers."""
    from yieldrl.distributed import RayCollector

    config = trainer.config
    return RayCollector(
        trainer.envs,
        trainer.agent,
        trainer.buffer,
        seed=ranks().derive_seed(config.seed, "envs"),
        max_policy_lag=config.max_policy_lag,
        when_stale=config.when_stale,
        rows_ahead=trainer._rows_ahead,
        in_actor=trainer._learns_in_step and config.replay_actor,
        wait_for_all=config.wait_for_all,
        tickets=_tickets(trainer),
    )


def make_learners(trainer: Any) -> Any:
    """Other processes that learn in place of this one; None without them."""
    if not getattr(trainer.config, "learners", 0):
        return None
    from yieldrl.distributed import Learners

    return Learners(trainer.envs.pool.cluster, trainer.algorithm, trainer.config)


def with_obs(trainer: Any, rows: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rows `[T, N]` as another trainer stores them, with observations."""
    tickets = _tickets(trainer)
    return rows if tickets is None else tickets.fetched(rows)


def with_tickets(trainer: Any, rows: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rows `[T, N]` as a trainer's buffer stores them: without the observations that
    its learners take."""
    tickets = _tickets(trainer)
    return rows if tickets is None else tickets.given(rows)


def _tickets(trainer: Any) -> Any:
    """What lets learners take observations; None without learners, and where the
    trainer's buffer has a place for observations."""
    learners = getattr(trainer, "_learners", None)
    if learners is None or "obs" in set(trainer.buffer.rollout().keys()):
        return None
    return learners.tickets


def make_imagination(trainer: Any, *, ahead: int = 0) -> Any:
    """Actors that imagine in place of this process; None without them."""
    if not getattr(trainer.config, "imagination_actors", 0):
        return None
    from yieldrl.distributed import ImaginationPool

    parts = trainer.envs.pool.cluster, trainer.algorithm, trainer.config
    return ImaginationPool(*parts, ahead=ahead)


def make_replay(trainer: Any, buffer_class: Any, *args: Any, **options: Any) -> Any:
    """A replay buffer in an actor."""
    from yieldrl.distributed import RemoteReplay

    return RemoteReplay(trainer.envs.pool.cluster, buffer_class, *args, **options)
