"""World models, and imagined rollouts: a policy acts in a world model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Model
from yieldrl.buffers.spec import check_at_least_one
from yieldrl.imagination.outcomes import OutcomeHead


class Prediction(NamedTuple):
    """A world model's prediction of a step, for a batch `[B]` of states."""

    next_obs: Any  # the next states [B, ...], in the model's own form
    outcome: Tensor  # raw outputs for reward and end [B, outputs]; see `outcome`
    disagreement: Tensor  # the model's uncertainty [B]; 0 if unknown


class WorldModel(Model, ABC):
    """Networks that predict the next state, the reward and the end of a step.

    A state is what `begin` returns for an observation: itself, where the model
    predicts observations; a latent, a nested TensorDict `[B]` too, where it predicts
    latents. Actions are those that a buffer has: choices count from zero.
    """

    outcome: OutcomeHead
    """Reads reward and end from what `predict` returns."""

    def begin(self, obs: Any) -> Any:
        """The state `[B, ...]` in which imagination starts, of real observations."""
        return obs

    @abstractmethod
    def predict(
        self, obs: Any, action: Tensor, generator: torch.Generator | None = None
    ) -> Prediction:
        """Predict the step after actions `[B, ...]` in states `[B, ...]`.

        With a generator it is sampled, if the model has a distribution; without one it
        is the mean.
        """


Acting = Callable[[Any, torch.Generator], Mapping[str, Any]]
"""A function from states `[B, ...]` to an `action [B, ...]` and further entries, such
as `log_prob` and `value`."""


def imagine(
    world: WorldModel,
    act: Acting,
    obs: Any,
    horizon: int,
    *,
    gamma: float,
    generator: torch.Generator,
    soft: bool = False,
    model_version: int = 0,
    policy_version: int = 0,
) -> TensorDict:
    """A segment `[H, B]` of imagined steps from real observations `[B, ...]` on.

    Its last row is truncated, not terminated: bootstrap from its `next_obs`. `gae` and
    `discounted_returns` of `yieldrl.functional` take `discount` for `gamma`, and are
    exact.

    Where the model says that a step ends, the branch is over: the rows after it are not
    `valid`. With `soft` no branch ends; instead the probability of an end lies in
    `discount`, `gamma (1 - end)`, and `reached` is the probability that a step is
    taken at all (the weight of its loss). Gradients flow, unless they are turned off.

    Args:
        world: Predicts the steps.
        act: The policy.
        obs: Where the branches start.
        horizon: `H`, steps of a branch, at least 1.
        gamma: Discount.
        generator: What actions and predictions are drawn from.
        soft: Whether ends discount rather than cut.
        model_version: Written beside every step, as is `policy_version`.
        policy_version: See `model_version`.

    Returns:
        A TensorDict of `obs`, `next_obs`, `action`, `reward`, `terminated`,
        `truncated`, `valid`, `discount`, `reached`, `disagreement`, both versions, and
        what else `act` returned.
    """
    check_at_least_one(horizon=horizon)
    state, reached, rows = world.begin(obs), None, []
    for _ in range(horizon):
        acted = act(state, generator)
        predicted = world.predict(state, acted["action"], generator)
        outcome = world.outcome(predicted.outcome, None if soft else generator)
        reached = torch.ones_like(outcome.reward) if reached is None else reached
        no = torch.zeros_like(outcome.terminated)
        if soft:
            reward, valid, ended = outcome.reward, ~no, no
            goes_on = 1 - outcome.end
            discount = gamma * goes_on
        else:
            reward, valid = outcome.certain_reward, reached > 0
            ended = outcome.terminated & valid
            goes_on = (~ended).float()
            discount = torch.full_like(reached, gamma)
        row = {**acted, "obs": state, "next_obs": predicted.next_obs}
        row |= {"reward": reward, "terminated": ended, "truncated": no, "valid": valid}
        row |= {"discount": discount, "reached": reached}
        row["disagreement"] = predicted.disagreement
        rows.append(TensorDict(row, reached.shape))
        state, reached = predicted.next_obs, reached * goes_on
    last = rows[-1]
    last["truncated"] = last["valid"] & ~last["terminated"]
    segment = TensorDict.maybe_dense_stack(rows)
    for name, version in (("model", model_version), ("policy", policy_version)):
        written = torch.full_like(segment.get("reward"), version, dtype=torch.int64)
        segment.set(f"{name}_version", written)
    return segment


def imagined_return(segment: TensorDict) -> Tensor:
    """Rewards of each branch, not discounted, as far as it was reached, `[B]`."""
    return (segment["reward"] * segment["reached"]).sum(0)
