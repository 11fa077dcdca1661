"""Chapter 6, DQN."""

import math
from collections.abc import Callable

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import dqn

Network = Callable[[Tensor], Tensor]
"""From observations `[B, ...]` to the values of all actions, `[B, A]`."""


def td_target(
    online: Network,
    target: Network,
    reward: Tensor,
    next_obs: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
) -> Tensor:
    """What `Q(s, a)` is moved towards, `[B]`, for transitions `[B]`.

    Args:
        online: `Q`, the network that learns.
        target: `Q'`, its copy that lags behind.
        reward: `r`.
        next_obs: `s'`, `[B, ...]`; at the end of an episode its last observation, not
            the first of the next.
        terminated: Bool; the episode ended there, and no future follows.
        truncated: Bool; it was cut there, though the world would have gone on.
        gamma: Discount.

    Returns:
        A new tensor without a gradient. Not all of the arguments are needed.
    """
    # The gap. r + gamma max_a' Q'(s', a'); a terminated step has no future.
    # A network's answer is [B, A]: which axis holds the actions?
    # To the loss this is a number: `with torch.no_grad():` around what asks a network.
    # gap: the target: ask the target network about next_obs
    with torch.no_grad():
        best = target(next_obs).amax(1)
    return reward + gamma * best * ~terminated
    # end


def element_loss(
    online: Network, obs: Tensor, action: Tensor, goal: Tensor, clip: float = math.inf
) -> Tensor:
    """The loss of every transition, `[B]`.

    Half of the squared error, as far as the error is not larger than `clip`; from there
    on it goes on as a straight line with the slope that it has reached (Huber 1964).

    Args:
        online: `Q`, the network that learns.
        obs: `s`, `[B, ...]`.
        action: `a`, the action that was taken there, an integer.
        goal: `y`, the target; it has no gradient.
        clip: Error from which on the loss is a line; `inf` squares all of them.
    """
    # The gap. The error is y - Q(s, a), of the action that was taken: pick its value
    # from [B, A] so that [B] is left, and mind what [B] - [B, 1] would be.
    #   |error| <= clip:  error^2 / 2
    #   |error| >  clip:  clip (|error| - clip / 2)
    # gap: the loss: pick the values of the actions that were taken
    q_value = online(obs).gather(1, action.unsqueeze(1)).squeeze(1)
    error = (goal - q_value).abs()
    squared = error.clamp(max=clip)
    return squared * (error - squared / 2)
    # end


class Algorithm(dqn.Algorithm):
    """DQN that takes the steps above."""

    def td_target(self, data: TensorDict) -> Tensor:
        """Targets `[B]` of a batch `[B]`."""
        networks = self.model.value, self.target_model.value
        step = data["reward"], data["next_obs"], data["terminated"], data["truncated"]
        return td_target(*networks, *step, self.config.gamma)

    def element_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The loss of every transition, `[B]`; nothing to log."""
        clip = math.inf if self.config.error_clip is None else self.config.error_clip
        step = data["obs"], data["action"], self.td_target(data)
        return element_loss(self.model.value, *step, clip), {}
