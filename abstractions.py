"""The trunk: four classes, one generator, and what passes between them.

    Model      networks: observations in, raw outputs out
    Algorithm  mathematics: predict, learn, sync_target
    Agent      border: NumPy arrays <-> tensors on a device; explores or acts well
    Trainer    schedule: a generator that yields one LogData per step

They are composed from the inside out, `Agent(Algorithm(Model(...)))`, and the trainer
builds whatever its caller does not pass. Axes: `T` time, `N` environments, `B` batch.
"""

import copy
import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from gymnasium import Space
from gymnasium.vector import VectorEnv
from tensordict import TensorDict
from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl import envs as environments
from yieldrl.collectors import mean_episode
from yieldrl.core import (
    CheckpointError,
    Config,
    Counters,
    Loss,
    ObservationActionAdapter,
    Runtime,
    drawing_from,
    learning_rates,
    ranks,
    resolve_device,
    restore_generator,
    rng_state,
    seed_everything,
    set_rng_state,
)
from yieldrl.core.files import saved_count
from yieldrl.core.gradient_step import (
    accumulate_gradients,
    apply_gradients,
    diverged,
    trained_parameters,
)
from yieldrl.core.logs import LogData as LogData
from yieldrl.core.logs import Logs as Logs
from yieldrl.core.logs import LogType as LogType
from yieldrl.experiments import agreement, on_ray, parts, run_files
from yieldrl.experiments.checkpoint import load_trainer, save_trainer
from yieldrl.experiments.run import Run
from yieldrl.networks.train_mode import (
    depends_on_mode,
    in_float32,
    set_train_mode,
)


class Model(nn.Module):
    """The networks. Knows no loss, no optimizer and no environment.

    Args:
        observation_space: Space of one observation (not batched).
        action_space: Space of one action (not batched).
    """

    unit_box: ClassVar[bool] = False
    """Whether actions for a Box lie in [-1, 1], for the agent to stretch to its
    bounds; otherwise they are the environment's, and clipped."""

    needed_obs: tuple[str, ...] = ()
    """Entries of a Dict observation without which the agent cannot act; `()` are all.
    Others may be missing where nothing is learned."""

    exact_obs = False
    """Whether observations come in float64 where float32 does not hold what their space
    holds, for a model that normalizes them; otherwise they are rounded to float32."""

    def __init__(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__()
        self.observation_space = observation_space
        self.action_space = action_space

    def action(self, obs: Any) -> Any:
        """Raw output of the actor for observations `[B, ...]`.

        Of a stochastic policy what its distribution is made from: logits `[B, A]`, or
        a Gaussian's means `[B, D]`. Of DDPG, TD3 and SAC the deterministic action in
        [-1, 1], `[B, ...]`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no actor")

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """Raw output of the critic: `V(s)` `[B]`, `Q(s, .)` `[B, A]`, `Q(s, a)` `[B]`.

        Of `K` critics side by side each has its own: `[K, B]`, `[K, B, A]`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no critic")


class Policy(Model, ABC):
    """An actor-critic model: MLP, CNN, recurrent or vision-language-action alike.

    One without a critic says `has_critic = False`, leaves `get_value` out and returns
    None for values: learning then uses returns alone.
    """

    has_critic: ClassVar[bool] = True
    """Whether there are values of states."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.has_critic:
            cls.get_value = Model.value  # which says that there is no critic

    @abstractmethod
    def forward(
        self, obs: Any, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Act: `action [B, ...]`, its `log_prob [B]` and the state's `value [B]`."""

    @abstractmethod
    def evaluate_actions(
        self, obs: Any, action: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Evaluate given actions: `log_prob [B]`, `entropy [B]` and `value [B]`."""

    @abstractmethod
    def get_value(self, obs: Any) -> Tensor:
        """The state's `value [B]` alone."""

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Act while exploring: `action [B, ...]`, and what the buffer is to keep of it.

        This default keeps all that `forward` says, with `generator` as PyTorch's global
        one. Others may keep less, unless `record` asks for `log_prob` at once.
        """
        with drawing_from(generator):
            action, log_prob, value = self(obs)
        kept = {} if value is None else {"value": value}
        return action, {"log_prob": log_prob, **kept}

    def predict(self, obs: Any) -> Tensor:
        """Act as well as possible: the deterministic action `[B, ...]`."""
        return self(obs, deterministic=True)[0]

    def inputs(self, data: TensorDict) -> Any:
        """The policy's inputs for transitions `[...]`: observations, and memory."""
        return data["obs"]

    def next_inputs(self, data: TensorDict) -> Any:
        """The policy's inputs for the states after transitions `[B]`."""
        return data["next_obs"]

    def prepare_inputs(self, data: TensorDict) -> None:
        """Add what gradient steps on `data` would compute anew, unless it is there."""

    def update_normalization(self, data: TensorDict) -> None:
        """Fold the observations of `data` into running statistics, if there are any."""

    def metrics(self) -> Logs:
        """Metrics of the policy itself, 0-dim: a Gaussian's `policy_std`, say."""
        return {}


class Algorithm(ABC):
    """The mathematics. Sees tensors on its device, never NumPy or an environment.

    Attributes that have a `state_dict` are saved by their names: the model, a target
    copy, optimizers, whatever a subclass adds.

    Args:
        model: What learns; it moves to the config's device, in float32.
        config: Says the device, and how losses are executed.

    Attributes:
        counters: How far training has come; the agent counts in the same.
        runtime: Executes losses as the config says: compiled, in bfloat16, by engines.
    """

    config: Any
    model: Any
    optimizer: Optimizer

    def __init__(self, model: nn.Module, config: Any) -> None:
        self.config, self.device = config, resolve_device(config.device)
        self.model = in_float32(model.eval(), self.device)
        self.counters = Counters()
        self.runtime = Runtime(config, self.device)
        self._seed = ranks().derive_seed(config.seed, "learning")

    @abstractmethod
    def predict(self, obs: Any) -> Tensor:
        """The deterministic action `[B, ...]`, in the model's terms."""

    @abstractmethod
    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a batch `[B]`; metrics to log, detached and 0-dim.

        Results per sample, such as new priorities, are written into `data`, `[B]`.
        """

    def sync_target(self) -> None:  # noqa: B027 - most have none
        """Update the target copy towards the model; nothing without a target."""

    def minimize(
        self,
        loss: Loss,
        data: Any,
        optimizer: Optimizer | None = None,
        max_grad_norm: float | None = None,
        micro_batches: int | None = None,
    ) -> Logs:
        """One gradient step of a loss on a batch `[B]`; metrics to log.

        FloatingPointError if the loss is not finite.

        Args:
            loss: From the batch to the loss, 0-dim, and metrics, detached and 0-dim.
            data: The batch. Results per sample, such as priorities, the loss writes
                into it.
            optimizer: Says what is trained; by default `self.optimizer`.
            max_grad_norm: Gradients are scaled down to this norm; `inf` measures the
                norm only, None does neither.
            micro_batches: Number of parts that go through the loss one by one, which
                takes less memory; by default as many as the config says, if it does.
        """
        optimizer, engine = optimizer or self.optimizer, self.runtime.engine
        parts, runtime = micro_batches, self.runtime
        if parts is None:
            parts = getattr(self.config, "micro_batches", 1)
        options = optimizer, max_grad_norm, parts
        replay = runtime.recorded(self, loss, *options) if runtime.records else None
        if self.config.compile or self.config.precision != "float32":
            loss = runtime.executed(loss)
        if replay is not None:
            logs = replay(data)
        elif engine is not None:
            logs = engine.gradient_step(loss, data, *options)
        else:
            trained = trained_parameters(optimizer)
            try:
                if parts == 1:
                    total, logs = loss(data)
                    total.backward(inputs=trained)
                else:
                    logs = accumulate_gradients(loss, data, trained, parts)
                apply_gradients(optimizer, trained, logs, data, max_grad_norm)
            finally:  # the next step begins without gradients
                optimizer.zero_grad()
        # To read the loss is to wait for a GPU, which is done every 100 steps.
        is_read = self.device.type == "cpu" or self.counters.learn_step % 100 == 99
        is_read &= "loss" in logs and not runtime.recording
        if is_read and not math.isfinite(logs["loss"]):
            raise diverged(self.model, self.counters, float(logs["loss"]))
        return logs

    @contextmanager
    def learning(self) -> Iterator[None]:
        """A context for one `learn`: in train mode, counted, with numbers of its own.

        Whatever draws from PyTorch's global generator draws by a seed of the step.
        """
        now, switches = self.counters, depends_on_mode(self.model)
        now.policy_version += 1  # first: a step that fails may change weights
        noise = torch.Generator(self.device).manual_seed(self._seed + now.learn_step)
        if switches:
            set_train_mode(self.model)
        try:
            with drawing_from(noise):
                yield
            now.learn_step += 1
        finally:
            if switches:
                self.model.eval()

    def acting_copy(self) -> Self:
        """A copy that only acts: own model and counters; frozen weights are shared."""
        frozen = {id(p): p for p in self.model.parameters() if not p.requires_grad}
        acting = copy.copy(self)
        acting.model = copy.deepcopy(self.model, frozen).requires_grad_(False).eval()
        acting.counters = copy.copy(self.counters)
        return acting

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next gradient step; set it whenever you like.

        A rate that you set holds from the next step on, also where the config anneals
        it: until you set another. It is that of the first parameter group; groups with
        rates of their own keep their ratio to it.
        """
        return self.optimizer.param_groups[0]["lr"]

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        learning_rates.set_by_hand(self._param_groups(), self.learning_rate, value)

    def anneal(self, fraction_done: float) -> None:
        """Let the learning rate fall linearly over training, unless it was set."""
        learning_rates.anneal(self._param_groups(), fraction_done)

    def _param_groups(self) -> list[dict[str, Any]]:
        parts = vars(self).values()
        optimizers = [part for part in parts if isinstance(part, Optimizer)]
        return [group for one in optimizers for group in one.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Model, target, optimizer: everything that learning needs to go on."""
        parts = vars(self).items()
        return {k: v.state_dict() for k, v in parts if hasattr(v, "state_dict")}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a `state_dict`; CheckpointError if it has other parts."""
        saved_parts = {k: v for k, v in vars(self).items() if hasattr(v, "state_dict")}
        if saved_parts.keys() != state.keys():
            raise CheckpointError(
                f"{type(self).__qualname__} has the parts {sorted(saved_parts)}, the"
                f" checkpoint {sorted(state)}: load it with the class that saved it"
            )
        for name, part in saved_parts.items():
            part.load_state_dict(state[name])


class Agent(ABC):
    """The border between environments and mathematics; it counts `sample_step`s too.

    `sample` and `predict` take NumPy arrays or tensors, nested dicts of them too, with
    or without the batch axis, and return the same. Exploration draws from `generator`.

    Args:
        algorithm: The mathematics, with its model.
        config: Says the seed of exploration.

    Attributes:
        model: The networks inside the algorithm.
        border: From observations to tensors, and from actions back.
    """

    algorithm: Any

    has_memory: ClassVar[bool] = False
    """Whether actions depend on earlier observations of the episode: if True, call
    `begin_episode` whenever an episode starts."""

    records_log_prob = False
    """Whether `log_prob` and `policy_version` are stored with every action: where the
    weights may change before a rollout is learned from, as in the background."""

    def __init__(self, algorithm: Any, config: Any) -> None:
        self.algorithm, self.model, self.config = algorithm, algorithm.model, config
        self.counters, self.device = algorithm.counters, algorithm.device
        seed = ranks().derive_seed(config.seed, "exploration")
        self.generator = torch.Generator(self.device).manual_seed(seed)
        self._notes_version = hasattr(algorithm, "evaluated")  # of rollouts, later
        self.border = ObservationActionAdapter(
            self.model.observation_space,
            self.model.action_space,
            self.device,
            exact_obs=self.model.exact_obs,
            unit_box=self.model.unit_box,
            tokenizer=getattr(self.model, "tokenizer", None),
        )

    @property
    def sample_step(self) -> int:
        """Environment steps so far, over all environments."""
        return self.counters.sample_step

    @property
    def learn_step(self) -> int:
        """Gradient steps so far."""
        return self.counters.learn_step

    @property
    def policy_version(self) -> int:
        """It rises whenever the weights that act may have changed."""
        return self.counters.policy_version

    def count_steps(self, steps: int) -> None:
        """Count environment steps, times the number of ranks that train together."""
        self.counters.sample_step += steps * ranks().count

    def sample(self, obs: Any) -> tuple[Any, dict[str, Tensor]]:
        """Explore: an action that the environment accepts, and extras for the buffer:
        `log_prob`, say, or `action` as it was before it was clipped.
        """
        tensors, batched = self.border.to_tensors(obs, self.model.needed_obs)
        with torch.inference_mode():
            action, extras = self.explore(tensors)
            accepted = self.border.actions.to_env(action)
        if self._notes_version and self.counters.acted_version is None:
            self.counters.acted_version = self.counters.policy_version
        if self.records_log_prob:
            size, version = (len(action),), self.counters.policy_version
            extras["policy_version"] = torch.full(size, version, device=self.device)
        if accepted is not action:
            extras = {"action": action, **extras}
        return self.border.like_input(accepted, obs, batched), extras

    def predict(self, obs: Any) -> Any:
        """Act as well as possible: the deterministic action, as the environment's."""
        tensors, batched = self.border.to_tensors(obs, self.model.needed_obs)
        with torch.inference_mode():
            action = self.border.actions.to_env(self.exploit(tensors))
        return self.border.like_input(action, obs, batched)

    def begin_episode(  # noqa: B027 - most have no memory
        self, where: Any = None, *, exploring: bool = False
    ) -> None:
        """Forget episodes that ended: the next observations begin others.

        `where` says whose, a bool or bool `[N]`, by default all; `exploring` whether of
        `sample`, for `predict` has a memory of its own.
        """

    @abstractmethod
    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """From tensors: an exploring action `[B, ...]`, and extras; for `sample`."""

    def exploit(self, obs: Any) -> Tensor:
        """From tensors: the deterministic action `[B, ...]`; for `predict`."""
        return self.algorithm.predict(obs)

    def exploration(self) -> Logs:
        """Metrics of exploration, logged beside the episodes that ended."""
        return {}

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a batch `[B]`, moved to the device if need be."""
        batch = data if data.device == self.device else data.to(self.device)
        with self.algorithm.learning():
            logs = self.algorithm.learn(batch)
        if batch is not data:  # copy results per sample into the caller's batch
            data.update(batch.exclude(*data.keys()))
        return logs

    def actor(self) -> Self:
        """An agent that explores with a copy of the model, beside this one.

        It stores the log-probability of each action when it is taken.
        """
        actor = type(self)(self.algorithm.acting_copy(), self.config)
        actor.records_log_prob = True
        return actor

    def state_dict(self) -> dict[str, Any]:
        """Algorithm, counters and the exploration's generator."""
        return {
            "algorithm": self.algorithm.state_dict(),
            "generator": self.generator.get_state(),
            **dataclasses.asdict(self.counters),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; an actor's comes without an algorithm."""
        if "algorithm" in state:
            self.algorithm.load_state_dict(state["algorithm"])
        restore_generator(self.generator, state["generator"])
        self.counters.restore(state)


class Trainer(ABC):
    """The schedule of training: `for log in trainer(): ...` is its whole interface.

    `__call__` is a generator that keeps no state in its frame. Break out of the loop,
    look around, change a learning rate, loop again: training continues where it was.
    For a loop of your own: `rollout = trainer.collector.collect(num_steps)`, then
    `trainer.update(rollout)`, and `trainer.evaluate()` now and then.

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
        collector: Steps the environments, instead of the config's: one made of the
            parts that are passed with it, or a class of collectors.

    Attributes:
        agent: The agent; `algorithm` and `model` are those inside it.
        evaluator: Plays whole episodes in environments of its own.
        run: The run's folder, and what loggers save with the trainer.

    Raises:
        TypeError: If the config is that of another algorithm.
        ValueError: If more than one of `model`, `algorithm` and `agent` is passed.
    """

    config_class: ClassVar[type[Any]]
    model_class: ClassVar[Callable[..., Any]]
    algorithm_class: ClassVar[Callable[..., Any]]
    agent_class: ClassVar[Callable[..., Any]] = Agent

    _learns_in_step: ClassVar[bool] = False
    """Whether all processes that `torchrun` starts learn after equally many steps, so
    that they may train together."""

    _evaluated_by: ClassVar[str] = "sample_step"
    """The counter of the steps that `eval_every` counts."""

    config: Any
    agent: Any
    algorithm: Any
    model: Any
    buffer: Any

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
        config = parts.checked_config(type(self), config, collector)
        source = config.env_id if envs is None else envs
        if envs is not None:
            config = dataclasses.replace(config, env_id=environments.name_of(envs))
        self.config = config
        self.run = Run(run_files.algorithm_name(type(self).__module__), config)
        seed_everything(config.seed)
        self.envs = self._make_envs(source, config)
        self.config = dataclasses.replace(config, num_envs=self.envs.num_envs)
        try:
            parts.prepare_process(self)
            self.agent = parts.make_agent(self, model, algorithm, agent)
            self.algorithm, self.model = self.agent.algorithm, self.agent.model
            self._make_parts(buffer, collector)
            self.evaluator = parts.make_evaluator(self, source, eval_envs)
            self._evaluated_at = 0  # steps at the latest evaluation
            self.run.description = run_files.description(self)
        except BaseException:
            if envs is None:  # they are nobody else's
                self.envs.close()
            raise

    def _make_envs(self, source: Any, config: Any) -> Any:
        """The environments of training; of rollout workers only the spaces."""
        if getattr(config, "collection", "sync") == "ray":
            return on_ray.make_envs(type(self), source, config)
        device = str(resolve_device(config.device))
        return self.wrap_envs(environments.make(source, config, device=device), True)

    def _make_parts(self, buffer: Any, collector: Any) -> None:
        """Make buffer and collector, or use the given ones."""
        self.buffer = self.make_buffer() if buffer is None else buffer
        self.collector = parts.checked_collector(self, collector)

    def make_collector(self) -> Any:
        """The collector of the config: it steps environments and fills the buffer."""
        return parts.make_collector(self)

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Wrap environments as the algorithm needs them, in training or evaluation."""
        return envs

    @abstractmethod
    def make_buffer(self) -> Any:
        """The buffer that fits the config and the environments."""

    def __call__(self) -> Generator[LogData, None, None]:
        """Train, yielding one `LogData` per step."""
        # What comes next is read off the counters and the buffer, never off this
        # frame: break out of the loop anywhere, and a new loop goes on from there.
        keeps_gradients = torch.is_grad_enabled()
        try:
            while not self.training_done or self._evaluation_due:
                self.collector.check()
                if self.learning_due:
                    yield self._run_train()
                elif self._evaluation_due:
                    yield self._run_evaluate()
                else:
                    yield self._run_collect()
        except KeyboardInterrupt:  # on the way into `no_grad` or train mode, maybe
            torch.set_grad_enabled(keeps_gradients)
            self.model.eval()
            raise
        finally:
            self.collector.stop()

    @property
    @abstractmethod
    def learning_due(self) -> bool:
        """Whether what was collected so far calls for a gradient step."""

    @property
    def training_done(self) -> bool:
        """Whether nothing is left to collect or to learn from."""
        steps = self.agent.counters.sample_step
        return steps >= self.config.total_steps and not self.learning_due

    @property
    def _evaluation_due(self) -> bool:
        """Whether `eval_every` was crossed, or the end reached, since the last one."""
        every, last = self.config.eval_every, self._evaluated_at
        step = getattr(self.agent.counters, self._evaluated_by)
        if every == 0 or step == last:
            return False
        return step // every > last // every or self.training_done

    def _rows_ahead(self, rows: int) -> int:
        """Rows that a worker may collect by one policy, after `rows` that wait: as many
        as are taken before the next gradient step, 1 where that is unknown."""
        return 1

    @abstractmethod
    def _run_train(self) -> LogData:
        """Take one gradient step."""

    def _run_collect(self) -> LogData:
        """Step all environments up to `log_every` times, while nothing else is due."""
        logs = self.collector.step()
        if self.config.log_every > 1:
            logs = mean_episode([logs, *self._more_steps()])
        return self._log("collect", logs | self.agent.exploration() if logs else logs)

    def _more_steps(self) -> Iterator[Logs]:
        for _ in range(self.config.log_every - 1):
            if self.learning_due or self._evaluation_due or self.training_done:
                return
            self.collector.check()
            yield self.collector.step()

    def _run_evaluate(self) -> LogData:
        """Evaluate as the config says; of several processes only the first does."""
        first, nothing = ranks().first, self._log("evaluate", {})
        own = self.evaluate(self.config.eval_episodes) if first else nothing
        log = ranks().broadcast_object(own)
        self._evaluated_at = getattr(self.agent.counters, self._evaluated_by)
        return log

    def evaluate(self, episodes: int = 10, seed: int | None = None) -> LogData:
        """Play whole episodes with deterministic actions in separate environments.

        The logs are `episode_return` (mean), its `_std`, `_min`, `_max`,
        `episode_length` and `episodes`; the seed is `evaluator.seed` by default.
        """
        return self._log("evaluate", self.evaluator(self.agent, episodes, seed))

    def _log(self, kind: LogType, logs: Logs) -> LogData:
        now = self.agent.counters
        return {
            "log_type": kind,
            "sample_step": now.sample_step,
            "learn_step": now.learn_step,
            "logs": logs,
        }

    @abstractmethod
    def update(self, rollout: TensorDict) -> Logs:
        """Learn from a rollout `[T, N]` of `collector.collect`; means of the metrics.

        RuntimeError if the learning rate has been annealed to zero.
        """

    def state_dict(self) -> dict[str, Any]:
        """Everything that training needs to go on, as tensors and plain values."""
        self.collector.stop()  # so that all parts are consistent
        return {
            "agent": self.agent.state_dict(),
            "buffer": self.buffer.state_dict(),
            "collection": parts.collection_of(self),
            "collector": self.collector.state_dict(),
            "evaluated_at": self._evaluated_at,
            "rng": rng_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        CheckpointError if it is of another kind of collection, or if processes that
        train together load different ones.
        """
        parts.check_collection(self, state)
        agreement.agree_on_state(state)
        self.agent.load_state_dict(state["agent"])
        self.buffer.load_state_dict(state["buffer"])
        self.collector.load_state_dict(state["collector"] if ranks().first else {})
        self._evaluated_at = saved_count(state, "evaluated_at", -1)
        set_rng_state(state["rng"])
        agreement.seed_rank(self.config, self.agent)

    def save(self, path: str | Path) -> Path:
        """Write a checkpoint from which `load` goes on: atomically, all or nothing.

        WriteError if there is no room for it; what was at `path` stays.
        """
        return save_trainer(self, path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        saved_by: str | None = None,
        trust: bool = False,
        **parts: Any,
    ) -> Self:
        """The trainer that `save` wrote, ready to loop on.

        Environments whose state can be saved continue bitwise; others start new
        episodes. It goes on in the folder of its run: the one whose `checkpoints` hold
        the file, also if that was moved or copied, or the original one. If neither
        exists, or another run has taken its place, it gets a new folder.

        Args:
            path: The checkpoint.
            saved_by: Module and name of the class that saved it, if its parts fit.
            trust: Whether code that the checkpoint's config names may be imported and
                called, `env_id="my_module:MyEnv"` for example, if that is not passed.
            parts: What the saving trainer was given besides its config (`envs`,
                `model`, ...), or a `config` to use instead of the saved one.

        Raises:
            FileNotFoundError: If there is no such file.
            CheckpointError: If it is damaged or does not fit this trainer.
            UntrustedError: If its config names code of your own, without `trust`.
        """
        return load_trainer(cls, path, saved_by, trust, parts)

    def close(self) -> None:
        """Close the environments and free the run's folder. Safe to call twice."""
        self.collector.stop()
        self.run.close()
        self.envs.close()
        self.evaluator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
