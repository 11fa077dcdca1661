"""The base of wrappers of vector environments, in every autoreset mode."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.envs.arrays import ResetResult, StepResult, as_tensors, copied, replaced
from yieldrl.envs.autoreset import Step, StepReader
from yieldrl.envs.wrappers.state import CheckpointWrapper
from yieldrl.foundations import spaces


class BatchWrapper(CheckpointWrapper):
    """Base of wrappers around vector environments, of tensors or of NumPy arrays.

    Inside, all is tensors, and the answer is of the kind that the wrapped environments
    give. A subclass overrides `take`, and where it must `begin` and `action`; there
    `Step` says what an action led to and where episodes begin, whatever the autoreset
    mode. No step waits for a device.

    Answers may lie in memory that the wrapped environments write again: a subclass that
    keeps a part of one for later copies it. An answered `final_obs` is dense, `[N,
    ...]`; the mask `_final_obs` says which episodes ended.

    Raises:
        TypeError: If it is given no vector environment.
        ValueError: If its metadata do not say in which autoreset mode it is.

    Attributes:
        inside: Where the wrapped environments' tensors live, as their `device` says.
        device: Where this wrapper's tensors live.
    """

    of_rewards: ClassVar[bool] = False
    """Whether it changes rewards alone: evaluation leaves it out."""

    recorded_info: tuple[str, ...] = ()
    """What of `info` belongs into every transition; what is inside adds its own."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # of the constructor

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Remember the arguments, for `for_evaluation`."""
        wrapper = super().__new__(cls)
        wrapper._arguments = args[1:], {k: kwargs[k] for k in kwargs if k != "envs"}
        return wrapper

    def __init__(self, envs: VectorEnv) -> None:
        name = type(self).__name__
        if not isinstance(envs, VectorEnv):
            raise TypeError(
                f"{name} wraps vector environments, got {envs!r}: give it what"
                " gymnasium.make_vec makes (the config's `wrappers` are for single"
                " environments; pass a wrapped batch as envs= to the trainer)"
            )
        super().__init__(envs)
        mode = envs.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise ValueError(
                f"{envs}: metadata['autoreset_mode'] = {mode!r}; {name} must know the"
                " gymnasium.vector.AutoresetMode, or it would mix up episodes"
            )
        self.autoreset_mode = mode
        self.reader = StepReader(envs)
        self.recorded_info += tuple(getattr(envs, "recorded_info", ()))
        self.inside = self.device = torch.device(getattr(envs, "device", "cpu"))
        self._arrays = True  # what is inside gives arrays, not tensors
        late = mode is AutoresetMode.NEXT_STEP
        self._resets: Tensor | None = self.zeros(torch.bool) if late else None
        # Where looking is free, or where environments on the CPU wait anyhow.
        on_cpu = isinstance(envs.unwrapped, SyncVectorEnv | AsyncVectorEnv)
        self._can_branch = on_cpu or self.inside.type == "cpu"

    def action(self, actions: Any) -> Any:
        """What the wrapped environments get instead of these actions `[N, ...]`."""
        return actions

    def begin(self, obs: Any, where: Tensor) -> Any:
        """After `reset`: observations `[N, ...]` to answer with, from those inside.
        Episodes begin where `where [N]` is set: everywhere, but after a `reset_mask`.
        """
        return obs

    def take(self, step: Step) -> Step:
        """What to answer instead of a step of the wrapped environments."""
        return step

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        options = dict(options or {})  # a copy: Gymnasium's take the mask out of it
        where = ~self.zeros(torch.bool)
        if "reset_mask" in options:
            where = torch.as_tensor(options["reset_mask"], device=self.inside)
            options["reset_mask"] = where.numpy() if self._arrays else where
        obs, info = self.env.reset(seed=seed, options=options or None)
        self._arrays = not spaces.holds_tensors(obs)
        if self._resets is not None:
            self._resets = self._resets & ~where
        obs = self.begin(as_tensors(obs), where)
        return self.answer(obs), self.answer(info)

    def step(self, actions: Any) -> StepResult:
        step = self.take(self.advance(self.action(actions)))
        if self._resets is not None:
            self._resets = step.ended
        info, ended = self.answer(step.info), self.answer(step.ended)
        # Tensors always have it, for looking would wait; so do the environments inside.
        if self.resets_at_once and (isinstance(ended, Tensor) or ended.any()):
            info |= {"final_obs": self.answer(step.next_obs), "_final_obs": ended}
        # In DISABLED mode the caller resets: until then episodes are where they ended.
        by_caller = self.autoreset_mode is AutoresetMode.DISABLED
        obs = step.next_obs if by_caller else step.obs
        answer = (obs, step.reward, step.terminated, step.truncated)
        return (*map(self.answer, answer), info)

    def advance(self, actions: Any) -> Step:
        """Step the wrapped environments once, and read what they returned."""
        answer = self.env.step(actions)
        step = self.reader.read(*answer, resets=self._resets).in_tensors()
        final = ("final_obs", "_final_obs")
        info = {k: v for k, v in step.info.items() if k not in final}
        return step._replace(info=info)

    def answer(self, value: Any) -> Any:
        """Tensors, nested or not, as what the caller expects; all else as it is."""
        if isinstance(value, Mapping):
            return {name: self.answer(child) for name, child in value.items()}
        if isinstance(value, Tensor) and self._arrays:
            return value.detach().numpy()
        return value

    @property
    def resets_at_once(self) -> bool:
        """Whether episodes begin anew in the step that ends one (SAME_STEP mode)."""
        return self.autoreset_mode is AutoresetMode.SAME_STEP

    def reset_inside(
        self, step: Step, where: Tensor, seed: Any = None
    ) -> tuple[Step, Any]:
        """Reset these alone: the step, copied if the reset may write into its memory,
        and observations `[N, ...]`, of which only theirs mean something.
        """
        if not self.reader.new_memory:
            step = Step(*map(copied, step))
        mask = where.numpy() if self._arrays else where
        obs, _ = self.env.reset(seed=seed, options={"reset_mask": mask})
        return step, as_tensors(obs)

    def begun_anew(self, step: Step, where: Tensor) -> Step:
        """The step with the first observations of new episodes where `where` is set."""
        if self._can_branch and not where.any():
            return step
        step, fresh = self.reset_inside(step, where)
        if self.resets_at_once:
            return step._replace(obs=replaced(step.obs, fresh, where))
        return step.with_observations(lambda obs: replaced(obs, fresh, where))

    def show(self, space: Space) -> None:
        """Have this space of a single environment's observations."""
        self.single_observation_space = space
        self.observation_space = batch_space(space, self.num_envs)

    def zeros(self, dtype: torch.dtype) -> Tensor:
        """A number for each environment, `[N]`."""
        return torch.zeros(self.num_envs, dtype=dtype, device=self.inside)

    @property
    def precise(self) -> torch.dtype:
        """Of sums over many steps: float64, but for MPS, which has none."""
        return torch.float32 if self.inside.type == "mps" else torch.float64

    def for_evaluation(self, envs: VectorEnv) -> VectorEnv:
        """Evaluation environments in a wrapper like this, unless it is of rewards."""
        if self.of_rewards:
            return envs
        args, kwargs = self._arguments
        return type(self)(envs, *args, **kwargs)


def repeated_space(space: Space, count: int) -> Space:
    """The space of `count` elements of another, along a new first axis."""
    if isinstance(space, MultiDiscrete):  # of which Gymnasium's batch would be a Box
        nvec, start = (np.stack([x] * count) for x in (space.nvec, space.start))
        return MultiDiscrete(nvec, dtype=space.dtype.type, start=start)
    return batch_space(space, count)
