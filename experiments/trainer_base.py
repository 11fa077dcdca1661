"""The base of trainers: it builds their parts."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from gymnasium.vector import VectorEnv

from yieldrl import envs as environments
from yieldrl.collectors import AsyncCollector, Buffer, Collector, SyncCollector
from yieldrl.experiments import agreement
from yieldrl.experiments.check_algorithm.report import warn_of_concerns
from yieldrl.experiments.on_ray import OnRay
from yieldrl.experiments.parts import make_agent
from yieldrl.foundations import (
    Config,
    keep_freed_memory,
    ranks,
    resolve_device,
    seed_everything,
    set_threads,
    spaces,
)


class TrainingRun(OnRay):
    """Builds what its caller does not pass; `abstractions.Trainer` adds the schedule.

    Args:
        config: The algorithm's config; its defaults if omitted.
        envs: Instead of `config.env_id`: a vector environment, an environment, an
            environment class, or a function that makes one.
        eval_envs: Environments for evaluation, likewise, or a dict of them by task. By
            default more of the kind of `envs`, where more can be made.
        model: Networks to train instead of those of `model_class`; or a class or
            function that makes them from observation space, action space and config.
        algorithm: The algorithm, with its model, to use instead of `algorithm_class`.
        agent: The agent to use instead of `agent_class`, with its algorithm.
        buffer: Storage for transitions, instead of that of `make_buffer`.
        collector: Steps the environments, instead of that of `make_collector`: one made
            of the parts that are passed with it, or a class of collectors.

    Attributes:
        threads: PyTorch's number of threads, the number of cores, and the reason.

    Raises:
        TypeError: If the config is that of another algorithm.
        ValueError: If more than one of `model`, `algorithm` and `agent` is passed.
    """

    parallel: ClassVar[bool] = False
    """Whether several processes, as `torchrun` starts them, may train together: they
    must learn after as many steps as each other."""

    model_class: ClassVar[Callable[..., Any]]
    algorithm_class: ClassVar[Callable[..., Any]]
    agent_class: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        config: Config | None = None,
        *,
        envs: Any = None,
        eval_envs: Any = None,
        model: Any = None,
        algorithm: Any = None,
        agent: Any = None,
        buffer: Any = None,
        collector: Any = None,
    ) -> None:
        config = self._checked(config, collector)
        source = config.env_id if envs is None else envs
        if envs is not None:
            config = dataclasses.replace(config, env_id=environments.name_of(envs))
        super().__init__(config)
        seed_everything(config.seed)
        device = str(resolve_device(config.device))
        self.envs = self._make_envs(source, config, device)
        self.config = dataclasses.replace(config, num_envs=self.envs.num_envs)
        try:
            self._make_parts(model, algorithm, agent, buffer, collector)
            self.evaluator = self._make_evaluator(
                source if eval_envs is None else eval_envs,
                self.config,
                str(self.agent.device),
                training=self.envs,
                as_it_is=eval_envs is not None,
                wrap=self.wrap_envs,
            )
        except BaseException:
            if self.is_on_ray(config):  # its workers would run on
                self.envs.close()
            raise

    def _make_parts(
        self, model: Any, algorithm: Any, agent: Any, buffer: Any, collector: Any
    ) -> None:
        """Make agent, learners, buffer and collector, or use the given ones."""
        images = spaces.has_images(self.envs.single_observation_space)
        set_threads(self.config.threads, images=images)
        keep_freed_memory()
        self.agent = make_agent(self, model=model, algorithm=algorithm, agent=agent)
        warn_of_concerns(self)
        agreement.join(self)
        self.learners = self._make_learners()
        self.buffer = self.make_buffer() if buffer is None else buffer
        self.collector = self._make_collector(collector)

    def wrap_envs(self, envs: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
        """Wrap environments for training and evaluation as the algorithm needs them."""
        return envs

    @property
    def default_model(self) -> Any:
        """The class that makes a model of spaces and config, where none is passed."""
        return self.model_class

    def wrap_training_envs(self, envs: VectorEnv) -> VectorEnv:
        """Further wrap environments for training, not for evaluation."""
        return envs

    @abstractmethod
    def make_buffer(self) -> Buffer:
        """The buffer that fits the config and the environments."""

    def make_collector(self) -> Collector:
        """Create the collector, which steps the environments and fills the buffer."""
        if self.is_on_ray(self.config):
            return self._remote_collector()
        sync = self.config.collection == "sync"
        return self._collector_of(SyncCollector if sync else AsyncCollector)

    def _collector_of(self, kind: type[Any], **options: Any) -> Collector:
        names = ["report_every"] if kind is SyncCollector else []
        if issubclass(kind, AsyncCollector):
            names = ["report_every", "max_policy_lag", "when_stale"]
        options |= {name: getattr(self.config, name) for name in names}
        options["seed"] = ranks().derive_seed(self.config.seed, "envs")
        return kind(self.envs, self.agent, self.buffer, **options)

    def _make_envs(self, source: Any, config: Config, device: str) -> Any:
        """The environments of training; of rollout workers only the spaces."""
        if self.is_on_ray(config):
            return self._remote_envs(source, config)
        made = environments.make(source, config, device=device)
        return self.wrap_training_envs(self.wrap_envs(made))

    @property
    def transition_parts(self) -> dict[str, Any]:
        """Arguments of every buffer that describe its transitions."""
        return {
            "observation_space": self.envs.single_observation_space,
            "action_space": self.envs.single_action_space,
            "num_envs": self.envs.num_envs,
            "device": self.agent.device,
        }

    @property
    def collecting_done(self) -> bool:
        """Whether all environment steps of the config were taken."""
        return self.agent.counters.sample_step >= self.config.total_steps

    def _checked(self, config: Any, collector: Any) -> Config:
        """The config, which must be the algorithm's, and agree with the collector."""
        config = self.config_class() if config is None else config
        if not isinstance(config, self.config_class):
            wanted = self.config_class.__module__
            raise TypeError(f"{self.name} takes a {wanted}.Config, got {type(config)}")
        kind = collector if isinstance(collector, type) else type(collector)
        if not issubclass(kind, AsyncCollector):
            return config
        if "collection" not in {entry.name for entry in dataclasses.fields(config)}:
            raise ValueError(
                f"{self.name} does not learn while its policy acts: it cannot be"
                " collected in the background, use a SyncCollector"
            )
        return dataclasses.replace(config, collection="async")

    def _make_collector(self, given: Any) -> Collector:
        if given is None:
            return self.make_collector()
        if isinstance(given, type):
            return self._collector_of(given)
        for name in ("agent", "buffer"):  # else training would not end
            own = getattr(self, name)
            if getattr(given, name, own) is not own:
                raise ValueError(
                    f"the collector was made of another {name} than the trainer's:"
                    " pass its envs, agent and buffer with it, or pass its class"
                )
        return given
