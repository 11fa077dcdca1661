"""Make vector environments from an id, a class, a function or an object."""

import copy
import dataclasses
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.spaces import Dict
from gymnasium.vector import SyncVectorEnv, VectorEnv, VectorWrapper

from yieldrl.core import Config, derive_seed, ranks, spaces
from yieldrl.core.device import draw_without_screen
from yieldrl.envs import atari
from yieldrl.envs.autoreset import ASSEMBLED, mode_of
from yieldrl.envs.masks import ActionMask
from yieldrl.envs.names import (
    Wrap,
    class_of,
    find_spec,
    find_wrappers,
    name_of,
    resolve,
)
from yieldrl.envs.serial import SerialVectorEnv
from yieldrl.envs.text import EncodeText, in_bytes


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
    wrappers = find_wrappers(config.wrappers)
    try:
        if isinstance(source, VectorEnv):
            envs = source
        elif isinstance(source, gym.Env):
            envs = vectorize(lambda: source, 1, "sync", wrappers)
        elif batch := makes_batches(source):
            envs = _make_batch(source, *batch, device, count, kwargs, wrappers)
        else:
            one = partial(_make_one, source, kwargs)
            seed = ranks().derive_seed(config.seed, "workers")
            envs = vectorize(one, count, config.vectorization, wrappers, seed)
    except TypeError as reason:
        if "argument" not in str(reason):  # Python's own, of calls with wrong ones
            raise
        raise TypeError(
            f"env_kwargs = {config.env_kwargs}, wrappers = {config.wrappers} of"
            f" {name_of(source)}: {reason}; give what the environment takes, {{}} for"
            " nothing (on the command line --env-kwargs alone). Wrappers are called"
            " with the environment alone"
        ) from reason
    check_spaces(envs)
    return envs


def make_eval(
    source: Any,
    config: Config,
    *,
    device: str = "cpu",
    num_envs: int | None = None,
    render_mode: str | None = None,
) -> VectorEnv:
    """Make environments for evaluation from a source of `make`; ValueError if it is an
    object that cannot be made a second time.

    By default there is one for each episode, at most 16, or at most the environment's
    `metadata["most_eval_envs"]`: fewer where each takes much memory, more where a batch
    takes hardly longer than one.
    """
    count = num_envs or min(config.eval_episodes, most_eval_envs(source))
    # Another seed, so that processes draw other numbers than in training.
    config = dataclasses.replace(config, seed=derive_seed(config.seed, "evaluation"))
    given: Any = {"device": device, "num_envs": count, "render_mode": render_mode}
    batch: Any = source if isinstance(source, VectorEnv) else None
    if hasattr(batch, "clone"):  # of tensors
        return batch.clone(count, render_mode=render_mode)
    if hasattr(batch, "for_evaluation"):  # a wrapper
        return batch.for_evaluation(make_eval(batch.env, config, **given))
    if isinstance(source, gym.Env | VectorEnv):
        envs = _make_another(source, config, count, render_mode)
        check_spaces(envs)
        return envs
    if isinstance(source, str) and source.rpartition(":")[2].startswith("ALE/"):
        kwargs = {**config.env_kwargs, **atari.RAW}
        config = dataclasses.replace(config, env_kwargs=kwargs)
    return make(source, config, **given)


def vectorize(
    make_one: Callable[[], gym.Env],
    count: int,
    mode: str,
    wrappers: Sequence[Wrap] = (),
    seed: int | None = None,
) -> VectorEnv:
    """A batch of `count` environments, each in the wrappers, the innermost first.

    With `async` each has a process, and `seed` is for its global generators.

    Raises:
        TypeError: If `make_one` makes no environment, or a wrapper does not fit.
        ImportError: If a package is missing.
    """

    def make_checked() -> gym.Env:
        env = _one_environment(make_one(), "envs")
        for wrap in wrappers:
            env = _one_environment(wrap(env), f"wrappers: {wrap}")
        space = env.observation_space
        return env if in_bytes(space) == space else EncodeText(env)

    try:
        if mode == "async":
            from yieldrl.envs.processes import ProcessVectorEnv

            return ProcessVectorEnv([make_checked] * count, seed=seed)
        return SerialVectorEnv([make_checked] * count)
    except gym.error.DependencyNotInstalled as reason:
        text = f"the environment lacks a package: {reason}"
        for extra in ("mujoco", "box2d"):
            if extra in text.lower():
                text += f" (pip install 'yieldrl[{extra}]')"
        raise ImportError(text) from reason


def check_spaces(envs: VectorEnv) -> None:
    """Raise ValueError or TypeError if these environments cannot be trained in."""
    for name in ("num_envs", "single_observation_space", "single_action_space"):
        if not hasattr(envs, name):
            raise TypeError(
                f"{type(envs).__qualname__} has no {name}: set it in __init__, as"
                " gymnasium.vector.VectorEnv says"
            )
    mode_of(envs)
    for name in ("observation", "action"):
        try:
            list(spaces.leaves(getattr(envs, f"single_{name}_space")))
        except TypeError as reason:
            raise TypeError(f"the environment's {name} {reason}") from None
    if isinstance(envs.single_action_space, Dict):
        raise TypeError(
            f"the environment's action space {envs.single_action_space} is not"
            " supported: use Box, Discrete, MultiDiscrete or MultiBinary"
        )
    if isinstance(envs, SyncVectorEnv) and len(_games_inside(envs)) < envs.num_envs:
        raise ValueError(
            "several places of the batch got the same environment: the function that"
            " makes it must make a new one at each call"
        )


def check_apart(envs: VectorEnv, training: VectorEnv) -> None:
    """ValueError if evaluation environments are the training ones, or have other
    spaces."""
    both = training, envs
    own, others = ({id(x.unwrapped), *_games_inside(x)} for x in both)
    if own & others:
        raise ValueError(
            f"evaluation would reset {envs}, in which training goes on: pass eval_envs="
            " with environments of their own (a class or a function that makes a new"
            " one each time), or train with eval_every=0"
        )
    observed = [x.single_observation_space for x in both]
    acted = [x.single_action_space for x in both]
    names = [getattr(space, "spaces", {}).keys() for space in observed]
    common = tuple(names[0] & names[1])  # others may be missing, such as a critic's
    seen = [spaces.part(space, common) for space in observed]
    if not spaces.have_same_leaves(*seen) or acted[0] != acted[1]:
        raise ValueError(
            f"eval_envs: their observations are of {observed[1]} and their actions of"
            f" {acted[1]}, those of the training of {observed[0]} and {acted[0]}: wrap"
            " them alike"
        )


def most_eval_envs(source: Any) -> int:
    """The maximal number of parallel evaluation environments of a source."""
    maker = class_of(source) if isinstance(source, str) else source
    metadata = getattr(maker, "metadata", None)
    return metadata.get("most_eval_envs", 16) if isinstance(metadata, dict) else 16


def _make_one(source: Any, kwargs: dict[str, Any]) -> gym.Env:
    """A single environment of an id, a class or a function."""
    given: Any = copy.deepcopy(kwargs)  # an environment may modify them
    if isinstance(source, str):  # the collector checks more than Gymnasium's checker
        return gym.make(source, **{"disable_env_checker": True, **given})
    return source(**given)


def makes_batches(source: Any) -> tuple[Any, Callable[..., VectorEnv]] | None:
    """The maker of a whole batch, as the source names it and as it is called; None if
    single environments become a batch."""
    if isinstance(source, type) and issubclass(source, VectorEnv):
        return source, source
    if not isinstance(source, str):
        if callable(source):
            return None
        raise TypeError(
            f"envs = {source!r}: give an environment id, an environment, a vector"
            " environment, an environment class or a function that makes one"
        )
    spec = find_spec(source)
    if spec.id.startswith("ALE/"):
        return atari.make_atari, partial(atari.make_atari, spec.id)
    maker = spec.vector_entry_point
    # Not Gymnasium's batched CartPole, which has no SAME_STEP mode.
    if spec.entry_point is not None and (spec.namespace != "yieldrl" or maker is None):
        return None
    maker = load_env_creator(maker) if isinstance(maker, str) else maker
    return maker, partial(gym.make_vec, spec.id)


def _make_batch(
    source: Any,
    maker: Any,
    make_all: Callable[..., VectorEnv],
    device: str,
    count: int,
    kwargs: dict[str, Any],
    wrappers: Sequence[Wrap],
) -> VectorEnv:
    """A batch in one object: with `device`, if its maker takes one, with `action_mask`,
    if it takes that in place of `ActionMask`; and a class may take no `num_envs`."""
    takes = inspect.signature(maker).parameters
    if ActionMask in wrappers and "action_mask" in takes:
        wrappers = [wrap for wrap in wrappers if wrap is not ActionMask]
        kwargs = {"action_mask": True, **kwargs}
    if wrappers:
        names = ", ".join(getattr(w, "__name__", str(w)) for w in wrappers)
        raise ValueError(
            f"wrappers = ({names}) go around single environments, and"
            f" {name_of(source)} is a batch in one object: set wrappers=(), and pass"
            " envs= with a wrapper of yieldrl.envs.wrappers around it, or a mask of its"
            " own, if it needs one"
        )
    if hasattr(maker, "clone") or "device" in takes:
        kwargs = {"device": device, **kwargs}
    names = {name for name, entry in takes.items() if entry.kind != entry.VAR_KEYWORD}
    if maker is not make_all or "num_envs" in names or len(names) < len(takes):
        kwargs = {"num_envs": count, **kwargs}
    return make_all(**kwargs)


def _make_another(
    source: Any, config: Config, count: int, render_mode: str | None
) -> VectorEnv:
    """Make an object's environments again: of the functions that made the parts of a
    batch, or else of their spec. The config's wrappers go around a single environment,
    as in training."""
    drawn: Any = {} if render_mode is None else {"render_mode": render_mode}
    refusal = ValueError(
        f"no second environment can be made from {source}"
        f"{f' with {render_mode=}' if drawn else ''}: pass eval_envs= (an id, a class"
        " or a function that makes one) to the trainer, or train with eval_every=0"
    )
    parts = isinstance(source, ASSEMBLED)
    if parts and not drawn:
        envs = vectorize(source.env_fns[0], count, "sync")
        if _games_inside(envs) & _games_inside(source):
            raise refusal
        return envs
    spec = source.get_attr("spec")[0] if parts else source.spec
    # Other libraries have other specs; a wrapper of batches has that of what is inside.
    if not isinstance(spec, EnvSpec) or isinstance(source, VectorWrapper):
        raise refusal
    spec = copy.deepcopy(spec)
    for name in ("render_mode", "num_envs", "vectorization_mode"):
        spec.kwargs.pop(name, None)
    try:
        if parts or isinstance(source, gym.Env):
            wrappers = () if parts else find_wrappers(config.wrappers)
            return vectorize(lambda: gym.make(spec, **drawn), count, "sync", wrappers)
        if spec.id.startswith("ALE/"):
            kwargs = {**spec.kwargs, **atari.RAW, **drawn}
            return atari.make_atari(spec.id, count, **kwargs)
        return gym.make_vec(spec, num_envs=count, **drawn)
    except ValueError as reason:  # a wrapper cannot be made again
        raise refusal from reason


def _games_inside(envs: VectorEnv) -> set[int]:
    """The `id()`s of the environments inside all wrappers."""
    return {id(env.unwrapped) for env in getattr(envs, "envs", [])}


def _one_environment(made: Any, maker: str) -> gym.Env:
    if isinstance(made, gym.Env):
        return made
    raise TypeError(
        f"{maker} made {made!r}: it must return a gymnasium.Env (pass a vector"
        " environment itself, not a function)"
    )
