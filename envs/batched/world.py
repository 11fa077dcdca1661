"""A world of tensors as pure functions: first states, dynamics, observations."""

from functools import cached_property
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from yieldrl.envs.batched.noise import NoiseSource
from yieldrl.envs.batched.tree import last_axes, tree_map, where
from yieldrl.foundations.tracing import is_traced


class World:
    """The functions that a subclass of `TorchVectorEnv` defines, and `pure_step`.

    They depend only on their arguments and on constants of the instance, and change
    neither. A state is a tensor `[D, N]` or a dict of tensors whose last axis is `N`.
    """

    num_envs: int
    device: torch.device
    dtype: torch.dtype
    autoreset_mode: AutoresetMode
    noise_size: int
    observed_rows: slice | None = None
    """The rows of the state that `observe` transposes; None for all of them."""
    _noise: NoiseSource
    _limit: int  # the time limit in steps, or a huge number for none
    _obs_dtype: torch.dtype
    _transposes: bool  # whether `observe` only transposes the state

    def initial_state(self, noise: Tensor) -> Any:
        """Turn noise `[noise_size, N]`, uniform in [0, 1), into first states.

        The noise may have fewer than N columns, unless parameters `[N]` are used.
        """
        raise NotImplementedError(f"{type(self)} lacks initial_state(noise)")

    def dynamics(self, state: Any, action: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Next state, reward `[N]` and bool `terminated` `[N]`; changes no argument.

        Actions `[N, ...]` are int64, or of the state's `dtype` in a Box of floats.
        """
        raise NotImplementedError(f"{type(self)} lacks dynamics(state, action)")

    def random_dynamics(
        self, state: Any, action: Tensor, noise: Tensor
    ) -> tuple[Any, Tensor, Tensor]:
        """`dynamics` with noise; override it instead if the dynamics are random.

        `initial_state` gets the same `noise` `[noise_size, N]` in this step: use rows
        that it does not use.
        """
        return self.dynamics(state, action)

    def observe(self, state: Any) -> Any:
        """Observations `[N, ...]` in new memory; by default the transposed state."""
        state = state if self.observed_rows is None else state[self.observed_rows]
        size = (state.shape[-1], *state.shape[:-1])
        obs = torch.empty(size, dtype=self._obs_dtype, device=state.device)
        # `obs.copy_(state.t())` would copy the matrix in square blocks, which takes
        # twice as long for the few rows of a state.
        (obs.t() if obs.ndim <= 2 else obs.movedim(0, -1)).copy_(state)
        return obs

    def draw_noise(self, count: int | None = None) -> Tensor:
        """Uniform numbers in [0, 1), `[noise_size, count or N]`, from the generator."""
        return self._noise.draw(count)

    def restart(self, ended: Tensor, state: Any, noise: Tensor | None) -> Any:
        """The state, replaced by first states where `ended` `[N]` is True.

        If Python may branch, they are computed only for those environments, from
        their columns of the noise `[noise_size, N]`, or from new noise if it is None;
        if no episode ended, the same object is returned. Otherwise they are computed
        for all environments, which needs no synchronization.
        """
        if not self._branches:
            assert noise is not None
            return where(ended, self.initial_state(noise), state)
        columns = ended.nonzero().view(-1)
        few = len(columns)
        if not few:
            return state
        own = self.draw_noise(few) if noise is None else noise[:, columns]
        fresh = self.initial_state(own)
        return tree_map(lambda x, y: x.index_copy(-1, columns, y), state, fresh)

    def observe_restarted(self, ended: Tensor, state: Any, final_obs: Any) -> Any:
        """`observe(state)` after a `restart`, in new memory. Override it if it is
        cheaper to change `final_obs`, the observations before the restart, where
        `ended` `[N]` is True."""
        return self.observe(state)

    def observe_last(self, state: Any) -> Any:
        """`observe(state)` for a state that is not used again: uncompiled, a view."""
        if not (self._branches and self._transposes):
            return self.observe(state)
        state = state if self.observed_rows is None else state[self.observed_rows]
        state = state.to(self._obs_dtype)
        return state.t() if state.ndim <= 2 else state.movedim(-1, 0)

    def fold(self, state: Any) -> Any:
        """The state as stored between steps: in few tensors, because each argument of a
        compiled step costs microseconds."""
        return state

    def unfold(self, state: Any) -> Any:
        """The inverse of `fold`."""
        return state

    def draw(self, state: Any, index: int) -> np.ndarray:
        """Frame uint8 `[H, W, 3]` of environment `index`; `state` is an array."""
        raise NotImplementedError(f"{type(self)} lacks draw(state, index)")

    def pure_step(
        self, state: Any, elapsed: Tensor, ended: Tensor, action: Tensor, noise: Any
    ) -> tuple[Any, ...]:
        """One step of all environments as a function of tensors; it can be compiled.

        `ended` marks where the previous step ended an episode, bool `[N]` (for
        NEXT_STEP); `noise` `[noise_size, N]`, uniform in [0, 1), is for
        `random_dynamics` and for resets; with None `restart` draws its own.

        Returns:
            `state, elapsed, ended` for the next step, and what `step` returns: `obs,
            reward, terminated, truncated, final_obs`.
        """
        state = self.unfold(state)
        state, reward, terminated = self.random_dynamics(state, action, noise)
        elapsed = elapsed + 1
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            state = self.restart(ended, state, noise)
            elapsed.masked_fill_(ended, 0)
            reward = reward.masked_fill(ended, 0)
            terminated = terminated & ~ended
        truncated = elapsed >= self._limit
        ended = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            last, state = state, self.restart(ended, state, noise)
            if state is last:  # no episode ended
                obs = self.observe(state)
                final_obs = tree_map(Tensor.clone, obs)
            else:
                final_obs = self.observe_last(last)
                obs = self.observe_restarted(ended, state, final_obs)
                elapsed.masked_fill_(ended, 0)
        else:
            obs = final_obs = self.observe(state)
        state, reward = self.fold(state), reward.to(torch.float32)
        return state, elapsed, ended, obs, reward, terminated, truncated, final_obs

    @cached_property
    def _can_branch(self) -> bool:
        """Whether Python may branch on values of tensors between compiled functions:
        False if that would synchronize, or if parameters `[N]` prevent computing first
        states from fewer columns of noise. Set it to False to compute as on a
        GPU."""
        noise = torch.zeros(self.noise_size, 1, dtype=self.dtype)
        try:
            with torch.no_grad():
                return last_axes(self.initial_state(noise)) == {1}
        except (IndexError, RuntimeError, ValueError):  # shapes do not fit
            return False

    @property
    def _branches(self) -> bool:
        """Whether Python may branch in the current code."""
        return self._can_branch and not is_traced()
