"""N environments as one set of tensors, stepped by tensor operations on a device."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.envs import batched_attributes as attributes
from yieldrl.envs import batched_checks as checks
from yieldrl.envs import batched_noise
from yieldrl.envs import batched_support as support
from yieldrl.envs.batched_compiled import CompiledPureStep
from yieldrl.foundations.device import usable_device


class TorchVectorEnv(VectorEnv[Any, Any, Tensor]):
    """Base class of device-batched environments.

    A subclass names its spaces and how many random numbers a reset takes, and writes
    two pure functions, `initial_state` and `dynamics`; a third, `observe`, if observing
    is more than transposing. Resets, time limit, seeds and checkpoints are done here.
    No step waits for the device. On a CPU, where looking is free, actions that are not
    finite are refused, and first states are made only for those that begin. Elsewhere
    the reward of such an action is NaN, and whoever collects it says so at the next
    look.

    A state is a tensor `[D, N]`, a row per quantity and a column per environment, or a
    dict of tensors (of any dtype) whose last axis is `N`. Gradients flow through `step`
    where `dynamics` is smooth; the graph grows over steps only if the state or the
    actions require gradients, until `detach`.

    Args:
        num_envs: N, the number of environments; the first argument of subclasses too.
        max_episode_steps: `truncated` is set from this step on; None for no limit.
        device: Where the tensors live.
        dtype: Precision of the state. Observations have the dtype of their space.
        autoreset_mode: SAME_STEP resets within the step that ends an episode; NEXT_STEP
            in the one after it, which ignores the action; DISABLED leaves it to
            `reset(options={"reset_mask": ended})`.
        render_mode: None, or "rgb_array" where the subclass can `draw`.
        compile: Whether to `torch.compile` the pure step.

    Attributes:
        state: The state (see `fold`), None before the first reset. It may be replaced.

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

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as in gymnasium)
    noise_size: int
    observed_rows: slice | None = None
    """The rows of the state that `observe` transposes; None for all of them."""
    reset_parameters: Mapping[str, str] = MappingProxyType({})
    """Options of `reset`, and the parameters for which they stand in that once."""
    many_tensors: bool = False
    """Whether a step makes dozens of tensors: if compiled, C++ makes them then."""
    packs_bools: bool = False
    """Whether compiled code leaves observations of bools as int32 `[N, K]`, four of
    them each: it stores bools one by one."""
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # of the constructor

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Remember the arguments, for `clone`."""
        envs = super().__new__(cls)
        envs._arguments = args[1:], {k: kwargs[k] for k in kwargs if k != "num_envs"}
        return envs

    def __init__(
        self,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        compile: bool = False,  # noqa: A002 (the word that PyTorch's users know)
    ) -> None:
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.device = usable_device(device)  # "cuda" becomes "cuda:0"
        self.dtype = dtype
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        checks.check_arguments(self)
        # Copies, because a space has a random generator that instances must not share.
        self.single_action_space = copy.deepcopy(self.single_action_space)
        self.single_observation_space = copy.deepcopy(self.single_observation_space)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        floats = np.issubdtype(self.action_space.dtype, np.floating)
        self.action_dtype = dtype if floats else torch.int64
        # Of actions that are taken as they are.
        self._action_kind = self.action_space.shape, self.action_dtype, self.device
        self._looks_at_floats = floats and self.device.type == "cpu"
        self._marks_rewards = floats and self.device.type != "cpu"
        looked_at = not compile and self.device.type == "cpu" and not floats
        self._choices = checks.choices(self.single_action_space) if looked_at else None
        observation = np.empty(0, self.single_observation_space.dtype)
        self._obs_dtype = torch.from_numpy(observation).dtype
        self.state: Any = None
        self.elapsed = torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        self._ended = torch.zeros(num_envs, dtype=torch.bool, device=self.device)
        self._limit = max_episode_steps or torch.iinfo(torch.int64).max
        self.generator = torch.Generator(self.device)
        self.generator.seed()  # unpredictable, as gymnasium is, until reset(seed=...)
        self._noise: Any = None  # of the next step, if it takes any
        here, own = TorchVectorEnv, type(self)
        self._chance = own.random_dynamics is not here.random_dynamics
        self._transposes = own.observe is here.observe
        self._painter: Any = None  # gymnasium's environment that draws for this one
        self._step = CompiledPureStep(self) if compile else self.pure_step
        if compile or self.device.type != "cpu":
            self._looks = False

    @cached_property
    def _looks(self) -> bool:
        """Whether first states are made for those alone that begin an episode.

        Not where looking would make us wait, nor where they cannot be made of the noise
        of one, because parameters `[N]` have a part in them.
        """
        noise = torch.zeros(self.noise_size, 1, dtype=self.dtype)
        try:
            with torch.no_grad():
                return support.last_axes(self.initial_state(noise)) == {1}
        except (IndexError, RuntimeError, ValueError):  # shapes that do not fit
            return False

    def initial_state(self, noise: Tensor) -> Any:
        """Turn noise `[noise_size, N]`, uniform in [0, 1), into first states.

        It may be asked for those of fewer than N environments, unless parameters `[N]`
        have a part in them.
        """
        raise NotImplementedError(f"{type(self)} lacks initial_state(noise)")

    def dynamics(self, state: Any, action: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Next state, reward `[N]` and bool `terminated` `[N]`; writes to no argument.

        Actions `[N, ...]` are int64, or of the state's `dtype` in a Box of floats.
        """
        raise NotImplementedError(f"{type(self)} lacks dynamics(state, action)")

    def random_dynamics(
        self, state: Any, action: Tensor, noise: Tensor
    ) -> tuple[Any, Tensor, Tensor]:
        """`dynamics`; where chance has a part in it, override this one instead.

        `noise` `[noise_size, N]` is the one that `initial_state` gets within the same
        step: take other rows than that does.
        """
        return self.dynamics(state, action)

    def observe(self, state: Any) -> Any:
        """Observations `[N, ...]` in memory of their own; here the transposed state."""
        state = state if self.observed_rows is None else state[self.observed_rows]
        size = (state.shape[-1], *state.shape[:-1])
        obs = torch.empty(size, dtype=self._obs_dtype, device=state.device)
        # The other way round, `obs.copy_(state.t())`, a matrix is copied in square
        # blocks, which takes twice as long for the few rows of a state.
        (obs.t() if obs.ndim <= 2 else obs.movedim(0, -1)).copy_(state)
        return obs

    def restart(self, ended: Tensor, state: Any, noise: Tensor | None) -> Any:
        """The state, with first states where `ended` `[N]` is set.

        Where looking is free they are computed for those alone that need them, of their
        columns of the noise `[noise_size, N]`, or of some that is drawn if there is
        none; if nobody does, it is the same state. Elsewhere they are computed for
        everybody, which never waits.
        """
        if not self._looks_now:
            assert noise is not None
            return support.where(ended, self.initial_state(noise), state)
        columns = ended.nonzero().view(-1)
        if not len(columns):
            return state
        few = len(columns)
        own = self.draw_noise(few) if noise is None else noise[:, columns]
        fresh = self.initial_state(own)
        return support.tree_map(lambda x, y: x.index_copy(-1, columns, y), state, fresh)

    def observe_restarted(self, ended: Tensor, state: Any, final_obs: Any) -> Any:
        """`observe(state)` after a `restart`, in memory of its own.

        Override it where it is cheaper to change the observations from before the
        restart, `final_obs`, where `ended` `[N]` is set.
        """
        return self.observe(state)

    def observe_last(self, state: Any) -> Any:
        """`observe(state)` of a state that is dropped, so it may share its memory.

        Here it is a view where that is quicker, which is not compiled: a tensor whose
        first axis is not the slowest one.
        """
        if not (self._looks_now and self._transposes):
            return self.observe(state)
        state = state if self.observed_rows is None else state[self.observed_rows]
        state = state.to(self._obs_dtype)
        return state.t() if state.ndim <= 2 else state.movedim(-1, 0)

    def fold(self, state: Any) -> Any:
        """What is kept of a state between steps: all of it, in fewer tensors maybe.

        A tensor that goes into a compiled step and comes out of it costs microseconds.
        """
        return state

    def unfold(self, state: Any) -> Any:
        """The state that was folded, as the functions above take it."""
        return state

    def draw(self, state: Any, index: int) -> np.ndarray:
        """Picture uint8 `[H, W, 3]` of environment `index`, its state as an array."""
        raise NotImplementedError(f"{type(self)} lacks draw(state, index)")

    def parameter(self, name: str, value: Any) -> Tensor:
        """A constant as a tensor: `[]`, or `[N]` with one value per environment."""
        return attributes.parameter(self, name, value)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameters that `set_parameters` takes."""
        return attributes.parameter_names(self)

    def set_parameters(
        self, values: Mapping[str, Any], where: Tensor | None = None
    ) -> None:
        """Change several parameters at once, from the next step on.

        Args:
            values: By name, numbers or tensors `[N]`.
            where: Whose change, bool `[N]`; None for everybody's. With a mask values
                are not looked at, so that nobody waits for the device.

        Raises:
            ValueError: If a name is unknown, or a value of a wrong shape.
        """
        attributes.set_parameters(self, values, where)

    def pure_step(
        self, state: Any, elapsed: Tensor, ended: Tensor, action: Tensor, noise: Any
    ) -> tuple[Any, ...]:
        """All of a step as a function of tensors: this is what gets compiled.

        `ended` says whose episode ended in the step before, bool `[N]` (for NEXT_STEP);
        `noise` `[noise_size, N]`, uniform in [0, 1), is for `random_dynamics` and for
        those that reset. Where there is no chance in a step and looking is free it is
        None, and `restart` draws what these need.

        Returns:
            `state, elapsed, ended` for the next step, and what `step` answers: `obs,
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
                final_obs = support.tree_map(Tensor.clone, obs)
            else:
                final_obs = self.observe_last(last)
                obs = self.observe_restarted(ended, state, final_obs)
                elapsed.masked_fill_(ended, 0)
        else:
            obs = final_obs = self.observe(state)
        state, reward = self.fold(state), reward.to(torch.float32)
        return state, elapsed, ended, obs, reward, terminated, truncated, final_obs

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes: observations of all environments, and an empty info.

        Args:
            seed: An int seeds the generator, and so all that follows. N ints give each
                environment the first state of its own seed, at any place in the batch
                and on any device; later episodes share the generator, which all N seed.
                A None among them stands for a seed that nobody knows.
            options: `{"reset_mask": bool [N]}` resets those environments alone. Unlike
                gymnasium's, the mask may be all False: looking would make us wait. Also
                those of `reset_parameters`, for this reset alone: a number, or `[N]`.

        Raises:
            ValueError: If an argument is not as above, or if the subclass's functions
                disagree with each other or with its spaces.
        """
        mask, parameters = checks.reset_options(self, options)
        noise = self._noise  # which no step has used yet
        if seed is not None:
            noise = batched_noise.seeded_noise(self, seed)
        elif noise is None:
            noise = self.draw_noise()
        fresh = self._first_states(noise, parameters)
        if self.state is None:
            checks.check_functions(self, fresh)
        self._noise = self.draw_noise() if self._takes_noise else None
        fresh = self.fold(fresh)
        if mask is None:
            mask, self.state = torch.ones_like(self._ended), fresh
        self.state = support.where(mask, fresh, self.state)
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
            `[N, ...]`, what every environment came to before any reset, and the mask
            `_final_obs` of those whose episode ended.

        Raises:
            ResetNeeded: Before the first reset, and (seen on the CPU only) if in
                DISABLED mode an episode has ended that was not reset.
            ClosedEnvironmentError: After `close`.
            TypeError, ValueError: If the actions are not as above, or (seen on the CPU
                only) not finite, or (not compiled, where it would cost a tenth of the
                step) none of the space's choices.
        """
        checks.check_running(self)
        action = checks.action_tensor(self, actions)
        before = self._ended
        self.state, self.elapsed, self._ended, *answer, final_obs = self._step(
            self.state, self.elapsed, before, action, self._noise
        )
        if self._marks_rewards:
            answer[1] = checks.marked(self, answer[1], action, before)
        self._noise = batched_noise.renewed(self, before)
        info = {"final_obs": final_obs, "_final_obs": self._ended}
        return (*answer, info if self.autoreset_mode is AutoresetMode.SAME_STEP else {})

    def _first_states(self, noise: Tensor, parameters: Mapping[str, Tensor]) -> Any:
        """`initial_state`, with other parameters for this once."""
        usual = {name: getattr(self, name) for name in parameters}
        vars(self).update(parameters)
        try:
            return self.initial_state(noise)
        finally:
            vars(self).update(usual)

    @property
    def _looks_now(self) -> bool:
        """Whether it looks, in what is computed now."""
        return self._looks and not support.is_compiled()

    @property
    def _takes_noise(self) -> bool:
        """Whether a step is given noise."""
        return self._chance or not self._looks

    def draw_noise(self, count: int | None = None) -> Tensor:
        """Uniform numbers in [0, 1), `[noise_size, count or N]`, from the generator."""
        size = self.noise_size, self.num_envs if count is None else count
        like = {"dtype": self.dtype, "device": self.device}
        return torch.rand(size, generator=self.generator, **like)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each environment: of tensors `[..., N]`, its own column."""
        return attributes.per_environment(self, getattr(self, name))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What a method gives, or an attribute is, for each environment."""
        value = getattr(self, name)
        value = value(*args, **kwargs) if callable(value) else value
        return attributes.per_environment(self, value)

    def set_attr(self, name: str, values: Any) -> None:
        """Replace a parameter by one number or N, or what is one for all.

        Raises:
            AttributeError: If there is no such attribute.
            ValueError: If they would differ in something that all share.
        """
        attributes.set_attribute(self, name, values)

    def __getstate__(self) -> dict[str, Any]:
        """For copies, which make a painter of their own."""
        return {**vars(self), "_painter": None}

    def detach(self) -> None:
        """Cut the state off from the graph of the steps that led to it."""
        self.state = support.tree_map(Tensor.detach, self.state)

    def clone(self, num_envs: int, *, render_mode: str | None = None) -> Self:
        """New environments, made with the same arguments except these two."""
        args, kwargs = self._arguments
        return type(self)(num_envs, *args, **{**kwargs, "render_mode": render_mode})

    def render(self, indices: Sequence[int] | None = None) -> tuple[np.ndarray, ...]:
        """Pictures uint8 `[H, W, 3]` of all environments, or of those at `indices`."""
        state = support.to_render(self)
        chosen = range(self.num_envs) if indices is None else indices
        columns = [support.tree_map(lambda x, i=i: x[..., i], state) for i in chosen]
        return tuple(map(self.draw, columns, chosen))

    def close_extras(self, **kwargs: Any) -> None:
        """Let go of the state's memory."""
        self.state = self._noise = None

    def state_dict(self) -> dict[str, Any]:
        """Everything that stepping needs to go on bitwise, except the constants."""
        return support.save(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        support.load(self, state)
