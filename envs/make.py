"""From an id, a class, a function or an object to a vector environment."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.spaces import Dict
from gymnasium.vector import (
    AsyncVectorEnv,
    AutoresetMode,
    SyncVectorEnv,
    VectorEnv,
)

from yieldrl.envs import atari
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.masks import ActionMask
from yieldrl.envs.parcels import portable
from yieldrl.envs.processes import ProcessVectorEnv, adopt
from yieldrl.envs.serial import SerialVectorEnv
from yieldrl.envs.text import EncodeText, says_text
from yieldrl.envs.wrapping import Wrap, find_wrappers, refuse_wrappers, wrapped_in
from yieldrl.foundations import ranks, spaces

if TYPE_CHECKING:
    from yieldrl.foundations import Config

AnyVectorEnv = VectorEnv[Any, Any, Any]

MOST_OBJECTS = 2**14
"""Most environments that are objects, stepped one after the other."""

MOST_PROCESSES = 2**10
"""Most environments that have a process each."""

_OF_ARGUMENTS = (
    "unexpected keyword argument",
    "multiple values for",
    "__init__() missing",
    "takes no arguments",
)
"""What Python says of a call whose arguments do not fit."""


def make(
    source: Any,
    config: Config,
    *,
    device: str = "cpu",
    num_envs: int | None = None,
    render_mode: str | None = None,
) -> AnyVectorEnv:
    """A vector environment from whatever names or makes environments.

    Of the infos of single environments those entries reach the batch that they name
    themselves, in an attribute (of the class, say): `info_keys = ("lives",)`. Of
    `success` or `is_success`, true where an episode ended well, evaluation hears
    without that, and logs a `success_rate`. What
    `recorded_info` names is passed on too, and belongs into every transition; a vector
    environment may have this attribute as well.

    Args:
        source: An id (`"CartPole-v1"`), the path of a class or function
            (`"my_module:MyEnv"`), a vector environment (used as it is), one
            environment (becomes a batch of one), an environment class, batched or not,
            or a function that makes an environment.
        config: Says `num_envs`, `env_kwargs`, `wrappers` and `vectorization`.
        device: Where a device-batched environment keeps its state.
        num_envs: Instead of `config.num_envs`.
        render_mode: Gymnasium's render mode, where the source can take one.

    Raises:
        ValueError: If there is no such environment (near names are proposed), it is a
            batch that no wrapper of single environments fits around, or a vector
            environment does not say how it resets.
        TypeError: If the source makes no environment, does not take `env_kwargs`, or
            makes one whose spaces cannot be made tensors.
        ImportError: If a package is missing.
    """
    count = config.num_envs if num_envs is None else num_envs
    kwargs = dict(config.env_kwargs)
    if render_mode is not None:
        kwargs["render_mode"] = render_mode
    source = _named(source) if isinstance(source, str) else source
    try:
        envs = _made(source, config, device, count, kwargs)
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
    adopt(envs)
    return envs


def _made(
    source: Any, config: Config, device: str, count: int, kwargs: dict[str, Any]
) -> AnyVectorEnv:
    """See `make`."""
    mode, wrappers = config.vectorization, find_wrappers(config.wrappers)
    if isinstance(source, VectorEnv):
        return source
    if isinstance(source, gym.Env):
        return vectorize(lambda: source, 1, "sync", wrappers)
    if isinstance(source, str):
        return _from_id(source, config, device, count, kwargs, wrappers)
    if isinstance(source, type) and issubclass(source, VectorEnv):
        wrappers, kwargs = _observing_masks(source, wrappers, kwargs)
        refuse_wrappers(wrappers, source.__name__)
        make_all = cast("Callable[..., AnyVectorEnv]", source)
        return make_all(num_envs=count, **_with_device(source, device, kwargs))
    if callable(source):
        make_one = cast("Callable[..., gym.Env[Any, Any]]", source)
        seed = ranks().derive_seed(config.seed, "workers")
        return vectorize(_given(make_one, kwargs), count, mode, wrappers, seed)
    raise TypeError(
        f"envs = {source!r}: give an environment id, an environment, a vector"
        " environment, an environment class or a function that makes one"
    )


def _from_id(
    env_id: str,
    config: Config,
    device: str,
    count: int,
    kwargs: dict[str, Any],
    wrappers: Sequence[Wrap],
) -> AnyVectorEnv:
    spec = _find(env_id)
    if spec.id.startswith("ALE/"):
        refuse_wrappers(wrappers, env_id)
        _check_count(count, MOST_OBJECTS)
        return atari.make_atari(spec.id, count, **kwargs)
    batched = spec.namespace == "yieldrl" and spec.vector_entry_point is not None
    if spec.entry_point is None or batched:
        maker = spec.vector_entry_point
        maker = load_env_creator(maker) if isinstance(maker, str) else maker
        wrappers, kwargs = _observing_masks(maker, wrappers, kwargs)
        refuse_wrappers(wrappers, env_id)
        kwargs = _with_device(maker, device, kwargs)
        return gym.make_vec(spec.id, num_envs=count, **kwargs)
    # Not Gymnasium's own batched CartPole: it can only reset one step late.
    kwargs = {"disable_env_checker": True, **kwargs}  # the collector looks itself
    mode, seed = config.vectorization, ranks().derive_seed(config.seed, "workers")
    # In a process of its own the id may be unknown, which this program registered.
    made_by = portable(spec) if mode == "async" else env_id
    make_one = _given(partial(gym.make, made_by), kwargs)
    return vectorize(make_one, count, mode, wrappers, seed)


def _given(
    make_one: Callable[..., gym.Env[Any, Any]], kwargs: dict[str, Any]
) -> Callable[[], gym.Env[Any, Any]]:
    """What makes one with copies of these: an environment may write into its own."""
    return lambda: make_one(**deepcopy(kwargs))


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise ValueError(
            f"num_envs = {count}: of environments that are made one by one there can be"
            f" at most {most}; a world that is one batch of tensors takes more, for"
            " example yieldrl/CartPole-v1"
        )


def _observing_masks(
    maker: Any, wrappers: Sequence[Wrap], kwargs: dict[str, Any]
) -> tuple[Sequence[Wrap], dict[str, Any]]:
    """Batches that can observe their masks do so, in place of `ActionMask` around each.

    They can if their constructor takes `action_mask`, as that of `yieldrl/Taxi-v1`.
    """
    constructor = maker.__init__ if isinstance(maker, type) else maker
    if ActionMask not in wrappers:
        return wrappers, kwargs
    if "action_mask" not in inspect.signature(constructor).parameters:
        raise ValueError(
            f"ActionMask goes around single environments, and {maker.__name__} is a"
            " batch whose constructor has no argument action_mask: if its observations"
            " have an 'action_mask' anyhow, set wrappers=(); if not, take PPO"
        )
    others = [wrap for wrap in wrappers if wrap is not ActionMask]
    return others, {"action_mask": True, **kwargs}


def _with_device(maker: Any, device: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the device, for batched worlds and for functions of it."""
    if isinstance(maker, type):
        takes = issubclass(maker, TorchVectorEnv)
    else:
        takes = "device" in inspect.signature(maker).parameters
    return {"device": device, **kwargs} if takes else kwargs


def _named(source: str) -> Any:
    """The class or function that `module:name` stands for; anything else is an id."""
    module, _, name = source.rpartition(":")
    if not (module and name.isidentifier()):
        return source
    try:
        return getattr(importlib.import_module(module), name, source)
    except ImportError:
        return source  # as an id it is refused, with the reason


def _find(env_id: str) -> EnvSpec:
    """The registered spec, importing `module:` first if the id says so."""
    module, _, name = env_id.rpartition(":")
    if name.startswith("ALE/"):
        atari.register(name)
    try:
        if module:
            importlib.import_module(module)
        return gym.spec(name)
    except (gym.error.Error, ImportError) as reason:
        near = difflib.get_close_matches(name, gym.registry, n=3, cutoff=0.5)
        raise ValueError(
            f"env_id = {env_id!r}: no such environment ({reason});"
            f" near names: {near or 'none'}. Register it, or pass a class as envs="
        ) from None


def vectorize(
    make_one: Callable[[], gym.Env[Any, Any]],
    count: int,
    mode: str,
    wrappers: Sequence[Wrap] = (),
    seed: int | None = None,
) -> AnyVectorEnv:
    """A batch of what a function makes, each in the wrappers, the innermost first.

    Args:
        make_one: Makes one environment.
        count: How many.
        mode: `async` for a process each.
        wrappers: Classes or functions, each called with an environment.
        seed: Of what processes draw from global generators.

    Raises:
        ValueError: If they are too many for objects, or processes, of their own.
        TypeError: If it makes something else than an environment.
        ImportError: If it lacks a package.
    """
    _check_count(count, MOST_PROCESSES if mode == "async" else MOST_OBJECTS)

    def make_checked() -> gym.Env[Any, Any]:
        env = make_one()
        if not isinstance(env, gym.Env):
            raise TypeError(
                f"envs made {env!r}: the function must return a gymnasium.Env (pass a"
                " vector environment itself, not a function)"
            )
        for wrap in wrappers:
            env = wrapped_in(env, wrap)
        return EncodeText(env) if says_text(env.observation_space) else env

    try:
        if mode == "async":
            return ProcessVectorEnv([make_checked] * count, seed=seed)
        return SerialVectorEnv([make_checked] * count)
    except gym.error.DependencyNotInstalled as reason:
        mujoco = "mujoco" in str(reason).lower()
        remedy = " (pip install 'yieldrl[mujoco]')" if mujoco else ""
        raise ImportError(f"the environment lacks a package: {reason}{remedy}") from (
            reason
        )


def check(envs: AnyVectorEnv) -> None:
    """Raise ValueError or TypeError if these environments cannot be trained in."""
    mode = envs.metadata.get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise ValueError(
            f"{envs}: metadata['autoreset_mode'] = {mode!r}; a vector environment must"
            " say its gymnasium.vector.AutoresetMode, or bootstrapping would be wrong"
        )
    observation, action = envs.single_observation_space, envs.single_action_space
    for name, space in (("observation", observation), ("action", action)):
        try:
            list(spaces.leaves(space))
        except TypeError as reason:
            raise TypeError(f"the environment's {name} {reason}") from None
    if isinstance(action, Dict):
        raise TypeError(
            f"the environment's action space {action} is not supported: use Box,"
            " Discrete, MultiDiscrete or MultiBinary"
        )
    if isinstance(envs, SyncVectorEnv) and len(games_inside(envs)) < envs.num_envs:
        raise ValueError(
            "several places of the batch got the same environment: the function that"
            " makes it must make a new one at each call"
        )


def games_inside(envs: AnyVectorEnv) -> set[int]:
    """The identities of the environments inside, below all wrappers."""
    return {id(env.unwrapped) for env in getattr(envs, "envs", [])}


def name_of(source: Any) -> str:
    """What to call the environments of a source: its id, or the name of its class."""
    if isinstance(source, str):
        return source
    if isinstance(source, SyncVectorEnv | AsyncVectorEnv):
        source = source.get_attr("spec")[0] or source
    spec = source if isinstance(source, EnvSpec) else getattr(source, "spec", None)
    if isinstance(spec, EnvSpec):
        return spec.id
    return getattr(source, "__name__", type(source).__name__)
