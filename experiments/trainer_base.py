"""The base of trainers: builds the parts, and says what a checkpoint holds."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from gymnasium.vector import VectorEnv
from torch import nn

from yieldrl import envs as environments
from yieldrl.collectors import (
    AsyncCollector,
    Buffer,
    Collector,
    Evaluator,
    SyncCollector,
)
from yieldrl.experiments import run_files
from yieldrl.experiments.agreement import agree_on_start, agree_on_state
from yieldrl.experiments.check_algorithm.report import warn_of_concerns
from yieldrl.experiments.copies import Copies
from yieldrl.experiments.run import Run
from yieldrl.foundations import (
    CheckpointError,
    Config,
    keep_freed_memory,
    ranks,
    resolve_device,
    rng_state,
    seed_everything,
    set_rng_state,
    set_threads,
    spaces,
)
from yieldrl.foundations.foreign_names import arguments_here


class TrainingRun(Copies, Run):
    """Builds what its caller does not pass, and knows what belongs to a checkpoint.

    The schedule is the business of `yieldrl.abstractions.Trainer`, which adds it.

    Args:
        config: The algorithm's config; its defaults if omitted.
        envs: Instead of `config.env_id`: a vector environment, an environment, an
            environment class, or a function that makes one.
        eval_envs: Environments for evaluation, likewise. By default more of the kind of
            `envs`, where more can be made.
        model: Networks to train instead of those of `model_class`; or a class or
            function that makes them from observation space, action space and config.
        algorithm: The algorithm to use instead of `algorithm_class`, with its model.
        agent: The agent to use instead of `agent_class`, with its algorithm.
        buffer: Storage for transitions, instead of that of `make_buffer`.
        collector: Steps the environments, instead of that of `make_collector`: one made
            of the parts that are passed with it, or a class of collectors.

    Attributes:
        threads: How many threads PyTorch has, of how many cores, and why.

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

    @arguments_here(
        "ppo.Trainer(ppo.Config(num_steps=2048), envs=..., model=...)",
        env="they are envs= here",
        policy="the networks are model= here",
        buffer_size="Config(num_steps=...) says it, or of a replay buffer"
        " Config(buffer_size=...)",
        buffer_type="Config(collection='async') collects in the background",
        batch_size="it is a field of the config",
        device="Config(device=...) says it",
    )
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
        config = self._checked(config)
        kind = collector if isinstance(collector, type) else type(collector)
        if issubclass(kind, AsyncCollector):
            config = self._in_background(config)
        source = config.env_id if envs is None else envs
        if envs is not None:
            config = dataclasses.replace(config, env_id=environments.name_of(envs))
        super().__init__(config)
        self._described = False  # whether the run's folder says what it is
        seed_everything(config.seed)
        device = str(resolve_device(config.device))
        self.envs = self._make_envs(source, config, device)
        self.config = dataclasses.replace(config, num_envs=self.envs.num_envs)
        images = spaces.has_images(self.envs.single_observation_space)
        self.threads = set_threads(config.threads, images=images)
        keep_freed_memory()
        self.agent = self._make_agent(model, algorithm, agent)
        warn_of_concerns(self)
        self._init_distributed()
        self.buffer = self.make_buffer() if buffer is None else buffer
        self.collector = self._make_collector(collector)
        self.evaluator = Evaluator(
            source if eval_envs is None else eval_envs,
            self.config,
            str(self.agent.device),
            as_it_is=eval_envs is not None,
            wrap=self.wrap_envs,
        )

    def claim(self) -> Path:
        """Become the only one that writes into `run_dir`, which says what the run is.

        `config.yaml` and `run.json` are written where nobody has written them yet.
        """
        folder = super().claim()
        if not self._described and not (folder / run_files.CONFIG).is_file():
            self._described = True  # for it claims the folder too
            try:
                run_files.describe(self)
            except OSError:
                self._described = False
                raise
        return folder

    def wrap_envs(self, envs: VectorEnv[Any, Any, Any]) -> VectorEnv[Any, Any, Any]:
        """Wrap environments for training and evaluation as the algorithm needs them."""
        return envs

    @abstractmethod
    def make_buffer(self) -> Buffer:
        """The buffer that fits the config and the environments."""

    @abstractmethod
    def make_collector(self) -> Collector:
        """Create the collector, which steps the environments and fills the buffer."""

    @property
    def transition_parts(self) -> dict[str, Any]:
        """What every buffer must know of the transitions that it stores."""
        return {
            "observation_space": self.envs.single_observation_space,
            "action_space": self.envs.single_action_space,
            "num_envs": self.envs.num_envs,
            "device": self.agent.device,
        }

    @property
    def algorithm(self) -> Any:
        """The algorithm inside the agent."""
        return self.agent.algorithm

    @property
    def model(self) -> Any:
        """The networks inside the algorithm."""
        return self.agent.model

    @property
    def collecting_done(self) -> bool:
        """Whether all environment steps of the config were taken."""
        return self.agent.counters.sample_step >= self.config.total_steps

    @property
    def eval_envs(self) -> VectorEnv[Any, Any, Any]:
        """The evaluation environments, made when they are first needed."""
        return self.evaluator.envs

    def state_dict(self) -> dict[str, Any]:
        """Everything that training needs to go on, as tensors and plain values."""
        self.collector.stop()  # the parts must agree
        return {
            "agent": self.agent.state_dict(),
            "buffer": self.buffer.state_dict(),
            "collection": self._collection,
            "collector": self.collector.state_dict(),
            "evaluated_at": self.evaluator.evaluated_at,
            "rng": rng_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            CheckpointError: If it was taken of the other kind of collection, or if
                processes that train together load different ones.
        """
        saved, own = state.get("collection", "sync"), self._collection
        if saved != own:
            raise CheckpointError(
                f"the checkpoint was saved with collection = {saved!r}, this trainer"
                f" has {own!r}: load it with {saved!r}, or train again with {own!r}"
            )
        agree_on_state(state)
        self.agent.load_state_dict(state["agent"])
        self.buffer.load_state_dict(state["buffer"])
        self.collector.load_state_dict(state["collector"] if ranks().first else {})
        self.evaluator.evaluated_at = state["evaluated_at"]
        set_rng_state(state["rng"])
        self._seed_rank()

    def close(self) -> None:
        """Close the environments and free the run's folder. Safe to call twice."""
        self.collector.stop()
        super().close()
        self.envs.close()
        self.evaluator.close()

    @property
    def _collection(self) -> str:
        if isinstance(self.collector, AsyncCollector):
            return "async"
        return "sync" if isinstance(self.collector, SyncCollector) else "ray"

    def _make_envs(self, source: Any, config: Config, device: str) -> Any:
        """The environments of training; of rollout workers only the spaces."""
        if getattr(config, "collection", "sync") != "ray":
            return self.wrap_envs(environments.make(source, config, device=device))
        from yieldrl.distributed import WorkerPool

        return WorkerPool(source, config, type(self)).envs

    def _init_distributed(self) -> None:
        """Start with the first process's weights, and random numbers of its own.

        Raises:
            ValueError: If there are others and this trainer cannot learn with them, or
                if they are not made alike.
        """
        if ranks().count == 1:
            return
        background = getattr(self.config, "collection", "sync") == "async"
        if not self.parallel or background:
            said = "collection='async'" if background else self.name
            raise ValueError(
                f"{said} cannot be trained by {ranks().count} processes together, which"
                " must take as many steps between updates: start one, without torchrun,"
                " or take an algorithm of rollouts, such as ppo, with collection='sync'"
            )
        agree_on_start(self)
        ranks().broadcast_module(self.model)
        self._seed_rank()

    def _seed_rank(self) -> None:
        """Give this process random numbers of its own, unless it is the first."""
        if not ranks().first:
            now = f"global, from step {self.agent.sample_step}"
            seed_everything(ranks().derive_seed(self.config.seed, now))
            now = f"exploration, from step {self.agent.sample_step}"
            seed = ranks().derive_seed(self.config.seed, now)
            self.agent.generator.manual_seed(seed)

    def _checked(self, config: Config | None) -> Config:
        if config is None:
            return self.config_class()
        if isinstance(config, self.config_class):
            return config
        wanted = self.config_class.__module__
        raise TypeError(f"{self.name} takes a {wanted}.Config, got {type(config)}")

    def _make_collector(self, given: Any) -> Collector:
        if given is None:
            return self.make_collector()
        if not isinstance(given, type):
            self._check_parts_of(given)
            return given
        config = self.config
        options: dict[str, Any] = {"seed": ranks().derive_seed(config.seed, "envs")}
        if issubclass(given, AsyncCollector):
            options["max_policy_lag"] = config.max_policy_lag
            options["when_stale"] = config.when_stale
        return given(self.envs, self.agent, self.buffer, **options)

    def _in_background(self, config: Config) -> Config:
        """The config of a run whose collector steps in the background."""
        if "collection" not in {entry.name for entry in dataclasses.fields(config)}:
            raise ValueError(
                f"{self.name} does not learn while its policy acts: it cannot be"
                " collected in the background, use a SyncCollector"
            )
        return dataclasses.replace(config, collection="async")

    def _check_parts_of(self, collector: Any) -> None:
        """Refuse a collector that steps for other parts, which would never end."""
        for name in ("agent", "buffer"):
            own = getattr(self, name)
            if getattr(collector, name, own) is not own:
                raise ValueError(
                    f"the collector was made of another {name} than the trainer's:"
                    " pass its envs, agent and buffer with it, or pass its class"
                )

    def _make_agent(self, model: Any, algorithm: Any, agent: Any) -> Any:
        parts = {"model": model, "algorithm": algorithm, "agent": agent}
        given = [name for name, part in parts.items() if part is not None]
        if len(given) > 1:
            raise ValueError(
                f"got {given}: pass the outermost alone, it holds the rest"
            )
        if agent is not None:
            return agent
        if algorithm is None:
            model = self.model_class if model is None else model
            if not isinstance(model, nn.Module):
                model = model(
                    self.envs.single_observation_space,
                    self.envs.single_action_space,
                    self.config,
                )
            algorithm = self.algorithm_class(model, self.config)
        return self.agent_class(algorithm, self.config)
