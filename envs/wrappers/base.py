"""What all wrappers of vector environments share: kinds, autoreset modes, states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from torch import Tensor

from yieldrl.envs import batched_support as support
from yieldrl.foundations import spaces


class Step(NamedTuple):
    """What one step of all environments gave, as tensors `[N, ...]`."""

    obs: Any  # what to act on next
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    final_obs: Any  # SAME_STEP: where the action led, for all; None in other modes
    resets: Tensor | None  # NEXT_STEP: who only reset in this step; None in others
    info: dict[str, Any]

    @property
    def ended(self) -> Tensor:
        """Whose episode ended, bool `[N]`."""
        return self.terminated | self.truncated

    @property
    def last(self) -> Any:
        """Where the action led: at an episode's end its last observation."""
        return self.obs if self.final_obs is None else self.final_obs

    @property
    def begins(self) -> Tensor | None:
        """Where `obs` is the first of an episode, bool `[N]`; None if nowhere ever."""
        return self.resets if self.final_obs is None else self.ended


class BatchWrapper(VectorWrapper[Any, Any, Any, Any, Any]):
    """Base of wrappers around vector environments, of tensors or of NumPy arrays.

    Inside, all is tensors: arrays are viewed as such (which costs a microsecond), and
    the answer is of the kind that the wrapped environments give. A subclass overrides
    `take`, and where it must `begin` and `action`; in them there is one autoreset mode
    less to think of in each line, for `Step` says what an action led to and where
    episodes begin, whatever the mode. As with the environments inside, no step waits
    for a device.

    Where the wrapped environments put `final_obs` as an array of objects, as
    Gymnasium's do, it becomes dense, every environment's next observation, in what we
    answer; the mask `_final_obs` says, as before, whose episode ended.

    Args:
        envs: A vector environment in any autoreset mode. If it gives tensors, its
            attribute `device` says where they live.

    Raises:
        TypeError: If it is no vector environment.
        ValueError: If its metadata do not say in which autoreset mode it is.

    Attributes:
        inside: Where the wrapped environments' tensors live.
        device: Where this wrapper's tensors live.
    """

    carried: ClassVar[tuple[str, ...]] = ()
    """Attributes that belong to the episodes under way: tensors, or dicts of them."""

    learned: ClassVar[tuple[str, ...]] = ()
    """Attributes that outlast episodes."""

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]  # of the constructor

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Remember the arguments, for `for_evaluation`."""
        wrapper = super().__new__(cls)
        wrapper._arguments = args[1:], {k: kwargs[k] for k in kwargs if k != "envs"}
        return wrapper

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
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
        self.inside = self.device = torch.device(getattr(envs, "device", "cpu"))
        self._arrays = True  # what is inside gives arrays, not tensors
        late = mode is AutoresetMode.NEXT_STEP
        self._resets: Tensor | None = self.zeros(torch.bool) if late else None

    def action(self, actions: Any) -> Any:
        """What the wrapped environments get instead of these actions `[N, ...]`."""
        return actions

    def begin(self, obs: Any, where: Tensor) -> Any:
        """After `reset`: observations to answer with, from those inside.

        Args:
            obs: Tensors `[N, ...]`.
            where: Who begins an episode, bool `[N]`; all but after a `reset_mask`.
        """
        return obs

    def take(self, step: Step) -> Step:
        """What to answer instead of a step of the wrapped environments."""
        return step

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes, in all environments or where `reset_mask` says so."""
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
        return self.told(obs), self.told(info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step every environment once."""
        step = self.take(self._read(*self.env.step(self.action(actions))))
        if self._resets is not None:
            self._resets = step.ended
        info = self.told(step.info)
        told = self.told(step.ended)
        # Tensors always have it, for looking would wait; so do the environments inside.
        if step.final_obs is not None and (isinstance(told, Tensor) or told.any()):
            info |= {"final_obs": self.told(step.final_obs), "_final_obs": told}
        answer = (step.obs, step.reward, step.terminated, step.truncated)
        obs, reward, terminated, truncated = map(self.told, answer)
        return obs, reward, terminated, truncated, info

    def told(self, value: Any) -> Any:
        """Tensors, nested or not, as what the caller expects; all else as it is."""
        if isinstance(value, Mapping):
            return {name: self.told(child) for name, child in value.items()}
        if isinstance(value, Tensor) and self._arrays:
            return value.detach().numpy()
        return value

    def reset_inside(self, where: Tensor) -> Any:
        """Begin new episodes there alone; observations `[N, ...]` as tensors.

        Only those of the environments that were reset mean something.
        """
        mask = where.numpy() if self._arrays else where
        return as_tensors(self.env.reset(options={"reset_mask": mask})[0])

    def zeros(self, dtype: torch.dtype) -> Tensor:
        """A number for each environment, `[N]`."""
        return torch.zeros(self.num_envs, dtype=dtype, device=self.inside)

    @property
    def precise(self) -> torch.dtype:
        """Of sums over many steps: float64, but for MPS, which has none."""
        return torch.float32 if self.inside.type == "mps" else torch.float64

    def for_evaluation(
        self, envs: VectorEnv[Any, Any, Any]
    ) -> VectorEnv[Any, Any, Any]:
        """Evaluation environments in a wrapper like this one.

        Wrappers of rewards leave them out instead: what is evaluated is the task.
        """
        args, kwargs = self._arguments
        return type(self)(envs, *args, **kwargs)

    @property
    def restorable(self) -> bool:
        """Whether the environments inside can be brought back to where they were."""
        inner = hasattr(self.env, "state_dict")
        return inner and getattr(self.env, "restorable", True)

    def state_dict(self) -> dict[str, Any]:
        """The wrapper's tensors, and the state of the environments if they tell it."""
        save = getattr(self.env, "state_dict", None)
        return {"wrapper": self._own_state(), "envs": save() if save else None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        If it holds no state of the environments, reset them before the next step.

        Raises:
            ValueError: If it is of other wrappers, or of other environments.
        """
        mine, saved = self._own_state(), state.get("wrapper", {})
        if support.layout(saved) != support.layout(mine):
            raise ValueError(
                f"saved was {support.layout(saved)}, {type(self).__name__} has"
                f" {support.layout(mine)}: wrap as many of the same environments in the"
                " same order"
            )
        for name in self.learned:  # in place: those who evaluate look at it too
            support.tree_map(Tensor.copy_, getattr(self, name), saved[name])
        for name in (*self.carried, "_resets"):
            here = lambda x: x.to(self.inside, copy=True)  # noqa: E731
            setattr(self, name, support.tree_map(here, saved[name]))
        if state["envs"] is not None:
            inner: Any = self.env
            inner.load_state_dict(state["envs"])

    def _own_state(self) -> dict[str, Any]:
        names = (*self.learned, *self.carried, "_resets")
        copied = lambda x: x.detach().clone()  # noqa: E731
        return {name: support.tree_map(copied, getattr(self, name)) for name in names}

    def _read(
        self, obs: Any, reward: Any, terminated: Any, truncated: Any, info: Any
    ) -> Step:
        final = None
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = self._final_obs(obs, terminated | truncated, info)
        info = {k: v for k, v in info.items() if k not in ("final_obs", "_final_obs")}
        obs, reward, final = map(as_tensors, (obs, reward, final))
        terminated, truncated = as_tensors(terminated), as_tensors(truncated)
        return Step(obs, reward, terminated, truncated, final, self._resets, info)

    def _final_obs(self, obs: Any, ended: Any, info: Mapping[str, Any]) -> Any:
        """Where each environment's action led, from whatever form it is told in."""
        final = info.get("final_obs")
        if final is None:
            if ended.any():
                raise ValueError(
                    f"an episode ended and info of {self.env} lacks final_obs, it has"
                    f" {sorted(info)}: in SAME_STEP mode put the observations there"
                    " that were reset away"
                )
            return obs
        if isinstance(final, np.ndarray) and final.dtype == object:
            rows = np.flatnonzero(ended)
            return _with_rows(obs, rows, [final[i] for i in rows])
        return select(as_tensors(ended), as_tensors(final), as_tensors(obs))


def as_tensors(value: Any) -> Any:
    """Arrays, nested or not, as tensors that share their memory; tensors as they are.

    What is neither, None for one, stays.
    """
    if isinstance(value, Mapping):
        return {name: as_tensors(child) for name, child in value.items()}
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.require(value, requirements=("C", "W")))
    return value


def select(where: Tensor, these: Any, those: Any) -> Any:
    """Rows of `these` where `where [N]` says so, and else of `those`."""

    def of(x: Tensor, y: Tensor) -> Tensor:
        return torch.where(where.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return support.tree_map(of, these, those)


def _with_rows(obs: Any, rows: np.ndarray, values: list[Any]) -> Any:
    """A copy of arrays `[N, ...]`, nested or not, with some rows replaced."""
    if isinstance(obs, Mapping):
        return {k: _with_rows(obs[k], rows, [v[k] for v in values]) for k in obs}
    dense = np.array(obs)
    for i, value in zip(rows, values, strict=True):
        dense[i] = value
    return dense
