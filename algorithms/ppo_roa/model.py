"""The six modules of PPO-ROA: teacher, student, and who tells them what is hidden."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Dict
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.networks import (
    GRU,
    MLP,
    Distribution,
    History,
    TargetUpdate,
    WindowMLP,
    make_distribution,
    make_encoder,
)

from .config import Config
from .phases import PHASES


class Model(ppo.Model):
    """Two actors beside each other, and two ways to the latent that they read.

        encoder_priv  privileged observations -> latent z            [B, Z]
        actor         observations, z         -> teacher's action    [B, A]
        adapt_module  history of the episode  -> inferred latent z'  [B, Z]
        adapt_ema     its moving average
        actor_adapt   observations, z'        -> student's action    [B, A]
        critic        all observations        -> value               [B]

    Where PPO's model takes observations, this one takes a mapping: `obs [B, ...]` and
    `priv_pred [B, Z]`, what was inferred when acting; with `latent [B, Z]` too, if who
    acts has it already. `phase` says who that is; it is saved, and goes wherever the
    weights go.

    Args:
        observation_space: Dict with the `privileged_obs` and something else.
        action_space: As for PPO.
        config: Says the sizes, and who reads what.

    Raises:
        ValueError: If the observations lack an entry that is to be read, or the actors
            were to read privileged ones.
    """

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: Config,
    ) -> None:
        actor_obs = config.actor_obs or _others(observation_space, config)
        if shared := {*actor_obs} & {*config.privileged_obs}:
            raise config.error(
                "actor_obs",
                f"the student never sees {sorted(shared)}: leave out what is in"
                " privileged_obs",
            )
        config = dataclasses.replace(config, actor_obs=actor_obs)
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
        first = _NAMES.index(config.phase_at(0))
        self.register_buffer("phase_number", torch.tensor(first))

    def actor_size(self, config: Any) -> int:
        """Width of what both actors read: features and a latent."""
        return super().actor_size(config) + config.latent_size

    def make_adaptation(self, config: Config) -> History:
        """What infers the latent, from observations and the actions before them."""
        inputs = self.encoder.size + self.action_code.size
        if config.adaptation == "gru":
            return GRU(inputs, config.gru_size, config.latent_size)
        hidden, outputs = config.hidden_sizes, config.latent_size
        return WindowMLP(inputs, config.window, hidden, outputs, config.activation)

    @property
    def phase(self) -> str:
        """The phase of now, which says who acts."""
        return _NAMES[int(self.phase_number)]

    @property
    def teaches(self) -> bool:
        """Whether the teacher acts."""
        return PHASES[self.phase].acts == "actor"

    @property
    def needed_obs(self) -> tuple[str, ...]:
        """What whoever acts must see: the student nothing that is privileged."""
        return self.actor_obs + (self.privileged_obs if self.teaches else ())

    @torch.no_grad()
    def enter(self, phase: str) -> None:
        """Begin a phase.

        Where the student takes over it explores as much as the teacher did, for
        imitation is of means alone, and infers with the newest weights.
        """
        taught = self.teaches
        self.phase_number.fill_(_NAMES.index(phase))
        if not taught or self.teaches:
            return
        self.restart_average()
        if self.log_std is not None:
            assert self.log_std_adapt is not None
            self.log_std_adapt.copy_(self.log_std)

    def frozen(self) -> list[nn.Module]:
        """What is not trained; the moving average is moved all the same."""
        return [part for part in super().frozen() if part is not self.adapt_ema]

    def restart_average(self) -> None:
        """Make the moving average a copy of the adaptation module of now."""
        TargetUpdate(self.adapt_module, self.adapt_ema, 1.0)()

    def parts_of(self, module: str) -> list[nn.Module]:
        """One of the six modules, and what belongs to it.

        What both actors see with is the teacher's, the critic's own encoder the
        critic's.
        """
        beside = {"actor": self.encoder, "critic": self.critic_encoder}
        parts = getattr(self, module), beside.get(module)
        return [part for part in parts if part is not None]

    def parameters_of(self, module: str) -> list[nn.Parameter]:
        """The parameters of one of the six modules and of what belongs to it.

        A Gaussian's standard deviation is its actor's.
        """
        beside = {"actor": self.log_std, "actor_adapt": self.log_std_adapt}
        found = [p for part in self.parts_of(module) for p in part.parameters()]
        log_std = beside.get(module)
        return found if log_std is None else [*found, log_std]

    def inputs(self, data: TensorDict) -> TensorDict:
        """Observations, and what was inferred from those before."""
        return data.select("obs", "priv_pred")

    def next_inputs(self, data: TensorDict) -> TensorDict:
        """Last observations: to the critic no latent matters."""
        return data.select("next_obs").rename_key_("next_obs", "obs")

    def features(self, obs: Any) -> Tensor:
        """Observations as vectors `[B, F]`, without a latent.

        The encoder is the teacher's: where the student acts it is frozen.
        """
        with torch.set_grad_enabled(self.teaches and torch.is_grad_enabled()):
            return super().features(obs["obs"])

    @torch.no_grad()
    def frozen_features(self, obs: Any) -> Tensor:
        """Observations as vectors `[B, F]`, by an encoder that does not learn now."""
        return super().features(obs)

    def critic_features(self, obs: Any, features: Tensor) -> Tensor:
        """What the critic reads, `[B, C]`: no latent."""
        return super().critic_features(obs["obs"], features)

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Logits `[B, A]`, or means `[B, D]`, of who acts in this phase."""
        there = "latent" in obs.keys()  # noqa: SIM118 - TensorDict iterates otherwise
        latent = obs["latent"] if there else self.latent(obs["obs"], obs["priv_pred"])
        actor = getattr(self, PHASES[self.phase].acts)
        return actor(torch.cat((features, latent), dim=-1))

    def latent(self, obs: Any, priv_pred: Tensor) -> Tensor:
        """What who acts in this phase reads beside features, `[B, Z]`.

        Args:
            obs: Observations `[B, ...]`; the teacher has what is privileged encoded.
            priv_pred: What was inferred when acting, `[B, Z]`, for the student.
        """
        return self.encoded(obs) if self.teaches else priv_pred

    def output_of(self, actor: str, obs: Any, latent: Tensor) -> Tensor:
        """Logits or means of either actor for observations and a latent `[B, Z]`.

        The encoder gets no gradient.
        """
        features = self.frozen_features(obs)
        return getattr(self, actor)(torch.cat((features, latent), dim=-1))

    def distribution(self, output: Tensor) -> Distribution:
        log_std = self.log_std if self.teaches else self.log_std_adapt
        counts = self.choice_counts
        return make_distribution(self.action_space, output, log_std, counts)

    def metrics(self) -> Logs:
        log_std = self.log_std if self.teaches else self.log_std_adapt
        return {} if log_std is None else {"policy_std": log_std.exp().mean()}

    def encoded(self, obs: Any) -> Tensor:
        """The latent `z [B, Z]` of privileged observations."""
        return self.encoder_priv(self.observed(obs, self.privileged_obs))

    @property
    def memory_size(self) -> int:
        """Numbers that are remembered of an episode: its history, and the last
        action."""
        return self.adapt_ema.memory_size + self.action_code.size

    def infer(self, inputs: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """What is inferred while acting, `[B, Z]`, and the history then.

        Args:
            inputs: `obs [B, ...]`, `memory [B, M]` from before them, and bool `first
                [B]` where an episode begins and the memory counts as empty.
        """
        features, first = self.frozen_features(inputs["obs"]), inputs["first"]
        memory, last_action = self.split(inputs["memory"])
        x = _joined(features, last_action, first)
        module: History = getattr(self, PHASES[self.phase].infers)
        inferred, after = module(x[None], memory, first[None])
        return inferred[0], after

    def infer_sequence(self, data: TensorDict) -> Tensor:
        """What the adaptation module infers in sequences, `[T, n, Z]`.

        Args:
            data: `obs`, `first`, `last_action [T, n, A]` as a code, and `memory`, of
                which the history before the first step counts, `[T, n]`.
        """
        features = self.frozen_features(data["obs"].flatten(0, 1))
        first = data["first"]
        features = features.unflatten(0, first.shape)
        x = _joined(features, data["last_action"], first)
        return self.adapt_module(x, data["memory"][0], first)[0]

    def remember(self, watched: Tensor, action: Tensor) -> Tensor:
        """The memory `[B, M]` of a history and the action that follows it."""
        return torch.cat((watched, self.action_code(action)), dim=-1)

    def split(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The history `[..., H]` of a memory `[..., M]`, and the last action's code."""
        sizes = [self.adapt_ema.memory_size, self.action_code.size]
        history, last_action = memory.split(sizes, dim=-1)
        return history, last_action

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        # The phase stays on the CPU, for looking at it must not wait for a device.
        phase = self.phase_number
        super()._apply(*args, **kwargs)
        self.phase_number = phase
        return self


_NAMES = tuple(PHASES)


def _joined(features: Tensor, last_action: Tensor, first: Tensor) -> Tensor:
    """What adaptation goes by: features beside the last action of the episode."""
    return torch.cat((features, last_action * ~first.unsqueeze(-1)), dim=-1)


def _others(space: gymnasium.Space[Any], config: Config) -> tuple[str, ...]:
    """The entries of observations that are not privileged.

    Raises:
        ValueError: If there are none.
    """
    entries = space.spaces if isinstance(space, Dict) else {}
    others = tuple(name for name in entries if name not in config.privileged_obs)
    if not others:
        raise config.error(
            "privileged_obs",
            f"the observations {space} have nothing beside them that the student could"
            " see: give a Dict with both, such as that of yieldrl/HiddenPendulum-v1",
        )
    return others
