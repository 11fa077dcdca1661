"""Make a vector environment from an id, a class, a function or an object."""

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import VectorEnv

from yieldrl.envs import atari
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.masks import ActionMask
from yieldrl.envs.names import find_spec, name_of, resolve
from yieldrl.envs.vectorize import (
    Wrap,
    check,
    find_wrappers,
    refuse_wrappers,
    vectorize,
)
from yieldrl.foundations import Config, ranks

_OF_ARGUMENTS = (
    "unexpected keyword argument",
    "multiple values for",
    "__init__() missing",
    "takes no arguments",
)
"""Python's messages for calls with wrong arguments."""


def make(
    source: Any,
    config: Config,
    *,
    device: str = "cpu",
    num_envs: int | None = None,
    render_mode: str | None = None,
) -> VectorEnv:
    """Make a vector environment from a source: a name, class, function or object.

    A single environment's attribute `info_keys`, such as `("lives",)`, lists entries of
    its info that the batch passes on; entries in `recorded_info` (also of a vector
    environment) are stored in every transition too. `success` or `is_success`, True if
    an episode succeeded, needs no listing: evaluation logs a `success_rate`.

    Args:
        source: An id (`"CartPole-v1"`), the path of a class or function
            (`"my_module:MyEnv"`), an environment (becomes a batch of one), a vector
            environment (used as it is), the class of either, or a function that makes
            an environment.
        config: With `num_envs`, `env_kwargs`, `wrappers` and `vectorization`.
        device: Where a device-batched environment keeps its state.
        num_envs: Replaces `config.num_envs`.
        render_mode: Gymnasium's render mode, if the source takes one.

    Raises:
        ValueError: If there is no such environment, it is a batch that no wrapper of
            single environments fits around, or does not say how it resets.
        TypeError: If the source makes no environment, does not take `env_kwargs`, or
            makes one whose spaces cannot be made tensors.
        ImportError: If a package is missing.
    """
    count = config.num_envs if num_envs is None else num_envs
    kwargs = dict(config.env_kwargs)
    if render_mode is not None:
        kwargs["render_mode"] = render_mode
    if kwargs.get("render_mode") == "rgb_array":
        draw_without_screen()
    source = resolve(source) if isinstance(source, str) else source
    try:
        wrappers = find_wrappers(config.wrappers)
        envs = _Order(config, device, count, kwargs, wrappers).made_of(source)
    except TypeError as reason:
        said = str(reason)
        of_arguments = any(words in said for words in _OF_ARGUMENTS)
        if not of_arguments or said.startswith("wrappers: "):
            raise
        raise TypeError(
            f"env_kwargs = {config.env_kwargs} of {name_of(source)}: {reason}; give"
            " what the environment takes, {} for nothing (on the command line"
            " --env-kwargs alone)"
        ) from reason
    check(envs)
    return envs


def draw_without_screen() -> None:
    """Let pygame draw pictures without looking for a screen where there is none: the
    search prints `error: XDG_RUNTIME_DIR is invalid or not set`."""
    has_screen = any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if sys.platform == "linux" and not has_screen:
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


@dataclass
class _Order:
    """A request to `make`: the source and all arguments."""

    config: Config
    device: str
    count: int
    kwargs: dict[str, Any]
    wrappers: Sequence[Wrap]

    def made_of(self, source: Any) -> VectorEnv:
        if isinstance(source, VectorEnv):
            return source
        if isinstance(source, gym.Env):
            return vectorize(lambda: source, 1, "sync", self.wrappers)
        if isinstance(source, str):
            return self._from_id(source)
        if isinstance(source, type) and issubclass(source, VectorEnv):
            kwargs = self._of_batch(source, source.__name__)
            make_all = cast("Callable[..., VectorEnv]", source)
            return make_all(num_envs=self.count, **kwargs)
        if callable(source):
            return self._one_by_one(cast("Callable[..., gym.Env]", source), self.kwargs)
        raise TypeError(
            f"envs = {source!r}: give an environment id, an environment, a vector"
            " environment, an environment class or a function that makes one"
        )

    def _from_id(self, env_id: str) -> VectorEnv:
        spec = find_spec(env_id)
        if spec.id.startswith("ALE/"):
            refuse_wrappers(self.wrappers, env_id)
            return atari.make_atari(spec.id, self.count, **self.kwargs)
        batched = spec.namespace == "yieldrl" and spec.vector_entry_point is not None
        if spec.entry_point is None or batched:
            maker = spec.vector_entry_point
            maker = load_env_creator(maker) if isinstance(maker, str) else maker
            kwargs = self._of_batch(maker, env_id)
            return gym.make_vec(spec.id, num_envs=self.count, **kwargs)
        # Not Gymnasium's batched CartPole, which has no SAME_STEP mode.
        kwargs = {"disable_env_checker": True, **self.kwargs}  # the collector checks
        return self._one_by_one(partial(gym.make, env_id), kwargs)

    def _one_by_one(
        self, make_one: Callable[..., gym.Env], kwargs: dict[str, Any]
    ) -> VectorEnv:
        def make_given() -> gym.Env:
            return make_one(**deepcopy(kwargs))  # an environment may modify them

        mode, seed = self.config.vectorization, self.config.seed
        seed = ranks().derive_seed(seed, "workers")
        return vectorize(make_given, self.count, mode, self.wrappers, seed)

    def _of_batch(self, maker: Any, name: str) -> dict[str, Any]:
        """Arguments for a maker of a batch: with `device`, if it takes one, and with
        `action_mask`, if it takes that in place of `ActionMask`."""
        is_class = isinstance(maker, type)
        takes = inspect.signature(maker.__init__ if is_class else maker).parameters
        kwargs, wrappers = self.kwargs, self.wrappers
        if ActionMask in wrappers:
            if "action_mask" not in takes:
                raise ValueError(
                    f"ActionMask goes around single environments, and {maker.__name__}"
                    " is a batch whose constructor has no argument action_mask: if its"
                    " observations have an 'action_mask' anyhow, set wrappers=(); if"
                    " not, take PPO"
                )
            wrappers = [wrap for wrap in wrappers if wrap is not ActionMask]
            kwargs = {"action_mask": True, **kwargs}
        refuse_wrappers(wrappers, name)
        takes_device = (
            issubclass(maker, TorchVectorEnv) if is_class else "device" in takes
        )
        return {"device": self.device, **kwargs} if takes_device else kwargs
