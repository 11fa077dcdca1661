"""Chapter 20, worlds inside."""

from collections.abc import Callable

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import dreamer


def imagined_returns(
    reward: Tensor, end: Tensor, next_value: Tensor, gamma: float, gae_lambda: float
) -> Tensor:
    """The lambda-returns `[H, B]` of imagined branches.

    Args:
        reward: Of each imagined step, `[H, B]`.
        end: How probably the step ends the episode, `[H, B]`, in [0, 1].
        next_value: What a critic says of the state after it, `[H, B]`.
        gamma: Discount.
        gae_lambda: Share of the next step's return beside the critic's value.
    """
    # The gap. From the last row back:
    #   R_t = r_t + gamma (1 - end_t) ((1 - lambda) V(s_{t+1}) + lambda R_{t+1})
    # A branch stops at the horizon because nobody imagined on. What comes after it?
    # gap: go from the horizon back to the first step
    later, returns = next_value[-1], []
    for t in reversed(range(len(reward))):
        future = (1 - gae_lambda) * next_value[t] + gae_lambda * later
        later = reward[t] + gamma * (1 - end[t]) * future
        returns.append(later)
    return torch.stack(returns[::-1])
    # end


def k_step_errors(
    step: Callable[[Tensor, Tensor], Tensor],
    obs: Tensor,
    action: Tensor,
    next_obs: Tensor,
    scale: Tensor,
) -> Tensor:
    """How far off a model is after 1, 2, ... T steps, `[T]`.

    Args:
        step: The model: from states `[B, D]` and actions `[B, A]` to the next states.
        obs: Real steps in a row, `[T, B, D]`.
        action: What was really done, `[T, B, A]`.
        next_obs: What came of it, `[T, B, D]`.
        scale: Standard deviation of the observations, `[D]`, the unit of errors.
    """
    # The gap. Of each number of steps it is the root of the mean square, in the unit.
    # In imagination nobody says where the world is after the first step.
    # gap: begin with a real state, and go on from predictions
    state, errors = obs[0], []
    for t in range(len(action)):
        state = step(state, action[t])
        error = (state - next_obs[t]) / scale
        errors.append(error.square().mean().sqrt())
    return torch.stack(errors)
    # end


class Algorithm(dreamer.Algorithm):
    """Dreamer whose imagined steps are worth what is said above."""

    @torch.no_grad()
    def imagined(self, state: Tensor) -> TensorDict:
        """A segment `[H, B]` with `returns` and `advantage`."""
        segment, config = super().imagined(state), self.config
        end = 1 - segment["discount"] / config.gamma
        both = torch.stack([segment["obs"], segment["next_obs"]])
        value, next_value = self.model.returns.mean(self.target_critic(both))
        steps = segment["reward"], end, next_value
        returns = imagined_returns(*steps, config.gamma, config.gae_lambda)
        advantage = (returns - value) / self.spread.value.clamp(min=1.0)
        return segment.update({"returns": returns, "advantage": advantage})
