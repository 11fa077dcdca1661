"""Errors of a world model, and a check whether a policy exploits them."""

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.core.logs import Logs
from yieldrl.imagination.outcomes import recall_of_ends
from yieldrl.imagination.rollout import WorldModel

EXPLOITED = (
    "imagined returns rise and real ones fall: the policy exploits the mistakes of the"
    " model of the world; shorten the horizon, raise real_share, or let the model learn"
    " more often"
)


def followed(
    world: WorldModel, real: TensorDict
) -> Iterator[tuple[Any, TensorDict, Tensor]]:
    """Predictions beside consecutive real steps `[T, B]`, with the same actions.

    The model goes on from its own predictions. Each row yields the predicted next state
    `[B, ...]`, the row `[B]`, and whether it is still in the first episode, bool `[B]`.
    """
    state = world.begin(real["obs"][0])
    goes_on = torch.ones_like(real["terminated"][0])
    goes_on &= real[0].get("valid", goes_on)  # a step that only resets leads nowhere
    for row in real.unbind(0):
        state = world.predict(state, row["action"]).next_obs
        yield state, row, goes_on
        goes_on = goes_on & ~(row["terminated"] | row["truncated"])


@torch.no_grad()
def k_step_errors(world: WorldModel, real: TensorDict) -> Tensor:
    """Errors of predictions after 1, 2, ... T steps of real actions, `[T]`.

    The model goes on from its own predictions. Errors are root mean squares, in
    units of the standard deviation of the real observations. Steps after an episode's
    end are left out; NaN where all have ended.

    Args:
        world: A model that predicts observations `[B, D]`.
        real: Consecutive steps, `[T, B]`, as of `ReplayBuffer.sequences`.
    """
    scale, errors = real["obs"].flatten(0, 1).std(0, correction=0), []
    scale = scale.where(scale > 1e-6, 1.0)
    for state, row, goes_on in followed(world, real):
        square = ((state - row["next_obs"]) / scale).square().mean(-1)
        mean = square.where(goes_on, 0.0).sum() / goes_on.sum()
        errors.append(mean.sqrt())
    return torch.stack(errors)


@torch.no_grad()
def outcome_errors(world: WorldModel, data: TensorDict) -> Logs:
    """Errors of the predicted reward and end of real steps `[B]`.

    `reward_error` is the mean absolute one; `end_recall` is NaN if no step ended.
    """
    prediction = world.predict(world.begin(data["obs"]), data["action"])
    outcome, ended = world.outcome(prediction.outcome), data["terminated"]
    error = (outcome.reward - data["reward"]).abs().mean()
    return {"reward_error": error, "end_recall": recall_of_ends(outcome.end, ended)}


class ExploitationWatch(nn.Module):
    """Warns if a policy gets better in imagination and worse in the environment.

    It compares the latest `span` pairs of returns with the `span` before them. The
    policy exploits the model if imagined returns have risen and real ones fallen, both
    by more than `errors` standard errors of the difference.
    """

    pairs: Tensor
    warned: Tensor

    def __init__(self, span: int = 5, errors: float = 2.0) -> None:
        super().__init__()
        self.span, self.errors = span, errors
        unknown = torch.full((2 * span, 2), torch.nan, dtype=torch.float64)
        self.register_buffer("pairs", unknown)
        self.register_buffer("warned", torch.tensor(False))

    def add(self, imagined: float, real: float) -> bool:
        """Add the returns of one policy; whether it exploits the model."""
        latest = self.pairs.new_tensor([[imagined, real]])
        self.pairs.copy_(torch.cat([self.pairs[1:], latest]))
        before, after = self.pairs.split(self.span)
        spread = ((before.var(0) + after.var(0)) / self.span).sqrt()
        risen = (after.mean(0) - before.mean(0)) / spread.clamp(min=1e-12)
        return bool(risen[0] > self.errors) and bool(risen[1] < -self.errors)

    def look(self, imagined: float, real: float) -> bool:
        """`add`, with a UserWarning when the policy first exploits the model."""
        exploits = self.add(imagined, real)
        if exploits and not bool(self.warned):
            self.warned.fill_(True)
            warnings.warn(EXPLOITED, stacklevel=2)
        return exploits
