"""The base class of batched worlds: N environments as one set of tensors."""

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from inspect import get_annotations
from typing import Annotated, Any, ClassVar, Self

import gymnasium
import numpy as np
import torch
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.core.compiled import Compiled
from yieldrl.core.device import draw_without_screen, usable_device
from yieldrl.core.seeding import is_traced
from yieldrl.envs.arrays import (
    ResetResult,
    StepResult,
    clone,
    layout,
    tree_map,
    where,
)
from yieldrl.envs.batched import inputs
from yieldrl.envs.batched.inputs import ActionReader, NoiseSource

Parameter = Annotated[Any, "parameter"]
"""Type of a constant of a world's equations: a number, or one per world, `[N]`."""

Transition = tuple[Any, Tensor, Tensor]
"""Next state, reward and whether the episode ends, the last two `[N]`."""


class TorchVectorEnv(VectorEnv[Any, Any, Tensor]):
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

    Attributes that a subclass declares with types, except ClassVars, are arguments of
    its constructor too; the values in the class are their defaults. Those of the type
    `Parameter` become tensors `[]` or `[N]`.

    Args:
        num_envs: N, the number of environments; the first argument of subclasses too.
        device: Where the tensors live.
        dtype: Precision of the state. Observations have the dtype of their space.
        autoreset_mode: SAME_STEP resets within the step that ends an episode; NEXT_STEP
            in the one after it, which ignores the action; DISABLED requires calls of
            `reset(options={"reset_mask": ended})`.
        render_mode: None, or "rgb_array" if the subclass has `draw`.
        compile: Whether to compile `pure_step` with `torch.compile`.
        attributes: The declared attributes, by name.

    Attributes:
        max_episode_steps: Time limit in steps, which truncates; None for no limit.
        state: The state, None before the first reset. It may be replaced.
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

    single_observation_space: Any
    single_action_space: Any
    noise_size: int
    new_memory: ClassVar[bool] = True  # of each result
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as in gymnasium)
    gymnasium_id: ClassVar[str | None] = None
    """Id of a Gymnasium environment with the same states, used for rendering."""

    max_episode_steps: int | None = None
    parameter_names: tuple[str, ...] = ()
    """The parameters that `set_parameters` takes."""
    recordable: ClassVar[bool] = True
    """Whether a step is operations of PyTorch alone, for a CUDA graph to hold."""
    closed: bool
    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # of the constructor

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Store the arguments, for `clone`, and take the declared attributes of them,
        which the constructors of subclasses may need."""
        envs = super().__new__(cls)
        envs._arguments = args[1:], {k: kwargs[k] for k in kwargs if k != "num_envs"}
        for name in kwargs.keys() & cls.declared():
            setattr(envs, name, kwargs[name])
        return envs

    def __init__(
        self,
        num_envs: int = 1,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        compile: bool = False,  # noqa: A002 (as in PyTorch)
        **attributes: Any,
    ) -> None:
        self.num_envs = num_envs
        if unknown := attributes.keys() - self.declared():
            raise TypeError(
                f"{type(self).__name__} got an unexpected keyword argument"
                f" {min(unknown)!r}: of its own it has {sorted(self.declared())}"
            )
        for name, value in attributes.items():
            setattr(self, name, value)
        self.device = usable_device(device)  # "cuda" becomes "cuda:0"
        self.dtype, self.render_mode, self.compiles = dtype, render_mode, compile
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        inputs.check_range("num_envs", num_envs, 1)
        inputs.check_range("max_episode_steps", self.max_episode_steps, 1)
        inputs.check_choice("dtype", dtype, (torch.float32, torch.float64))
        modes = (None, *self.metadata["render_modes"])
        inputs.check_choice("render_mode", render_mode, modes)
        # Copy: a space has a random generator, which instances must not share.
        self.single_action_space = copy.deepcopy(self.single_action_space)
        self.single_observation_space = copy.deepcopy(self.single_observation_space)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        observation = np.empty(0, self.single_observation_space.dtype)
        self._obs_dtype = torch.from_numpy(observation).dtype
        self._limit = self.max_episode_steps or torch.iinfo(torch.int64).max
        self._action_reader = ActionReader(self)
        self._noise = NoiseSource(self.noise_size, num_envs, dtype, self.device)
        self.generator = self._noise.generator
        self.state: Any = None
        self.elapsed = torch.zeros(num_envs, dtype=torch.int64, device=self.device)
        self._ended = torch.zeros(num_envs, dtype=torch.bool, device=self.device)
        for name, kind in self.declared().items():
            if kind in (Parameter, "Parameter"):  # a string in modules that ask for it
                setattr(self, name, self.parameter(name, getattr(self, name)))
        step = self.pure_step
        self._step = Compiled("world's step", step) if compile else step
        own_dynamics = type(self).random_dynamics
        self._is_random = own_dynamics is not TorchVectorEnv.random_dynamics
        # Whether Python may look at values of tensors: on a GPU that would wait.
        self._can_branch = self.device.type == "cpu" and not compile

    @classmethod
    def declared(cls) -> dict[str, Any]:
        """The attributes that are arguments of the constructor, and their types."""
        declared: dict[str, Any] = {"max_episode_steps": int | None}
        for world in reversed(cls.__mro__):
            if issubclass(world, TorchVectorEnv) and world is not TorchVectorEnv:
                declared |= get_annotations(world)
        return {name: x for name, x in declared.items() if "ClassVar" not in str(x)}

    def initial_state(self, noise: Tensor) -> Any:
        """Turn noise `[noise_size, N]`, uniform in [0, 1), into first states.

        The noise may have fewer than N columns, unless parameters `[N]` are used.
        """
        raise NotImplementedError(f"{type(self)} lacks initial_state(noise)")

    def dynamics(self, state: Any, action: Tensor) -> Transition:
        """Next state, reward `[N]` and bool `terminated` `[N]`; changes no argument.

        Actions `[N, ...]` are int64, or of the state's `dtype` in a Box of floats.
        """
        raise NotImplementedError(f"{type(self)} lacks dynamics(state, action)")

    def random_dynamics(self, state: Any, action: Tensor, noise: Tensor) -> Transition:
        """`dynamics` with noise; override it instead if the dynamics are random.

        `initial_state` gets the same `noise` `[noise_size, N]` in this step: use rows
        that it does not use.
        """
        return self.dynamics(state, action)

    def observe(self, state: Any) -> Any:
        """Observations `[N, ...]` in new memory; by default the transposed state."""
        size = (state.shape[-1], *state.shape[:-1])
        obs = torch.empty(size, dtype=self._obs_dtype, device=state.device)
        # `obs.copy_(state.t())` would copy the matrix in square blocks, which takes
        # twice as long for the few rows of a state.
        (obs.t() if obs.ndim <= 2 else obs.movedim(0, -1)).copy_(state)
        return obs

    def draw(self, state: Any, index: int) -> np.ndarray:
        """Frame uint8 `[H, W, 3]` of environment `index`; `state` is an array. By
        default the one of `gymnasium_id`, with pygame."""
        if self.gymnasium_id is None:
            raise NotImplementedError(f"{type(self)} lacks draw(state, index)")
        self.painter.state = state
        return self.painter.render()

    @cached_property
    def painter(self) -> Any:
        """The environment `gymnasium_id`, which draws."""
        env: Any = gymnasium.make(str(self.gymnasium_id), render_mode="rgb_array")
        env.unwrapped.last_u = None  # the pendulum would draw its torque
        return env.unwrapped

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        """Start new episodes: observations of all environments, and an empty info.

        Args:
            seed: An int seeds the generator, and so all later numbers. N ints give each
                environment the first state of its own seed, at any index in the batch
                and on any device; later episodes share a generator seeded by all N. A
                None among them is an unpredictable seed.
            options: `{"reset_mask": bool [N]}` resets only those environments (it may
                be all False).

        Raises:
            ValueError: If an argument is not as above, or if the subclass's functions
                disagree with each other or with its spaces.
        """
        mask = inputs.read_reset_mask(self, options)
        noise = self.draw_noise() if seed is None else self._noise.seed(seed)
        fresh = self.initial_state(noise)
        if self.state is None:
            inputs.check_functions(self, self._action_reader, fresh)
        if mask is None:
            mask, self.state = torch.ones_like(self._ended), fresh
        self.state = where(mask, fresh, self.state)
        self.elapsed = self.elapsed.masked_fill(mask, 0)
        self._ended = self._ended & ~mask
        return self.observe(self.state), {}

    def step(self, actions: Any) -> StepResult:
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
        takes_noise = self._is_random or not self._can_branch
        noise = self.draw_noise() if takes_noise else None
        self.state, self.elapsed, self._ended, *answer, final_obs = self._step(
            self.state, self.elapsed, before, action, noise
        )
        if self._action_reader.marks_rewards:
            answer[1] = self._action_reader.mark(answer[1], action, ignored)
        info = self.step_info(answer[1], ignored)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            info |= {"final_obs": final_obs, "_final_obs": self._ended}
        return (*answer, info)

    def step_info(self, reward: Tensor, ignored: Tensor | None) -> dict[str, Tensor]:
        """More entries of the info of a step, by default none. In NEXT_STEP mode
        `ignored`, bool `[N]`, marks the environments that it only reset."""
        return {}

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
                final_obs, obs = self.observe(last), self.observe(state)
                elapsed.masked_fill_(ended, 0)
        else:
            obs = final_obs = self.observe(state)
        reward = reward.to(torch.float32)
        return state, elapsed, ended, obs, reward, terminated, truncated, final_obs

    def restart(self, ended: Tensor, state: Any, noise: Tensor | None) -> Any:
        """The state, replaced by first states where `ended` `[N]` is True.

        If Python may branch, they are computed only for those environments (for all, if
        parameters differ), from their columns of the noise `[noise_size, N]`, or from
        new noise if it is None; if no episode ended, the same object is returned.
        Otherwise they are computed for all environments, which needs no
        synchronization.
        """
        if not self._can_branch or is_traced():
            assert noise is not None
            return where(ended, self.initial_state(noise), state)
        columns = ended.nonzero().view(-1)
        if not len(columns):
            return state
        noise = self.draw_noise(len(columns)) if noise is None else noise[:, columns]
        if self.differs:
            everywhere = noise.new_zeros(len(noise), self.num_envs)
            everywhere[:, columns] = noise
            return where(ended, self.initial_state(everywhere), state)
        fresh = self.initial_state(noise)
        return tree_map(lambda x, y: x.index_copy(-1, columns, y), state, fresh)

    def draw_noise(self, count: int | None = None) -> Tensor:
        """Uniform numbers in [0, 1), `[noise_size, count or N]`, from the generator."""
        return self._noise.draw(count)

    def check_running(self) -> None:
        """Raise if not reset or closed (on a CPU, also if an episode is over)."""
        if self.state is None and self.closed:
            raise ClosedEnvironmentError("a step after close(): make new environments")
        if self.state is None:
            raise ResetNeeded("nothing to step yet: call reset() first")
        by_caller = self.autoreset_mode is AutoresetMode.DISABLED
        if by_caller and self.device.type == "cpu" and self._ended.any():
            raise ResetNeeded(
                f"the episodes of {self._ended.nonzero().flatten().tolist()} are over:"
                ' call reset(options={"reset_mask": terminated | truncated})'
            )

    @property
    def differs(self) -> bool:
        """Whether a parameter has a value per environment, `[N]`."""
        return any(getattr(self, name).ndim for name in self.parameter_names)

    def parameter(self, name: str, value: Any) -> Tensor:
        """A constant as a tensor `[]` or `[N]`, with its autograd graph; ValueError for
        other shapes. Its name becomes one of `parameter_names`."""
        value = torch.as_tensor(value, dtype=self.dtype, device=self.device)
        if value.shape not in ((), (self.num_envs,)):
            wanted = f"give one number, or {self.num_envs} of them"
            raise ValueError(f"{name} has the shape {list(value.shape)}: {wanted}")
        self.parameter_names = tuple(dict.fromkeys((*self.parameter_names, name)))
        return value

    def set_parameters(
        self, values: Mapping[str, Any], where: Tensor | None = None
    ) -> None:
        """Change several parameters together, from the next step on; or ValueError.

        Args:
            values: Name -> number or tensor `[N]`.
            where: Mask of environments to change, bool `[N]`; None for all.
        """
        names = self.parameter_names
        if unknown := sorted(values.keys() - set(names)):
            raise ValueError(f"no parameters {unknown}: there are {list(names)}")
        new = {name: self.parameter(name, value) for name, value in values.items()}
        for name, value in new.items():
            if where is not None:
                value = torch.where(where, value, getattr(self, name))
            setattr(self, name, value)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute per environment: of a tensor `[..., N]`, one column each."""
        value = getattr(self, name)
        if isinstance(value, Tensor) and value.ndim == 0:
            value = value.item()
        if not isinstance(value, Tensor) or value.shape[-1] != self.num_envs:
            return (value,) * self.num_envs
        return tuple(value.tolist() if value.ndim == 1 else value.unbind(-1))

    def set_attr(self, name: str, values: Any) -> None:
        """Set a parameter to one number for all or to N; ValueError if it is none."""
        self.set_parameters({name: values})

    def detach(self) -> None:
        """Detach the state from the autograd graph of earlier steps."""
        self.state = tree_map(Tensor.detach, self.state)

    def clone(self, num_envs: int, *, render_mode: str | None = None) -> Self:
        """New environments, made with the same arguments except these two."""
        args, kwargs = self._arguments
        return type(self)(num_envs, *args, **{**kwargs, "render_mode": render_mode})

    def render(self, indices: Sequence[int] | None = None) -> tuple[np.ndarray, ...]:
        """Frames uint8 `[H, W, 3]` of all environments, or of those at `indices`."""
        if self.render_mode is None:
            raise ValueError('to render, construct with render_mode="rgb_array"')
        if self.state is None:
            raise ResetNeeded("nothing to render yet: call reset() first")
        draw_without_screen()
        state = tree_map(lambda x: x.detach().cpu().numpy(), self.state)
        chosen = range(self.num_envs) if indices is None else indices
        columns = [tree_map(lambda x, i=i: x[..., i], state) for i in chosen]
        return tuple(map(self.draw, columns, chosen))

    def close_extras(self, **kwargs: Any) -> None:
        self.state = None

    def state_dict(self) -> dict[str, Any]:
        """All state needed to continue bitwise, except the constants."""
        parts = {"state": self.state, "elapsed": self.elapsed, "ended": self._ended}
        return {**clone(parts), "generator": self.generator.get_state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        noise = torch.zeros(self.noise_size, self.num_envs, **self._noise.like)
        with torch.no_grad():  # a state is there if it was saved after a reset
            first = None if state["state"] is None else self.initial_state(noise)
        expected = {**self.state_dict(), "state": first}
        if layout(state) != layout(expected):
            raise ValueError(
                f"saved was {layout(state)}, these environments have"
                f" {layout(expected)}: make them with the saved num_envs, dtype and"
                " kind of device"
            )
        self.generator.set_state(state["generator"].cpu())
        copies = tree_map(lambda x: x.to(self.device, copy=True), state)
        self.state, self.elapsed = copies["state"], copies["elapsed"]
        self._ended = copies["ended"]
