"""The contract: four classes, one generator, and what passes between them.

    Model      networks: observations in, raw outputs out
    Algorithm  mathematics: predict, learn, sync_target
    Agent      border: NumPy arrays <-> tensors on a device; explores or acts well
    Trainer    schedule: a generator that yields one LogData per step

They are composed from the inside out, `Agent(Algorithm(Model(...)))`, and the trainer
builds whatever its caller does not pass. Axes: `T` time, `N` environments, `B` batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any, ClassVar

import torch
from gymnasium import Space
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.experiments import LoopByHand
from yieldrl.foundations import drawing_from
from yieldrl.foundations.logs import LogData as LogData
from yieldrl.foundations.logs import Logs as Logs
from yieldrl.foundations.logs import LogType as LogType
from yieldrl.runtime import AgentBase, Learner


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
        known = {} if value is None else {"value": value}
        return action, {"log_prob": log_prob, **known}

    def predict(self, obs: Any) -> Tensor:
        """Act as well as possible: the deterministic action `[B, ...]`."""
        return self(obs, deterministic=True)[0]

    def inputs(self, data: TensorDict) -> Any:
        """The policy's inputs for transitions `[...]`: observations, and memory."""
        return data["obs"]

    def next_inputs(self, data: TensorDict) -> Any:
        """The policy's inputs for the states after transitions `[B]`."""
        return data["next_obs"]

    def update_normalization(self, data: TensorDict) -> None:
        """Fold the observations of `data` into running statistics, if there are any."""

    def metrics(self) -> Logs:
        """Metrics of the policy itself, 0-dim: a Gaussian's `policy_std`, say."""
        return {}


class Algorithm(Learner, ABC):
    """The mathematics. Sees tensors on its device, never NumPy or an environment.

    `Learner` gives it `minimize` (one gradient step of a loss), `learning_rate` and
    `state_dict`: attributes that have a `state_dict` are saved by name.
    """

    @abstractmethod
    def predict(self, obs: Any) -> Tensor:
        """The deterministic action `[B, ...]`, in the model's terms."""

    @abstractmethod
    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a batch `[B]`; metrics to log, detached and 0-dim.

        Results per sample, such as new priorities, are written into `data`, `[B]`.
        """

    def sync_target(self) -> None:
        """Update the target copy towards the model; nothing without a target."""

    def concerns(self) -> list[str]:
        """Warnings that a new trainer shows, as sentences: by default the model's."""
        own = getattr(self.model, "concerns", None)
        return [] if own is None else own()


class Agent(AgentBase):
    """The border between environments and mathematics; it counts `sample_step`s too.

    `sample` and `predict` take NumPy arrays or tensors, nested dicts of them too, with
    or without the batch axis, and return the same. Exploration draws from `generator`.
    `AgentBase` completes a rollout with what `annotate` says of its actions, and saves.
    """

    algorithm: Algorithm

    has_memory: ClassVar[bool] = False
    """Whether actions depend on earlier observations of the episode: if True, call
    `begin_episode` whenever an episode starts."""

    @property
    def model(self) -> Model:
        """The networks inside the algorithm."""
        return self.algorithm.model

    def sample(self, obs: Any) -> tuple[Any, dict[str, Tensor]]:
        """Explore: an action that the environment accepts, and extras for the buffer:
        `log_prob`, say, or `action` as it was before it was clipped.
        """
        tensors, batched = self.border.to_tensors(obs, self.model.needed_obs)
        with torch.inference_mode():
            action, extras = self.explore(tensors)
            extras = self.with_policy_version(extras, len(action))
            accepted = self.border.actions.to_env(action)
        if accepted is not action:
            extras = {"action": action, **extras}
        return self.border.like_input(accepted, obs, batched), extras

    def predict(self, obs: Any) -> Any:
        """Act as well as possible: the deterministic action, as the environment's."""
        tensors, batched = self.border.to_tensors(obs, self.model.needed_obs)
        with torch.inference_mode():
            action = self.border.actions.to_env(self.exploit(tensors))
        return self.border.like_input(action, obs, batched)

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        """Forget episodes that ended: the next observations begin others.

        `where` says whose, a bool or bool `[N]`, by default all; `exploring` whether of
        `sample`, for `predict` has a memory of its own.
        """

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """From tensors: an exploring action `[B, ...]`, and extras; for `sample`."""
        extras = self.acting({"obs": obs})
        return extras.pop("action"), extras

    def act(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """`explore` as a function of tensors alone.

        From `obs [B, ...]` to an `action [B, ...]` and the extras.
        """
        return {"action": self.algorithm.predict(inputs["obs"])}

    def exploit(self, obs: Any) -> Tensor:
        """From tensors: the deterministic action `[B, ...]`; for `predict`."""
        return self.algorithm.predict(obs)


class Trainer(LoopByHand):
    """The schedule of training: `for log in trainer(): ...` is its whole interface.

    (`collector.collect`, `update` and `evaluate` are for loops of your own.)
    `__call__` is a generator that keeps no state in its frame. Break out of the loop,
    look around, change a learning rate, loop again: training continues where it was.
    `TrainingRun` builds `envs`, `agent`, `buffer` and `collector` from the config, or
    takes what is passed (`Trainer(config, envs=..., model=...)`), and saves and loads.
    """

    agent: Agent

    agent_class = Agent

    def __call__(self) -> Generator[LogData, None, None]:
        """Train, yielding one `LogData` per step."""
        # What comes next is read off the counters and the buffer, never off this
        # frame: break out of the loop anywhere, and a new loop goes on from there.
        keeps_gradients = torch.is_grad_enabled()
        try:
            while not self.training_done or self.evaluation_due:
                self.collector.check()
                if self.learning_due:
                    yield self._run_train()
                elif self.evaluation_due:
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

    @abstractmethod
    def _run_train(self) -> LogData:
        """Take one gradient step."""

    @property
    def training_done(self) -> bool:
        """Whether nothing is left to collect or to learn from."""
        return self.collecting_done and not self.learning_due
