"""Actions as callers give them, as tensors that `dynamics` takes; bad ones refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete, Space
from gymnasium.vector.utils import batch_space
from torch import Tensor


class ActionReader:
    """Converts and checks the actions of N environments.

    Args:
        space: Of one environment's action.
        num_envs: N.
        dtype: Of actions that are floats; others are int64.
        device: Where the environments live.
        compiled: Whether steps are compiled: then choices are not checked, because that
            would cost a tenth of the step.

    Attributes:
        dtype: Of the tensors that `read` returns.
        checks_finite: Whether `read` refuses numbers that are not finite: on a CPU,
            where reading values does not wait.
        marks_rewards: Whether `mark` must make rewards NaN instead.
    """

    def __init__(
        self,
        space: Space[Any],
        num_envs: int,
        dtype: torch.dtype,
        device: torch.device,
        *,
        compiled: bool,
    ) -> None:
        self.space, self.num_envs = space, num_envs
        batch = batch_space(space, num_envs)
        floats = np.issubdtype(batch.dtype, np.floating)
        on_cpu = device.type == "cpu"
        self.dtype = dtype if floats else torch.int64
        self.checks_finite = floats and on_cpu
        self.marks_rewards = floats and not on_cpu
        self._wanted = batch.shape, self.dtype, device
        checks_choices = on_cpu and not floats and not compiled
        self._choices = _choices(space) if checks_choices else None

    def read(self, actions: Any, ignored: Tensor | None = None) -> Tensor:
        """The actions as a tensor `[N, ...]`.

        Args:
            actions: A tensor on the environments' device, an array or a list.
            ignored: Where actions are ignored, bool `[N]`, and may be anything.

        Raises:
            TypeError, ValueError: If they are not such, not finite, or not in the
                space.
        """
        if not isinstance(actions, Tensor):
            actions = self._from_array(actions)
        if (actions.shape, actions.dtype, actions.device) != self._wanted:
            actions = self._converted(actions)
        if self.checks_finite:
            self._check_finite(actions, ignored)
        if self._choices is not None:
            self._check_choices(actions, *self._choices)
        return actions

    def mark(self, reward: Tensor, action: Tensor, ignored: Tensor | None) -> Tensor:
        """Rewards `[N]`, NaN where the action is not finite; this never waits."""
        mark = (0 * action.detach()).reshape(self.num_envs, -1).sum(1)
        if ignored is not None:
            mark = mark.masked_fill(ignored, 0)
        return reward + mark.to(reward.dtype)

    def _check_finite(self, action: Tensor, ignored: Tensor | None) -> None:
        finite = np.isfinite(action.detach().numpy())
        if not finite.all() and ignored is not None:
            finite = finite | ignored.numpy().reshape(-1, *[1] * (finite.ndim - 1))
        if not finite.all():
            i = self._first(~finite)
            raise ValueError(
                f"action {action[i].tolist()} of environment {i} is not finite: give"
                f" numbers of {self.space} (is the policy's output finite?)"
            )

    def _check_choices(self, action: Tensor, first: Any, count: Any) -> None:
        given = action.numpy() if first is None else action.numpy() - first
        # As unsigned numbers, those below the first choice are beyond the last one.
        wrong = given.view(np.uint64) >= count
        if wrong.any():
            i = self._first(wrong)
            raise ValueError(
                f"action {action[i].tolist()} of environment {i} is not in"
                f" {self.space}: give one of its choices"
            )

    def _first(self, wrong: np.ndarray) -> int:
        """The first environment with a wrong action."""
        return int(wrong.reshape(self.num_envs, -1).any(1).argmax())

    def _from_array(self, action: Any) -> Tensor:
        if not isinstance(action, np.ndarray | list | tuple):
            raise TypeError(
                f"actions must be a tensor, an array or a list, got {type(action)}"
            )
        shape, _, device = self._wanted
        try:
            return torch.tensor(np.asarray(action), device=device)
        except (TypeError, ValueError) as reason:
            raise ValueError(f"actions must be of shape {shape}: {reason}") from None

    def _converted(self, action: Tensor) -> Tensor:
        shape, dtype, device = self._wanted
        floats = dtype.is_floating_point
        if (
            action.shape != shape
            or action.is_floating_point() != floats
            or action.device != device
        ):
            raise ValueError(
                f"actions must be {'floats' if floats else 'integers'} of shape"
                f" {shape} on {device}, got {action.dtype} of shape"
                f" {tuple(action.shape)} on {action.device}"
            )
        return action.to(dtype)


def _choices(space: Any) -> tuple[Any, Any] | None:
    """The first choice (None for 0) and how many there are; None for other actions."""
    if isinstance(space, MultiBinary):
        return None, np.uint64(2)
    if not isinstance(space, Discrete | MultiDiscrete):
        return None
    first = np.asarray(space.start, np.int64)
    count = space.n if isinstance(space, Discrete) else space.nvec
    return first if first.any() else None, np.asarray(count).astype(np.uint64)
