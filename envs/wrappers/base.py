"""Base class of wrappers of vector environments."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.core import spaces
from yieldrl.envs import arrays
from yieldrl.envs.arrays import ResetResult, StepResult, as_tensors, replaced
from yieldrl.envs.autoreset import ASSEMBLED, Step, StepReader, mode_of
from yieldrl.envs.batched import TorchVectorEnv


class BatchWrapper(VectorWrapper):
    """Base of wrappers around vector environments, of tensors or of NumPy arrays.

    A wrapper computes with tensors, and returns tensors or arrays as the wrapped
    environments do. A subclass overrides `after_step`, and if needed `after_reset` and
    `action`. No step synchronizes.

    Whatever the autoreset mode inside, a wrapper answers in SAME_STEP mode: where an
    episode ended, it resets those environments that do not do so themselves. The
    returned `final_obs` is dense, `[N, ...]`; the mask `_final_obs` marks the episodes
    that ended. Wrapped environments may overwrite the memory of their results: a
    subclass must copy what it stores for later.

    Raises:
        TypeError: If `envs` is not a vector environment, or is not known to reset some
            environments alone, in NEXT_STEP mode or if the wrapper does so.
        ValueError: If its metadata lack the autoreset mode.

    Attributes:
        inside: Device of the wrapped environments' tensors.
        device: Device of this wrapper's tensors.
    """

    training_alone: ClassVar[bool] = False
    """Whether evaluation leaves it out."""

    gives_arrays: ClassVar[bool] = False
    """Whether it returns arrays for the tensors of the wrapped environments."""

    resets_some: bool = False
    """Whether it resets some environments alone, which not every batch can do."""

    carried: ClassVar[tuple[str, ...]] = ()
    """Attributes of the current episodes, to save: tensors, or dicts of them, which
    begin at 0 unless `after_reset` is overridden."""

    learned: ClassVar[tuple[str, ...]] = ()
    """Attributes to save that are kept across episodes, and shared with evaluation."""

    counted: ClassVar[tuple[str, ...]] = ()
    """Attributes to save that are plain numbers."""

    recorded_info: tuple[str, ...] = ()
    """Entries of `info` to store in every transition; inner wrappers add theirs."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # of the constructor

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Store the arguments, for `for_evaluation`."""
        wrapper = super().__new__(cls)
        wrapper._arguments = args[1:], {k: kwargs[k] for k in kwargs if k != "envs"}
        return wrapper

    def __init__(self, envs: VectorEnv) -> None:
        if not isinstance(envs, VectorEnv):
            raise TypeError(
                f"{type(self).__name__} wraps vector environments, such as"
                f" gymnasium.make_vec makes, got {envs!r}"
            )
        super().__init__(envs)
        self.reader, mode = StepReader(envs), mode_of(envs.unwrapped)
        alone = isinstance(envs.unwrapped, ASSEMBLED | TorchVectorEnv)
        resets = self.resets_some or self.reader.mode is AutoresetMode.NEXT_STEP
        if resets and not alone and mode is not AutoresetMode.DISABLED:
            raise TypeError(
                f"{envs} is not known to reset some environments alone, with"
                f' reset(options={{"reset_mask": mask}}), in {mode.value} mode: make it'
                " with another autoreset_mode, or vectorize single environments by"
                " SyncVectorEnv"
            )
        self.metadata = {**envs.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.recorded_info += tuple(getattr(envs, "recorded_info", ()))
        self.inside = self.device = torch.device(getattr(envs, "device", "cpu"))
        self._arrays = True  # the wrapped environments return arrays, not tensors
        # Where looking is free, or where environments on the CPU wait anyhow.
        on_cpu = isinstance(envs.unwrapped, ASSEMBLED)
        self._can_branch = on_cpu or self.inside.type == "cpu"

    def action(self, actions: Any) -> Any:
        """Convert actions `[N, ...]` to those for the wrapped environments."""
        return actions

    def after_reset(self, obs: Any, where: Tensor) -> Any:
        """After `reset`: convert the inner observations to those to return, `[N, ...]`.
        Episodes begin where `where [N]` is True: everywhere without a `reset_mask`.
        """
        for name in self.carried:
            setattr(self, name, getattr(self, name).masked_fill(where, 0))
        return obs

    def after_step(self, step: Step) -> Step:
        """Convert a step of the wrapped environments to the step to return."""
        return step

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        options = dict(options or {})  # a copy: Gymnasium's take the mask out of it
        where = ~self.zeros(torch.bool)
        if "reset_mask" in options:
            where = torch.as_tensor(options["reset_mask"], device=self.inside)
            options["reset_mask"] = where.numpy() if self._arrays else where
        obs, info = self.env.reset(seed=seed, options=options or None)
        self._arrays = not spaces.holds_tensors(obs)
        obs = self.after_reset(as_tensors(obs), where)
        return self.to_caller(obs), self.to_caller(info)

    def step(self, actions: Any) -> StepResult:
        step = self.after_step(self.advance(self.action(actions)))
        info, ended = self.to_caller(step.info), self.to_caller(step.ended)
        # Tensors always have it, for looking would wait; so do the environments inside.
        if isinstance(ended, Tensor) or ended.any():
            info |= {"final_obs": self.to_caller(step.next_obs), "_final_obs": ended}
        answer = (step.obs, step.reward, step.terminated, step.truncated)
        return (*map(self.to_caller, answer), info)

    def advance(self, actions: Any) -> Step:
        """Step the wrapped environments once, and read what they returned."""
        step = self.reader.read(self.env.step(actions), resets=None)
        final = ("final_obs", "_final_obs")
        info = {k: v for k, v in step.info.items() if k not in final}
        next_obs = as_tensors(step.next_obs)
        obs = next_obs if step.obs is step.next_obs else as_tensors(step.obs)
        reward, terminated, truncated = map(as_tensors, step[1:4])
        same_step = self.reader.mode is AutoresetMode.SAME_STEP
        valid = as_tensors(step.valid) if same_step else None
        step = Step(next_obs, reward, terminated, truncated, obs, valid, info)
        return step if same_step else self.reset_where(step, step.ended)

    def to_caller(self, value: Any) -> Any:
        """Tensors, nested or not, in the caller's format; other values unchanged."""
        if isinstance(value, Mapping):
            return {name: self.to_caller(child) for name, child in value.items()}
        if isinstance(value, Tensor) and (self._arrays or self.gives_arrays):
            return value.detach().cpu().numpy()
        return value

    def reset_where(self, step: Step, where: Tensor, seed: Any = None) -> Step:
        """The step with first observations of new episodes where `where` is True,
        copied if the reset may overwrite it."""
        if self._can_branch and not where.any():
            return step
        if not self.reader.new_memory:
            step = Step(*map(arrays.copied, step))
        mask = where.numpy() if self._arrays else where
        obs, _ = self.env.reset(seed=seed, options={"reset_mask": mask})
        return step._replace(obs=replaced(step.obs, as_tensors(obs), where))

    def set_observation_space(self, space: Space) -> None:
        """Set the observation space of a single environment."""
        self.single_observation_space = space
        self.observation_space = batch_space(space, self.num_envs)

    def zeros(self, dtype: torch.dtype) -> Tensor:
        """Zeros, one per environment, `[N]`."""
        return torch.zeros(self.num_envs, dtype=dtype, device=self.inside)

    @property
    def sum_dtype(self) -> torch.dtype:
        """Dtype for sums over many steps: float64, except on MPS, which lacks it."""
        return torch.float32 if self.inside.type == "mps" else torch.float64

    @property
    def restorable(self) -> bool:
        """Whether the state of the environments inside can be restored."""
        inner = hasattr(self.env, "state_dict")
        return inner and getattr(self.env, "restorable", True)

    def state_dict(self) -> dict[str, Any]:
        """The wrapper's tensors, and the environments' state if they have one."""
        inner = getattr(self.env, "state_dict", None)
        counted = {name: getattr(self, name) for name in self.counted}
        saved = {"wrapper": self._tensors(), "counted": counted}
        return {**saved, "envs": inner() if inner else None}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit. If it
        holds no state of the environments, reset them before the next step."""
        wrapper = saved.get("wrapper", {})
        got, expected = arrays.layout(wrapper), arrays.layout(self._tensors())
        if got != expected:
            raise ValueError(
                f"saved was {got}, {type(self).__name__} has {expected}: wrap as many"
                " of the same environments in the same order"
            )
        for name in self.learned:  # in place: evaluation environments share them
            arrays.tree_map(Tensor.copy_, getattr(self, name), wrapper[name])
        copies = arrays.tree_map(lambda x: x.to(self.inside, copy=True), wrapper)
        for name in self.carried:
            setattr(self, name, copies[name])
        for name in self.counted:
            setattr(self, name, saved["counted"][name])
        if saved["envs"] is not None:
            inner: Any = self.env
            inner.load_state_dict(saved["envs"])

    def _tensors(self) -> dict[str, Any]:
        names = *self.learned, *self.carried
        return {name: arrays.clone(getattr(self, name)) for name in names}

    def for_evaluation(self, envs: VectorEnv) -> VectorEnv:
        """Wrap evaluation environments alike, unless it is `training_alone`."""
        if self.training_alone:
            return envs
        args, kwargs = self._arguments
        return type(self)(envs, *args, **kwargs)


def repeated_space(space: Space, count: int) -> Space:
    """The space of `count` elements of another, along a new first axis."""
    if isinstance(space, MultiDiscrete):  # Gymnasium's batch of it would be a Box
        nvec, start = (np.stack([x] * count) for x in (space.nvec, space.start))
        return MultiDiscrete(nvec, dtype=space.dtype.type, start=start)
    return batch_space(space, count)
