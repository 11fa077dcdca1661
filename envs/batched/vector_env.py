"""The base class of batched worlds, with Gymnasium's `reset` and `step`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from yieldrl.envs.batched import checks, tree
from yieldrl.envs.batched.batch import Batch


class TorchVectorEnv(Batch, VectorEnv[Any, Any, Tensor]):
    """Base class of device-batched environments.

    A subclass defines its spaces and `noise_size`, the random numbers of a reset, and
    two pure functions, `initial_state` and `dynamics`; a third, `observe`, if observing
    is more than transposing. The base does resets, time limit, seeds and checkpoints.
    Steps never synchronize. On a CPU actions that are not finite are an error;
    elsewhere their reward is NaN, which a collector reports at its next check.

    A state is a tensor `[D, N]`, a row per quantity and a column per environment, or a
    dict of tensors (of any dtype) whose last axis is `N`. Gradients flow through `step`
    where `dynamics` is smooth; the graph grows over steps only if the state or the
    actions require gradients, until `detach`.

    Args:
        num_envs: N, the number of environments; the first argument of subclasses too.
        max_episode_steps: Time limit in steps, which truncates; None for no limit.
        device: Where the tensors live.
        dtype: Precision of the state. Observations have the dtype of their space.
        autoreset_mode: SAME_STEP resets within the step that ends an episode; NEXT_STEP
            in the one after it, which ignores the action; DISABLED requires calls of
            `reset(options={"reset_mask": ended})`.
        render_mode: None, or "rgb_array" if the subclass has `draw`.
        compile: Whether to compile `pure_step` with `torch.compile`.

    Attributes:
        state: The state (see `fold`), None before the first reset. It may be replaced.
        elapsed: Steps of the current episodes, int64 `[N]`.
        compiles: The argument `compile`.

    Example:
        >>> from gymnasium.spaces import Box
        >>> class Walk(TorchVectorEnv):
        ...     single_observation_space = Box(-9, 9, (1,))
        ...     single_action_space = Box(-1, 1, ())
        ...     noise_size = 1
        ...     def initial_state(self, noise):
        ...         return noise - 0.5
        ...     def dynamics(self, state, action):
        ...         state = state + action
        ...         return state, -state[0].abs(), state[0].abs() > 3
        >>> envs = Walk(num_envs=2, max_episode_steps=50)
        >>> obs, info = envs.reset(seed=0)
        >>> obs, reward, terminated, truncated, info = envs.step(torch.tensor([0.0, 4]))
        >>> terminated, info["final_obs"].shape
        (tensor([False,  True]), torch.Size([2, 1]))
    """

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes: observations of all environments, and an empty info.

        Args:
            seed: An int seeds the generator, and so all later numbers. N ints give each
                environment the first state of its own seed, at any index in the batch
                and on any device; later episodes share a generator seeded by all N. A
                None among them is an unpredictable seed.
            options: `{"reset_mask": bool [N]}` resets only those environments (it may
                be all False). Also options of `reset_parameters`, for this reset only:
                a number, or `[N]`.

        Raises:
            ValueError: If an argument is not as above, or if the subclass's functions
                disagree with each other or with its spaces.
        """
        mask, parameters = checks.reset_options(self, options)
        noise = self._noise.pending  # not yet used by a step
        if seed is not None:
            noise = self._noise.seed(seed)
        elif noise is None:
            noise = self.draw_noise()
        fresh = self._first_states(noise, parameters)
        if self.state is None:
            checks.check_functions(self, self._action_reader, fresh)
        self._noise.pending = self.draw_noise() if self._takes_noise else None
        fresh = self.fold(fresh)
        if mask is None:
            mask, self.state = torch.ones_like(self._ended), fresh
        self.state = tree.where(mask, fresh, self.state)
        self.elapsed = self.elapsed.masked_fill(mask, 0)
        self._ended = self._ended & ~mask
        return self.observe(self.unfold(self.state)), {}

    def step(
        self, actions: Tensor | np.ndarray
    ) -> tuple[Any, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Step every environment once.

        Args:
            actions: `[N, ...]`, a tensor on the environments' device, an array or a
                list.

        Returns:
            `obs [N, ...]`, `reward` float32 `[N]`, `terminated` and `truncated` bool
            `[N]`, and info; all new tensors. In SAME_STEP mode info has `final_obs`
            `[N, ...]`, the observations before any reset, and the mask `_final_obs` of
            the environments whose episode ended.

        Raises:
            ResetNeeded: Before the first reset, and (on the CPU only) if in DISABLED
                mode an episode has ended that was not reset.
            ClosedEnvironmentError: After `close`.
            TypeError, ValueError: If actions are not as above, or (on the CPU only)
                are not finite, or (only if not compiled) not in the space.
        """
        self.check_running()
        before = self._ended
        ignored = before if self.autoreset_mode is AutoresetMode.NEXT_STEP else None
        action = self._action_reader.read(actions, ignored)
        self.state, self.elapsed, self._ended, *answer, final_obs = self._step(
            self.state, self.elapsed, before, action, self._noise.pending
        )
        if self._action_reader.marks_rewards:
            answer[1] = self._action_reader.mark(answer[1], action, ignored)
        self.renew_noise(before)
        info = {"final_obs": final_obs, "_final_obs": self._ended}
        return (*answer, info if self.autoreset_mode is AutoresetMode.SAME_STEP else {})
