"""The six modules of PPO-ROA: teacher, student, encoders and adaptation module."""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import Space
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.networks import (
    GRU,
    MLP,
    Distribution,
    History,
    WindowMLP,
    make_distribution,
    make_encoder,
    update_target,
)

from .config import Config
from .phases import NAMES, PHASES


class Model(ppo.Model):
    """Two actors beside each other, and two ways to the latent that they read.

        encoder_priv  privileged observations -> latent z            [B, Z]
        actor         observations, z         -> teacher's action    [B, A]
        adapt_module  history of the episode  -> inferred latent z'  [B, Z]
        adapt_ema     its moving average
        actor_adapt   observations, z'        -> student's action    [B, A]
        critic        all observations        -> value               [B]

    Observations are a mapping: `obs [B, ...]`, and `priv_pred [B, Z]`, inferred while
    acting, or the actor's `latent [B, Z]`. Which actor acts follows from the `phase`,
    which is saved with the weights.

    Attributes:
        phase_number: The index of the current phase, int64, 0-dim.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        entries = getattr(observation_space, "spaces", {})
        others = tuple(name for name in entries if name not in config.privileged_obs)
        if not (config.actor_obs or others):
            beside = f"{observation_space} has nothing beside for the student to see"
            raise config.error("privileged_obs", f"{beside}: give a Dict with both")
        config = dataclasses.replace(config, actor_obs=config.actor_obs or others)
        super().__init__(observation_space, action_space, config)
        first = torch.tensor(NAMES.index(config.phase_at(0)))
        self.register_buffer("phase_number", first)
        self.privileged_obs = config.privileged_obs
        privileged = make_encoder(self._part(config, "privileged_obs"))
        sizes = [privileged.size, *config.hidden_sizes[:1], config.latent_size]
        encoder = MLP(sizes, config.activation, last_gain=1.0)
        self.encoder_priv = nn.Sequential(privileged, encoder)
        self.actor_adapt = copy.deepcopy(self.actor)
        self.log_std_adapt = copy.deepcopy(self.log_std)
        self.action_code = make_encoder(action_space)
        inputs = self.encoder.size + self.action_code.size
        hidden, outputs = config.hidden_sizes, config.latent_size
        if config.adaptation == "gru":
            self.adapt_module = GRU(inputs, config.gru_size, outputs)
        else:
            layers = hidden, outputs, config.activation
            self.adapt_module = WindowMLP(inputs, config.window, *layers)
        self.adapt_ema = copy.deepcopy(self.adapt_module)

    def actor_size(self, config: Any) -> int:
        return super().actor_size(config) + config.latent_size

    @property
    def phase(self) -> str:
        """The current phase."""
        return NAMES[int(self.phase_number)]

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        # The phase stays on the CPU, so that reading it does not synchronize a GPU.
        phase = self.phase_number
        super()._apply(*args, **kwargs)
        self.phase_number = phase
        return self

    @property
    def teacher_acts(self) -> bool:
        """Whether the teacher acts, and not the student."""
        return PHASES[self.phase]["actor"].rollout == "forward"

    @property
    def needed_obs(self) -> tuple[str, ...]:
        """Observations needed to act; the student needs no privileged ones."""
        return self.actor_obs + (self.privileged_obs if self.teacher_acts else ())

    @torch.no_grad()
    def enter(self, phase: str) -> None:
        """Begin a phase; a student that takes over infers with the newest weights, and
        explores as much as the teacher."""
        taught = self.teacher_acts
        self.phase_number.fill_(NAMES.index(phase))
        if taught and not self.teacher_acts:
            update_target(self.adapt_module, self.adapt_ema, 1.0)
            if self.log_std is not None and self.log_std_adapt is not None:
                self.log_std_adapt.copy_(self.log_std)

    def parts_of(self, module: str) -> list[nn.Module]:
        """One of the six modules, and the encoder of observations that learns by it."""
        beside = {"actor": self.encoder, "critic": self.critic_encoder}
        parts = getattr(self, module), beside.get(module)
        return [part for part in parts if part is not None]

    def parameters_of(self, module: str) -> list[nn.Parameter]:
        """The parameters of `parts_of`, and of an actor's standard deviation."""
        parameters = [p for part in self.parts_of(module) for p in part.parameters()]
        log_std = {"actor": self.log_std, "actor_adapt": self.log_std_adapt}.get(module)
        return parameters if log_std is None else [*parameters, log_std]

    def inputs(self, data: TensorDict) -> TensorDict:
        return data.select("obs", "priv_pred")

    def next_inputs(self, data: TensorDict) -> TensorDict:
        return data.select("next_obs").rename_key_("next_obs", "obs")  # for the critic

    def features(self, obs: Any) -> Tensor:
        """Observations as vectors `[B, F]`, without a latent."""
        return self.encode_obs(obs["obs"], learns=self.teacher_acts)

    def encode_obs(self, obs: Any, *, learns: bool = False) -> Tensor:
        """Observations as vectors `[B, F]`: the teacher's encoder, frozen otherwise."""
        with torch.set_grad_enabled(learns and torch.is_grad_enabled()):
            return super().features(obs)

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        """The critic's input features, `[B, C]`, without the latent."""
        return super().critic_features(obs["obs"], features)

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Logits `[B, A]`, or means `[B, D]`, of the actor that acts in this phase."""
        latent = obs.get("latent", None)  # the loss has it already
        if latent is None:
            latent = self.latent(obs["obs"], obs["priv_pred"])
        actor = self.actor if self.teacher_acts else self.actor_adapt
        return actor(torch.cat((features, latent), dim=-1))

    def latent(self, obs: Any, priv_pred: Tensor) -> Tensor:
        """The latent that this phase's actor reads, `[B, Z]`."""
        return self.encoded(obs) if self.teacher_acts else priv_pred

    def distribution(self, output: Tensor) -> Distribution:
        """The policy of the actor that acts in this phase."""
        space, counts = self.action_space, self.choice_counts
        return make_distribution(space, output, self.acting_log_std, counts)

    @property
    def acting_log_std(self) -> nn.Parameter | None:
        """The log-standard deviation of that actor, `[D]`."""
        return self.log_std if self.teacher_acts else self.log_std_adapt

    def metrics(self) -> Logs:
        """The mean standard deviation of the Gaussian that acts, as `policy_std`."""
        log_std = self.acting_log_std
        return {} if log_std is None else {"policy_std": log_std.exp().mean()}

    def encoded(self, obs: Any) -> Tensor:
        """The latent `z [B, Z]` of privileged observations."""
        return self.encoder_priv(self.observed(obs, self.privileged_obs))

    @property
    def memory_size(self) -> int:
        """Size of the memory: a history, and the last action's code."""
        return self.adapt_ema.memory_size + self.action_code.size

    def infer(self, inputs: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """The latent inferred while acting, `[B, Z]`, and the new history."""
        first, (history, last_action) = inputs["first"], self.split(inputs["memory"])
        x = self.watched(self.encode_obs(inputs["obs"]), last_action, first)
        learner = PHASES[self.phase]["adapt_module"].rollout == "forward"
        module: History = self.adapt_module if learner else self.adapt_ema
        inferred, after = module(x[None], history, first[None])
        return inferred[0], after

    def infer_sequence(self, data: TensorDict) -> Tensor:
        """The latents inferred for sequences of `Algorithm.samples`, `[T, n, Z]`."""
        first, obs = data["first"], data["obs"].flatten(0, 1)
        features = self.encode_obs(obs).unflatten(0, first.shape)
        x = self.watched(features, data["last_action"], first)
        return self.adapt_module(x, data["memory"][0], first)[0]

    def watched(self, features: Tensor, last_action: Tensor, first: Tensor) -> Tensor:
        """The adaptation module's input: features and the episode's last action."""
        return torch.cat((features, last_action * ~first.unsqueeze(-1)), dim=-1)

    def remember(self, history: Tensor, action: Tensor) -> Tensor:
        """The memory `[B, M]` of a history and the action that follows it."""
        return torch.cat((history, self.action_code(action)), dim=-1)

    def split(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The history of a memory `[..., M]`, and the last action's code."""
        sizes = [self.adapt_ema.memory_size, self.action_code.size]
        history, last_action = memory.split(sizes, dim=-1)
        return history, last_action
