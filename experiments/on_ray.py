"""A trainer's parts on Ray: environments, buffer, evaluation, learners."""

from typing import Any

from yieldrl.collectors import Evaluator
from yieldrl.experiments.trainer_state import TrainerState
from yieldrl.foundations import Config


class OnRay(TrainerState):
    """Makes the parts on Ray; their package is imported when a config needs it."""

    parallel: Any
    _collector_of: Any

    @staticmethod
    def is_on_ray(config: Any) -> bool:
        """Whether a config collects on Ray."""
        return getattr(config, "collection", "sync") == "ray"

    def rows_ahead(self, rows: int) -> int:
        """Rows that a worker may collect by one policy, after `rows` that wait.

        As many as are taken before the next gradient step; 1 where that is unknown.
        """
        return 1

    @staticmethod
    def is_death_of_learner(error: BaseException) -> bool:
        """Whether training may go on from a checkpoint, with new learners."""
        from yieldrl.distributed import DeadLearnerError

        return isinstance(error, DeadLearnerError)

    def _remote_collector(self) -> Any:
        """The collector that hands over the steps of rollout workers."""
        from yieldrl.distributed import RayCollector

        names = "max_policy_lag", "when_stale"
        options = {name: getattr(self.config, name) for name in names}
        options["in_actor"] = self.parallel and self.config.replay_actor
        return self._collector_of(RayCollector, rows_ahead=self.rows_ahead, **options)

    def _remote_envs(self, source: Any, config: Config) -> Any:
        """The spaces of environments that rollout workers step."""
        from yieldrl.distributed import WorkerPool

        if config.learners:  # raise errors before processes start
            self._check_learners(config)
        return WorkerPool(source, config, type(self)).envs

    def _check_learners(self, config: Config) -> None:
        """Refuse a config whose learners could not learn as this trainer does.

        ValueError if it does not learn from rollouts, or these cannot be split.
        """
        if not self.parallel:
            said = f"{self.name} does not learn from whole rollouts: choose 0"
            raise config.error("learners", said)
        if config.num_envs % config.learners:
            raise config.error(
                "learners",
                f"they cannot share num_envs = {config.num_envs} equally: choose a"
                f" multiple of {config.learners} environments",
            )

    def _make_learners(self) -> Any:
        """Other processes that learn in place of this one; None without them."""
        if not getattr(self.config, "learners", 0):
            return None
        from yieldrl.distributed import Learners

        return Learners(self.envs.pool.cluster, self.algorithm, self.config)

    def _make_evaluator(self, *args: Any, **options: Any) -> Evaluator:
        """The evaluator: in this process, or in actors on Ray."""
        if not getattr(self.config, "eval_actors", 0):
            return Evaluator(*args, **options)
        from yieldrl.distributed import RemoteEvaluator

        own = {"pool": self.envs.pool, "trainer_class": type(self)}
        return RemoteEvaluator(*args, **own, **options)

    def _make_imagination(self, *, ahead: int = 0) -> Any:
        """Actors that imagine in place of this process; None without them."""
        if not getattr(self.config, "imagination_actors", 0):
            return None
        from yieldrl.distributed import ImaginationPool

        parts = self.envs.pool.cluster, self.algorithm, self.config
        return ImaginationPool(*parts, ahead=ahead)

    def _in_actor(self, buffer_class: Any, *args: Any, **options: Any) -> Any:
        """A replay buffer in an actor on Ray."""
        from yieldrl.distributed import RemoteReplay

        return RemoteReplay(self.envs.pool.cluster, buffer_class, *args, **options)
