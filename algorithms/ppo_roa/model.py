"""The six modules of PPO-ROA: teacher, student, and who tells them what is hidden."""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import Space
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.algorithms import ppo
from yieldrl.networks import GRU, MLP, History, TargetUpdate, WindowMLP, make_encoder
from yieldrl.on_policy import PhasedModel

from .config import Config
from .phases import MODULES, PHASES


class Model(PhasedModel, ppo.Model):
    """Two actors beside each other, and two ways to the latent that they read.

        encoder_priv  privileged observations -> latent z            [B, Z]
        actor         observations, z         -> teacher's action    [B, A]
        adapt_module  history of the episode  -> inferred latent z'  [B, Z]
        adapt_ema     its moving average
        actor_adapt   observations, z'        -> student's action    [B, A]
        critic        all observations        -> value               [B]

    Observations are a mapping: `obs [B, ...]`, and `priv_pred [B, Z]`, inferred when
    acting, or the actor's `latent [B, Z]`. Which actor acts follows from the `phase`,
    which is saved with the weights.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        seen = config.student_obs(observation_space)
        config = dataclasses.replace(config, actor_obs=seen)
        super().__init__(observation_space, action_space, config)
        self.privileged_obs = config.privileged_obs
        privileged = make_encoder(self.group(config, "privileged_obs"))
        sizes = [privileged.size, *config.hidden_sizes[:1], config.latent_size]
        encoder = MLP(sizes, config.activation, last_gain=1.0)
        self.encoder_priv = nn.Sequential(privileged, encoder)
        self.actor_adapt = copy.deepcopy(self.actor)
        self.log_std_adapt = copy.deepcopy(self.log_std)
        self.action_code = make_encoder(action_space)
        self.adapt_module = self.make_adaptation(config)
        self.adapt_ema = copy.deepcopy(self.adapt_module)

    def actor_size(self, config: Any) -> int:
        return super().actor_size(config) + config.latent_size

    def make_adaptation(self, config: Config) -> History:
        """What infers the latent, from observations and the actions before them."""
        inputs = self.encoder.size + self.action_code.size
        if config.adaptation == "gru":
            return GRU(inputs, config.gru_size, config.latent_size)
        hidden, outputs = config.hidden_sizes, config.latent_size
        return WindowMLP(inputs, config.window, hidden, outputs, config.activation)

    @property
    def teaches(self) -> bool:
        """Whether the teacher acts."""
        return PHASES[self.phase].acts == "actor"

    @property
    def needed_obs(self) -> tuple[str, ...]:
        """What must be seen to act: by the student nothing that is privileged."""
        return self.actor_obs + (self.privileged_obs if self.teaches else ())

    @torch.no_grad()
    def enter(self, phase: str) -> None:
        """Begin a phase; a student that takes over explores as much as the teacher."""
        taught = self.teaches
        super().enter(phase)
        if not taught or self.teaches:
            return
        self.move_average(1.0)  # it infers with the newest weights
        if self.log_std is not None:
            assert self.log_std_adapt is not None
            self.log_std_adapt.copy_(self.log_std)

    def become_student(self) -> None:
        """Keep what the student needs to act, and stay in its phase."""
        self.enter("finetune")
        for name in MODULES:
            if getattr(PHASES["finetune"], name).rollout == "rest":
                setattr(self, name, None)
        self.log_std, number = None, int(self.phase_number)  # a program's constant
        del self.phase_number
        vars(self)["phase_number"] = number

    def move_average(self, share: float) -> None:
        """Move the moving average towards the adaptation module; by 1 it is a copy."""
        TargetUpdate(self.adapt_module, self.adapt_ema, share)()

    def frozen(self) -> list[nn.Module]:
        """What is not trained; the moving average is moved all the same."""
        return [part for part in super().frozen() if part is not self.adapt_ema]

    def parts_of(self, module: str) -> list[nn.Module]:
        """One of the six modules, and the encoder of observations that learns by it."""
        beside = {"actor": self.encoder, "critic": self.critic_encoder}
        parts = getattr(self, module), beside.get(module)
        return [part for part in parts if part is not None]

    def parameters_of(self, module: str) -> list[nn.Parameter]:
        """The parameters of `parts_of`, and of an actor's standard deviation."""
        found = [p for part in self.parts_of(module) for p in part.parameters()]
        log_std = {"actor": self.log_std, "actor_adapt": self.log_std_adapt}.get(module)
        return found if log_std is None else [*found, log_std]

    def inputs(self, data: TensorDict) -> TensorDict:
        return data.select("obs", "priv_pred")

    def next_inputs(self, data: TensorDict) -> TensorDict:
        return data.select("next_obs").rename_key_("next_obs", "obs")  # for the critic

    def features(self, obs: Any) -> Tensor:
        """Observations as vectors `[B, F]`, without a latent."""
        return self.encode_obs(obs["obs"], learns=self.teaches)

    def encode_obs(self, obs: Any, *, learns: bool = False) -> Tensor:
        """Observations as vectors `[B, F]`: the teacher's encoder, frozen otherwise."""
        with torch.set_grad_enabled(learns and torch.is_grad_enabled()):
            return super().features(obs)

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        """What the critic reads, `[B, C]`: no latent."""
        return super().critic_features(obs["obs"], features)

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Logits `[B, A]`, or means `[B, D]`, of the actor that acts in this phase."""
        there = "latent" in obs.keys()  # noqa: SIM118 - TensorDict iterates otherwise
        latent = obs["latent"] if there else self.latent(obs["obs"], obs["priv_pred"])
        actor = getattr(self, PHASES[self.phase].acts)
        return actor(torch.cat((features, latent), dim=-1))

    def latent(self, obs: Any, priv_pred: Tensor) -> Tensor:
        """What the actor of this phase reads beside features, `[B, Z]`."""
        return self.encoded(obs) if self.teaches else priv_pred

    @property
    def acting_log_std(self) -> nn.Parameter | None:
        return self.log_std if self.teaches else self.log_std_adapt

    def encoded(self, obs: Any) -> Tensor:
        """The latent `z [B, Z]` of privileged observations."""
        return self.encoder_priv(self.observed(obs, self.privileged_obs))

    @property
    def memory_size(self) -> int:
        """Numbers that are remembered: a history, and the last action's code."""
        return self.adapt_ema.memory_size + self.action_code.size

    def infer(self, inputs: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """What is inferred while acting, `[B, Z]`, and the history then."""
        first, (history, last_action) = inputs["first"], self.split(inputs["memory"])
        x = _joined(self.encode_obs(inputs["obs"]), last_action, first)
        module: History = getattr(self, PHASES[self.phase].infers)
        inferred, after = module(x[None], history, first[None])
        return inferred[0], after

    def infer_sequence(self, data: TensorDict) -> Tensor:
        """What the adaptation module infers in `Algorithm.pieces`, `[T, n, Z]`."""
        first, obs = data["first"], data["obs"].flatten(0, 1)
        features = self.encode_obs(obs).unflatten(0, first.shape)
        x = _joined(features, data["last_action"], first)
        return self.adapt_module(x, data["memory"][0], first)[0]

    def remember(self, history: Tensor, action: Tensor) -> Tensor:
        """The memory `[B, M]` of a history and the action that follows it."""
        return torch.cat((history, self.action_code(action)), dim=-1)

    def split(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The history of a memory `[..., M]`, and the last action's code."""
        sizes = [self.adapt_ema.memory_size, self.action_code.size]
        history, last_action = memory.split(sizes, dim=-1)
        return history, last_action


def _joined(features: Tensor, last_action: Tensor, first: Tensor) -> Tensor:
    """What adaptation goes by: features beside the last action of the episode."""
    return torch.cat((features, last_action * ~first.unsqueeze(-1)), dim=-1)
