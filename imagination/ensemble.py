"""A world model for vector observations: an ensemble, whose members may disagree."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Box
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.buffers import selected
from yieldrl.core.conversion import from_zero
from yieldrl.core.logs import Logs
from yieldrl.imagination.outcomes import outcome_head, soft_clamp
from yieldrl.imagination.rollout import Prediction, WorldModel
from yieldrl.networks import EnsembleMLP, make_encoder

BOUND_COEF = 0.01
"""Coefficient of the loss on the variance's bounds, as in PETS' code."""


class EnsembleModel(WorldModel):
    """`K` networks, each a Gaussian over what a step changes, beside reward and end.

    Chua et al. 2018, "Deep Reinforcement Learning in a Handful of Trials using
    Probabilistic Dynamics Models" (PETS), arXiv:1805.12114; Janner et al. 2019, "When
    to Trust Your Model" (MBPO), arXiv:1906.08253. Inputs and changes are standardized.
    Members have different first weights and batches, so they agree where there are
    data, and only there. Predictions are those of the `elites`, the best in validation;
    a sampled one is of a random elite, chosen for each state and step.

    Differs from the papers: whether a step ends is learned too; the reward is its mean.

    Args:
        observation_space: A Box of one axis; TypeError if it is another.
        action_space: A Box, Discrete or MultiDiscrete; TypeError if it is another.
        members: `K`.
        elites: How many of them predict, at most `K`.
        hidden_sizes: Widths of each one's hidden layers.
        outcome: `number`, `symlog` or `three_classes`, see `outcome_head`.
    """

    input_mean: Tensor
    input_std: Tensor
    change_mean: Tensor
    change_std: Tensor
    elite: Tensor
    low: Tensor
    high: Tensor

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        *,
        members: int = 5,
        elites: int = 3,
        hidden_sizes: Sequence[int] = (128, 128),
        outcome: str = "number",
    ) -> None:
        if not isinstance(observation_space, Box) or len(observation_space.shape) != 1:
            raise TypeError(
                f"this model imagines vectors, a Box of one axis, not"
                f" {observation_space}: flatten observations with a wrapper"
            )
        super().__init__(observation_space, action_space)
        self.size = size = observation_space.shape[0]
        self.acted = make_encoder(from_zero(action_space))
        inputs = size + self.acted.size
        self.outcome = outcome_head(outcome)
        outputs = 2 * size + self.outcome.outputs
        self.network = EnsembleMLP(members, [inputs, *hidden_sizes, outputs], "silu")
        floats: Any = {"dtype": torch.float32}
        self.max_log_var = nn.Parameter(torch.full((size,), 0.5, **floats))
        self.min_log_var = nn.Parameter(torch.full((size,), -10.0, **floats))
        for name, width in (("input", inputs), ("change", size)):
            self.register_buffer(f"{name}_mean", torch.zeros(width, **floats))
            self.register_buffer(f"{name}_std", torch.ones(width, **floats))
        self.register_buffer("elite", torch.arange(elites))
        self.register_buffer("low", torch.tensor(observation_space.low).float())
        self.register_buffer("high", torch.tensor(observation_space.high).float())

    def fit_to(self, data: TensorDict) -> None:
        """Take means and standard deviations from transitions `[B]`, before learning.

        ValueError if the kind of outcome does not fit them.
        """
        self.outcome.fit_to(data["reward"], data["terminated"])
        inputs = self._inputs(data["obs"], data["action"])
        changes = data["next_obs"] - data["obs"]
        for name, values in (("input", inputs), ("change", changes)):
            std, mean = torch.std_mean(values, dim=0, correction=0)
            getattr(self, f"{name}_mean").copy_(mean)
            getattr(self, f"{name}_std").copy_(std.where(std > 1e-6, 1.0))

    def forward(self, obs: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All members' predictions, in standardized units.

        For states `[B, D]`, the same for all, or `[K, B, D]`: mean and log-variance of
        the change, `[K, B, D]` each, and outputs for the `outcome`, `[K, B, outputs]`.
        """
        inputs = (self._inputs(obs, action) - self.input_mean) / self.input_std
        sizes = self.size, self.size, self.outcome.outputs
        mean, log_var, outcome = self.network(inputs).split(sizes, -1)
        return mean, soft_clamp(log_var, self.min_log_var, self.max_log_var), outcome

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The sum of the members' losses on batches `[K, B]`; and metrics.

        The loss of a Gaussian is `0.5 ((x - mean)^2 / var + log var)`, a mean over the
        entries of an observation.
        """
        mean, log_var, outcome = self(data["obs"], data["action"])
        error = (self._target(data) - mean).square()
        of_change = 0.5 * (error * (-log_var).exp() + log_var).mean(-1)
        of_outcome = self.outcome.loss(outcome, data["reward"], data["terminated"])
        loss = (of_change + of_outcome).mean(1).sum()
        logs = {"model_loss": loss.detach() / len(mean)}
        width = (self.max_log_var - self.min_log_var).sum()
        return loss + BOUND_COEF * width, logs

    @torch.no_grad()
    def errors(self, data: TensorDict) -> Tensor:
        """Each member's squared error, with the outcome's, on `[B]`: `[K]`."""
        mean, _, outcome = self(data["obs"], data["action"])
        error = (self._target(data) - mean).square().mean(-1)
        real = (data[name].expand(error.shape) for name in ("reward", "terminated"))
        return (error + self.outcome.error(outcome, *real)).mean(1)

    def predict(
        self, obs: Tensor, action: Tensor, generator: torch.Generator | None = None
    ) -> Prediction:
        """Predict by elites drawn at random; without a generator by their mean.

        Disagreement is the elites' standard deviation about the change, in units of the
        data's, the mean over the entries of an observation.
        """
        mean, log_var, outcome = (part[self.elite] for part in self(obs, action))
        disagreement = mean.std(0, correction=0).mean(-1)
        if generator is None:
            change, outcome = mean.mean(0), outcome.mean(0)
        else:
            like = {"generator": generator, "device": mean.device}
            row = torch.arange(len(obs), device=mean.device)
            chosen = torch.randint(len(self.elite), (len(obs),), **like), row
            noise = torch.randn(obs.shape, dtype=mean.dtype, **like)
            change = mean[chosen] + (0.5 * log_var[chosen]).exp() * noise
            outcome = outcome[chosen]
        after = obs + self.change_mean + self.change_std * change
        return Prediction(after.clamp(self.low, self.high), outcome, disagreement)

    def _target(self, data: TensorDict) -> Tensor:
        return (data["next_obs"] - data["obs"] - self.change_mean) / self.change_std

    def _inputs(self, obs: Tensor, action: Tensor) -> Tensor:
        acted = self.acted(action.flatten(0, obs.ndim - 2))
        return torch.cat([obs, acted.view(*obs.shape[:-1], -1)], -1)


FOLDS = 5
"""One transition in `FOLDS` is always for validation, by its `number`."""

IMPROVEMENT = 0.01
"""Share of its error by which a member must improve to count as improved."""


def split(data: TensorDict) -> tuple[TensorDict, TensorDict]:
    """Transitions `[B]` to learn from, and others to validate with.

    The split follows from `number`, so that a transition that was learned from never
    validates later. Where it leaves one part empty, all are in both.
    """
    held = data["number"] % FOLDS == FOLDS - 1
    train, validation = selected(data, ~held), selected(data, held)
    if len(train) == 0 or len(validation) == 0:
        return data, data
    return train, validation


def fit(
    world: EnsembleModel,
    data: TensorDict,
    step: Callable[[TensorDict], Any],
    *,
    batch_size: int,
    patience: int,
    max_epochs: int,
    generator: torch.Generator,
) -> Logs:
    """Learn from transitions `[B]` until `patience` epochs brought no improvement.

    Each member draws batches of its own, with replacement, and ends with the weights of
    its least validation error. Members with the least errors become the elites.

    Args:
        world: Trained on from its current weights, with new statistics.
        data: As of `ReplayBuffer.every_step`, with their `number`.
        step: Takes one gradient step on batches `[K, b]`, and returns metrics.
        batch_size: `b`.
        patience: Epochs without an improvement before it ends.
        max_epochs: Most epochs.
        generator: What batches are drawn from.

    Returns:
        `model_loss` of the last step, the elites' mean error in validation as
        `model_error`, and `model_steps`.
    """
    train, validation = split(data)
    world.fit_to(train)
    now = [*world.network.parameters()]
    best = [weight.detach().clone() for weight in now]
    least = world.errors(validation)
    logs: Logs = {}
    waited, epoch, batches = 0, 0, max(1, len(train) // batch_size)
    size = world.network.members, batch_size
    like: dict[str, Any] = {"generator": generator, "device": generator.device}
    while waited < patience and epoch < max_epochs:
        for _ in range(batches):
            logs = step(train[torch.randint(len(train), size, **like)])
        errors = world.errors(validation)
        improved = bool((errors < least * (1 - IMPROVEMENT)).any())
        better = errors < least
        for weight, kept in zip(now, best, strict=True):
            mine = better.view(-1, *[1] * (weight.dim() - 1))
            kept.copy_(torch.where(mine, weight.detach(), kept))
        least = torch.minimum(errors, least)
        waited, epoch = 0 if improved else waited + 1, epoch + 1
    for weight, kept in zip(now, best, strict=True):
        weight.data.copy_(kept)
    world.elite.copy_(least.argsort()[: len(world.elite)])
    error = least[world.elite].mean()
    return {**logs, "model_error": error, "model_steps": float(epoch * batches)}
