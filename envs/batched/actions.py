"""Actions of N environments as tensors, checked where that is free."""

from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from yieldrl.core import Utf8Text
from yieldrl.core.spaces import choice_ranges


class ActionReader:
    """Converts the actions of N environments to int64, or floats of `dtype`, and checks
    them.

    On a CPU, where reading values does not synchronize, `read` rejects numbers that are
    not finite; elsewhere `mark` makes their rewards NaN. Discrete actions are not
    checked if steps are compiled, because it would cost a tenth of the step.
    """

    def __init__(self, envs: Any) -> None:
        self.space, self.num_envs = envs.single_action_space, envs.num_envs
        floats = np.issubdtype(envs.action_space.dtype, np.floating)
        on_cpu = envs.device.type == "cpu"
        self.dtype = envs.dtype if floats else torch.int64
        self.checks_finite = floats and on_cpu
        self.marks_rewards = floats and not on_cpu
        self._wanted = envs.action_space.shape, self.dtype, envs.device
        ranges = choice_ranges(self.space) if on_cpu and not envs.compiles else []
        self._choices = ranges[0] if ranges else None

    def read(self, actions: Any, ignored: Tensor | None = None) -> Tensor:
        """The actions, a tensor, array or list (texts may be strings), as a tensor
        `[N, ...]`.

        Where `ignored`, bool `[N]`, is True, any value is accepted. ValueError if
        actions have a wrong shape, type or device, are not finite, or not in the space.
        """
        is_tensor = isinstance(actions, Tensor)
        if not is_tensor or (
            (actions.shape, actions.dtype, actions.device) != self._wanted
        ):
            actions = self._converted(actions)
        if self.checks_finite:
            wrong = ~np.isfinite(actions.detach().numpy())
            if wrong.any() and ignored is not None:
                wrong &= ~ignored.numpy().reshape(-1, *[1] * (wrong.ndim - 1))
            if wrong.any():
                why = f"finite: give numbers of {self.space}"
                self._refuse(actions, wrong, f"{why} (is the policy's output finite?)")
        if self._choices is not None:
            wrong = self._choices.outside(actions.numpy())
            if wrong.any():
                why = f"in {self.space}: give one of its choices"
                self._refuse(actions, wrong, why)
        return actions

    def mark(self, reward: Tensor, action: Tensor, ignored: Tensor | None) -> Tensor:
        """Rewards `[N]`, NaN where the action is not finite; never synchronizes."""
        mark = (0 * action.detach()).reshape(self.num_envs, -1).sum(1)
        if ignored is not None:
            mark = mark.masked_fill(ignored, 0)
        return reward + mark.to(reward.dtype)

    def _refuse(self, action: Tensor, wrong: np.ndarray, why: str) -> NoReturn:
        """Raise for the first environment with a wrong action."""
        i = int(wrong.reshape(self.num_envs, -1).any(1).argmax())
        given = action[i].tolist()
        raise ValueError(f"action {given} of environment {i} is not {why}")

    def _converted(self, actions: Any) -> Tensor:
        shape, dtype, device = self._wanted
        if not isinstance(actions, Tensor):
            try:
                array = np.asarray(actions)
                if isinstance(self.space, Utf8Text) and array.dtype.kind == "U":
                    array = self.space.encode(array.tolist())
                actions = torch.tensor(array, device=device)
            except (TypeError, ValueError) as reason:
                needed = f"actions must be of shape {shape}"
                raise ValueError(f"{needed}: {reason}") from None
        floats = dtype.is_floating_point
        given = actions.shape, actions.is_floating_point(), actions.device
        if given != (shape, floats, device):
            raise ValueError(
                f"actions must be {'floats' if floats else 'integers'} of shape {shape}"
                f" on {device}, got {actions.dtype} of shape {tuple(actions.shape)} on"
                f" {actions.device}"
            )
        return actions.to(dtype)
