"""The mathematics of MBPO.

Janner et al. 2019, "When to Trust Your Model: Model-Based Policy Optimization",
arXiv:1906.08253, algorithm 2.
"""

from collections.abc import Mapping
from typing import Any

import torch
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Generator

from yieldrl.abstractions import LogData, Logs
from yieldrl.algorithms import sac
from yieldrl.core import Count, Steps, Widths
from yieldrl.experiments import on_ray
from yieldrl.experiments.parts import transition_parts
from yieldrl.imagination import (
    EnsembleModel,
    ImaginationConfig,
    ReplayedImagination,
    fit,
    imagine,
)
from yieldrl.networks.train_mode import in_float32


@dataclass(frozen=True, kw_only=True)
class Config(ImaginationConfig, sac.Config):
    """SAC that mostly learns from imagined steps; the defaults learn Pendulum-v1."""

    total_steps: int = 5_000
    learning_starts: int = 500
    gradient_steps: int = 10
    horizon: int = 5
    num_branches: int = 10_000
    real_share: float = 0.05

    model_every: Steps = 250
    """Environment steps between fits of the model, after each of which branches are
    imagined anew. Fewer keep the model and what it imagines up to date, and take
    longer."""

    model_epochs: Steps = 300
    """Most epochs of a fit, which ends when five bring no better error in validation.
    Fewer take less time."""

    model_hidden_sizes: Widths = (128, 128)
    """Widths of the hidden layers of each of the model's members. Wider ones can
    represent more and take longer to fit."""

    members: Count = 5
    """Networks of the model. Where they disagree, there are few data."""

    elites: Count = 3
    """Number of the model's networks, the best in validation, that imagine."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.elites > self.members:
            raise self.error("elites", f"choose at most members = {self.members}")
        if self.replay_actor:
            reason = "each fit of the model reads all transitions, in this process"
            raise self.error("replay_actor", f"{reason}: choose False")


class Algorithm(sac.Algorithm):
    """SAC, beside a model of the world that it is fitted to, and imagined in.

    Differs from the paper: ends are learned, where the authors wrote them down; the
    model's batches are drawn with replacement.
    """

    config: Config
    model: sac.Model

    def __init__(self, model: sac.Model, config: Config) -> None:
        super().__init__(model, config)
        world = EnsembleModel(
            model.observation_space,
            model.action_space,
            members=config.members,
            elites=config.elites,
            hidden_sizes=config.model_hidden_sizes,
            outcome=config.outcome,
        )
        self.world: Any = in_float32(world.eval(), self.device)
        parameters, rate = self.world.parameters(), config.model_learning_rate
        self.world_optimizer = torch.optim.Adam(parameters, lr=rate, fused=True)

    def fit_world(self, data: TensorDict, generator: Generator) -> Logs:
        """Fit the model to all transitions `[B]`, until validation says enough."""
        config = self.config
        return fit(
            self.world,
            data,
            lambda batch: self.minimize(self.world.loss, batch, self.world_optimizer),
            batch_size=config.model_batch_size,
            patience=5,
            max_epochs=config.model_epochs,
            generator=generator,
        )

    @torch.no_grad()
    def imagine(
        self, starts: TensorDict, horizon: int, generator: Generator, model_version: int
    ) -> TensorDict:
        """Steps `[H, B]` of the policy of now, imagined from real transitions `[B]`."""
        return imagine(
            self.world,
            lambda state, drawn: {"action": self.model.policy(state).sample(drawn)},
            starts["obs"],
            horizon,
            gamma=self.config.gamma,
            generator=generator,
            model_version=model_version,
            policy_version=self.counters.policy_version,
        )


class Trainer(sac.Trainer):
    """SAC's, with a model that is fitted anew every `model_every` steps."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
    imagination: ReplayedImagination

    def _make_parts(self, buffer: Any, collector: Any) -> None:
        super()._make_parts(buffer, collector)
        parts = self.agent.algorithm, self.buffer
        self.imagination = ReplayedImagination(*parts, **transition_parts(self))
        self.imagination.pool = on_ray.make_imagination(self)

    def _run_train(self) -> LogData:
        now, logs = self.agent.sample_step, {}
        if self.imagination.due(now):
            logs = self.imagination.refresh(now)
        log = super()._run_train()
        log["logs"] |= logs
        return log

    def _sample(self) -> TensorDict:
        """A batch that is real in part, `[B]`."""
        return self.imagination.sample(self.config.batch_size)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "imagination": self.imagination.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.imagination.load_state_dict(state["imagination"])
