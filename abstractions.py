"""The contract: four classes, one generator, and what passes between them.

    Model      networks: observations in, raw outputs out
    Algorithm  mathematics: predict, learn, sync_target
    Agent      border: NumPy arrays <-> tensors on a device; explores or acts well
    Trainer    schedule: a generator that yields one LogData per step

They are composed from the inside out, `Agent(Algorithm(Model(...)))`, and the trainer
builds whatever its caller does not pass. Axes: `T` time, `N` environments, `B` batch.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from typing import Any, ClassVar, Literal, TypedDict

import gymnasium
import torch
from tensordict import TensorDict
from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl import envs as environments
from yieldrl.collectors import SyncCollector, evaluate
from yieldrl.experiments import CheckpointError, Run
from yieldrl.foundations import (
    Config,
    derive_seed,
    resolve_device,
    restore_generator,
    rng_state,
    seed_everything,
    set_rng_state,
    set_threads,
    spaces,
)

Logs = dict[str, Any]
"""Metric name -> a number, or a detached 0-dim tensor that is read when written."""


class LogData(TypedDict):
    """What every step of a trainer yields."""

    log_type: Literal["collect", "train", "evaluate"]
    """Which kind of step this was."""

    sample_step: int
    """Environment steps so far, over all environments."""

    learn_step: int
    """Gradient steps so far."""

    logs: Logs
    """Metric name -> number; `episode_return` and `episode_length` among them."""


class Model(nn.Module):
    """The networks. Knows no loss, no optimizer and no environment.

    Args:
        observation_space: Space of one observation (not batched).
        action_space: Space of one action (not batched).
    """

    unit_box: ClassVar[bool] = False
    """Whether actions for a Box lie in [-1, 1], for the agent to stretch to its
    bounds; otherwise they are the environment's, and clipped."""

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
    ) -> None:
        super().__init__()
        self.observation_space = observation_space
        self.action_space = action_space

    def action(self, obs: Any) -> Any:
        """Raw output of the actor, for example logits `[B, A]`."""
        raise NotImplementedError(f"{type(self).__name__} has no actor")

    def value(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """Raw output of the critic: `V(s)` `[B]`, `Q(s, .)` `[B, A]`, `Q(s, a)`."""
        raise NotImplementedError(f"{type(self).__name__} has no critic")


class Policy(Model):
    """An actor-critic model: MLP, CNN, recurrent or vision-language-action alike.

    Three methods are all that an actor-critic algorithm asks for. `sample` may be
    overridden by policies that are cheap to evaluate again: they act with the actor
    alone and leave the rest to one batch over the whole rollout.
    """

    @abstractmethod
    def forward(
        self, obs: Any, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Act: `action [B, ...]`, its `log_prob [B]` and the state's `value [B]`."""

    @abstractmethod
    def evaluate_actions(
        self, obs: Any, action: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluate given actions: `log_prob [B]`, `entropy [B]` and `value [B]`."""

    @abstractmethod
    def get_value(self, obs: Any) -> Tensor:
        """The state's `value [B]` alone."""

    def sample(
        self, obs: Any, generator: torch.Generator
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Act while exploring: `action [B, ...]` and what the buffer must remember.

        This default keeps what acting computed, which is right for slow policies; it
        draws from PyTorch's global generator.
        """
        action, log_prob, value = self(obs)
        return action, {"log_prob": log_prob, "value": value}

    def update_normalization(self, rollout: TensorDict) -> None:
        """Fold a rollout `[T, N]` into running statistics, if the model keeps any."""


class Algorithm(ABC):
    """The mathematics. Sees tensors on its device, never NumPy or an environment.

    Attributes that have a `state_dict` (model, target copy, optimizer, schedules) are
    saved and restored by name, so a new one needs no new line here.

    Args:
        model: The networks to train; they are moved to the config's device.
        config: The algorithm's config.
    """

    optimizer: Optimizer

    def __init__(self, model: Model, config: Config) -> None:
        self.config = config
        self.device = resolve_device(config.device)
        self.model = model.to(self.device).eval()

    @abstractmethod
    def predict(self, obs: Any) -> Tensor:
        """The deterministic action `[B, ...]` for observations `[B, ...]`."""

    @abstractmethod
    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a batch `[B]`; detached 0-dim tensors to log."""

    @property
    def learning_rate(self) -> float:
        """Step size from which annealing starts; set it whenever you like."""
        group = self.optimizer.param_groups[0]
        return group.get("initial_lr", group["lr"])

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        for group in self._param_groups():
            group["lr"] = group["initial_lr"] = value

    def anneal(self, fraction_done: float) -> None:
        """Let the step size fall linearly over training."""
        for group in self._param_groups():
            start = group.setdefault("initial_lr", group["lr"])
            group["lr"] = start * max(0.0, 1.0 - fraction_done)

    def sync_target(self) -> None:  # noqa: B027 - many algorithms have no target
        """Bring the target copy up to the model; nothing without a target."""

    def state_dict(self) -> dict[str, Any]:
        """Model, target, optimizer: everything that learning needs to go on."""
        return {name: part.state_dict() for name, part in self._stateful()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        parts = dict(self._stateful())
        if parts.keys() != state.keys():
            raise CheckpointError(
                f"{type(self).__qualname__} has the parts {sorted(parts)}, the"
                f" checkpoint {sorted(state)}: load it with the class that saved it"
            )
        for name, part in parts.items():
            part.load_state_dict(state[name])

    def _param_groups(self) -> list[dict[str, Any]]:
        optimizers = [
            part for part in vars(self).values() if isinstance(part, Optimizer)
        ]
        return [group for one in optimizers for group in one.param_groups]

    def _stateful(self) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in vars(self).items() if hasattr(v, "state_dict")]


class Agent:
    """The border between environments and mathematics.

    `sample` and `predict` take NumPy arrays or tensors, nested dicts of them too, with
    or without the batch axis, and answer in kind.

    Args:
        algorithm: What decides and learns.
        config: The algorithm's config.

    Attributes:
        generator: Source of exploration's random numbers, on the device.
        sample_step: Environment steps so far, over all environments.
        learn_step: Gradient steps so far.
    """

    has_memory: ClassVar[bool] = False
    """Whether actions depend on what was observed earlier in the episode: then a loop
    must say where episodes begin, with `begin_episode`."""

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        self.algorithm = algorithm
        self.config = config
        self.device = algorithm.device
        self.generator = torch.Generator(self.device).manual_seed(config.seed)
        self.sample_step = 0
        self.learn_step = 0
        self._border = spaces.ActionBorder(
            self.model.action_space, self.device, unit_box=self.model.unit_box
        )
        self._switch_mode = any(
            isinstance(module, _MODE_DEPENDENT) for module in self.model.modules()
        )

    @property
    def model(self) -> Model:
        """The networks inside the algorithm."""
        return self.algorithm.model

    def sample(self, obs: Any) -> tuple[Any, dict[str, Tensor]]:
        """Explore: an action the environment accepts, and extras for the buffer.

        The extras hold what learning needs besides, such as `log_prob`, or `action` as
        the policy chose it where the environment gets a clipped one.
        """
        batched, tensors = self._to_tensors(obs)
        with torch.inference_mode():
            action, extras = self.explore(tensors)
            accepted = self._border.to_env(action)
        if accepted is not action:
            extras = {"action": action, **extras}
        return self._answer(accepted, obs, batched), extras

    def predict(self, obs: Any) -> Any:
        """Act as well as possible: the deterministic action."""
        batched, tensors = self._to_tensors(obs)
        with torch.inference_mode():
            action = self._border.to_env(self.exploit(tensors))
        return self._answer(action, obs, batched)

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        """Say that the next observation begins an episode: forget the one before.

        An agent without a memory has nothing to do here, so that one loop serves all.

        Args:
            where: Whose episodes are new, `terminated | truncated` say: a bool, or `N`
                of them. By default all, and there may be another number from now on.
            exploring: Whether this is for `sample`, which the collector does; what
                `predict` remembers is apart from it.
        """

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Choose an exploring action `[B, ...]`, and extras, from tensors."""
        return self.algorithm.predict(obs), {}

    def exploit(self, obs: Any) -> Tensor:
        """Choose the deterministic action `[B, ...]` from tensors."""
        return self.algorithm.predict(obs)

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a batch `[B]`, moved to the device if it is not there.

        Raises:
            FloatingPointError: If the loss is not finite (looked at on every CPU step,
                and every 100 on a GPU, where looking costs a synchronisation).
        """
        if data.device != self.device:
            data = data.to(self.device)
        if self._switch_mode:
            self.model.train()
        logs = self.algorithm.learn(data)
        if self._switch_mode:
            self.model.eval()
        self.learn_step += 1
        if self.device.type == "cpu" or self.learn_step % 100 == 0:
            self._check_finite(logs)
        return logs

    def state_dict(self) -> dict[str, Any]:
        """Algorithm, counters and the exploration's generator."""
        return {
            "algorithm": self.algorithm.state_dict(),
            "generator": self.generator.get_state(),
            "sample_step": self.sample_step,
            "learn_step": self.learn_step,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.algorithm.load_state_dict(state["algorithm"])
        restore_generator(self.generator, state["generator"])
        self.sample_step = state["sample_step"]
        self.learn_step = state["learn_step"]

    def _to_tensors(self, obs: Any) -> tuple[bool, Any]:
        tensors = spaces.to_tensor(obs, self.device)
        batched = spaces.is_batched(self.model.observation_space, tensors)
        return batched, tensors if batched else spaces.add_batch_axis(tensors)

    @staticmethod
    def _answer(action: Tensor, obs: Any, batched: bool) -> Any:
        action = action if batched else action[0]
        if spaces.holds_tensors(obs):
            return action
        return action.numpy() if action.is_cpu else action.cpu().numpy()

    def _check_finite(self, logs: Logs) -> None:
        loss = logs.get("loss")
        if loss is None or math.isfinite(loss):
            return
        broken = [k for k, p in self.model.named_parameters() if not _finite(p)]
        raise FloatingPointError(
            f"the loss became {float(loss)} at learn_step {self.learn_step}"
            f" (sample_step {self.sample_step}); parameters that are not finite:"
            f" {broken or 'none yet'}. Lower the learning rate, or look for extreme"
            " observations and rewards in the environment"
        )


class Trainer(Run):
    """The schedule of training: `for log in trainer(): ...` is its whole interface.

    `__call__` is a generator that keeps no state in its frame. Break out of the loop,
    look around, change a learning rate, loop again: training continues where it was.
    `save`, `load` and `run_dir` come from `Run`.

    Args:
        config: The algorithm's config; its defaults if omitted.
        envs: Instead of `config.env_id`: a vector environment, an environment, an
            environment class, or a function that makes one.
        eval_envs: The same for evaluation. By default more of the same kind as `envs`,
            where more can be made.
        model: Networks to train instead of those of `model_class`.
        algorithm: The algorithm to use instead of `algorithm_class`, with its model.
        agent: The agent to use instead of `agent_class`, with its algorithm.
        buffer: Where transitions wait, instead of the buffer of `make_buffer`.
    """

    model_class: ClassVar[Callable[..., Model]]
    algorithm_class: ClassVar[Callable[..., Algorithm]]
    agent_class: ClassVar[Callable[..., Agent]] = Agent

    def __init__(
        self,
        config: Config | None = None,
        *,
        envs: Any = None,
        eval_envs: Any = None,
        model: Model | None = None,
        algorithm: Algorithm | None = None,
        agent: Agent | None = None,
        buffer: Any = None,
    ) -> None:
        config = self._checked(config)
        if envs is not None:
            config = dataclasses.replace(config, env_id=environments.name_of(envs))
        super().__init__(config)
        seed_everything(config.seed)
        device = str(resolve_device(config.device))
        self.env_source = config.env_id if envs is None else envs
        self.eval_source = self.env_source if eval_envs is None else eval_envs
        self._eval_given = eval_envs is not None
        self.envs = environments.make(self.env_source, config, device=device)
        self.config = dataclasses.replace(config, num_envs=self.envs.num_envs)
        images = spaces.has_images(self.envs.single_observation_space)
        set_threads(config.threads, images=images)
        self.agent = self._make_agent(model, algorithm, agent)
        self.buffer = self.make_buffer() if buffer is None else buffer
        self.collector = SyncCollector(
            self.envs, self.agent, self.buffer, seed=derive_seed(config.seed, "envs")
        )
        self._eval_envs: gymnasium.vector.VectorEnv[Any, Any, Any] | None = None
        self._evaluated_at = 0
        if config.eval_every > 0 and isinstance(self.eval_source, _OBJECTS):
            _ = self.eval_envs  # where no second one can be made, say so now

    @abstractmethod
    def __call__(self) -> Generator[LogData, None, None]:
        """Train, yielding one `LogData` per step."""

    @abstractmethod
    def make_buffer(self) -> Any:
        """The buffer that fits the config and the environments."""

    @abstractmethod
    def _run_collect(self) -> LogData:
        """Step all environments once."""

    @abstractmethod
    def _run_train(self) -> LogData:
        """Take one gradient step."""

    def _run_evaluate(self) -> LogData:
        """Evaluate as the config says."""
        self._evaluated_at = self.agent.sample_step
        return self.evaluate(self.config.eval_episodes)

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm inside the agent."""
        return self.agent.algorithm

    @property
    def model(self) -> Model:
        """The networks inside the algorithm."""
        return self.agent.model

    @property
    def collecting_done(self) -> bool:
        """Whether all environment steps of the config were taken."""
        return self.agent.sample_step >= self.config.total_steps

    @property
    def training_done(self) -> bool:
        """Whether nothing is left to collect or to learn from."""
        return self.collecting_done

    @property
    def evaluation_due(self) -> bool:
        """Whether `eval_every` was crossed, or the end reached, since the last one."""
        every, now = self.config.eval_every, self.agent.sample_step
        if every == 0 or now == self._evaluated_at:
            return False
        return now // every > self._evaluated_at // every or self.training_done

    def evaluate(self, episodes: int = 10, seed: int | None = None) -> LogData:
        """Play whole episodes with deterministic actions in environments apart.

        Args:
            episodes: How many episodes to play; every one of them counts.
            seed: Seed of the evaluation environments; by default one that derives from
                the config's, the same at each call, so that evaluations compare.

        Returns:
            LogData with `episode_return` (mean), its `_std`, `_min`, `_max`,
            `episode_length` and `episodes`.
        """
        seed = self.evaluation_seed if seed is None else seed
        result = evaluate(self.agent, self.eval_envs, episodes, seed)
        return self._log("evaluate", result.logs())

    @property
    def evaluation_seed(self) -> int:
        """Seed of evaluations that name none, derived from the config's."""
        return derive_seed(self.config.seed, "evaluation")

    @property
    def eval_envs(self) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        """The evaluation environments, made when they are first needed."""
        if self._eval_envs is None:
            as_it_is = self._eval_given and isinstance(self.eval_source, _OBJECTS)
            make = environments.make if as_it_is else environments.make_eval
            device = str(self.agent.device)
            self._eval_envs = make(self.eval_source, self.config, device=device)
        return self._eval_envs

    def state_dict(self) -> dict[str, Any]:
        """Everything that training needs to go on, as tensors and plain values."""
        return {
            "agent": self.agent.state_dict(),
            "buffer": self.buffer.state_dict(),
            "collector": self.collector.state_dict(),
            "evaluated_at": self._evaluated_at,
            "rng": rng_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.agent.load_state_dict(state["agent"])
        self.buffer.load_state_dict(state["buffer"])
        self.collector.load_state_dict(state["collector"])
        self._evaluated_at = state["evaluated_at"]
        set_rng_state(state["rng"])

    def close(self) -> None:
        """Close the environments. Safe to call twice."""
        self.envs.close()
        if self._eval_envs is not None:
            self._eval_envs.close()

    def _log(
        self, kind: Literal["collect", "train", "evaluate"], logs: Logs
    ) -> LogData:
        return {
            "log_type": kind,
            "sample_step": self.agent.sample_step,
            "learn_step": self.agent.learn_step,
            "logs": logs,
        }

    def _checked(self, config: Config | None) -> Config:
        if config is None:
            return self.config_class()
        if isinstance(config, self.config_class):
            return config
        wanted = self.config_class.__module__
        raise TypeError(f"{self.name} takes a {wanted}.Config, got {type(config)}")

    def _make_agent(
        self, model: Model | None, algorithm: Algorithm | None, agent: Agent | None
    ) -> Agent:
        parts = {"model": model, "algorithm": algorithm, "agent": agent}
        given = [name for name, part in parts.items() if part is not None]
        if len(given) > 1:
            raise ValueError(
                f"got {given}: pass the outermost alone, it holds the rest"
            )
        if agent is not None:
            return agent
        if algorithm is None:
            if model is None:
                model = self.model_class(
                    self.envs.single_observation_space,
                    self.envs.single_action_space,
                    self.config,
                )
            algorithm = self.algorithm_class(model, self.config)
        return self.agent_class(algorithm, self.config)


_OBJECTS = (gymnasium.Env, gymnasium.vector.VectorEnv)
_MODE_DEPENDENT = (nn.Dropout, nn.modules.batchnorm._BatchNorm)


def _finite(tensor: Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())
