"""From an id, a class, a function or an object to a vector environment."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from yieldrl.envs import spaces
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.serial import SerialVectorEnv

if TYPE_CHECKING:
    from yieldrl.experiments import Config

AnyVectorEnv = VectorEnv[Any, Any, Any]


def make(
    source: Any,
    config: Config,
    *,
    device: str = "cpu",
    num_envs: int | None = None,
    render_mode: str | None = None,
) -> AnyVectorEnv:
    """A vector environment from whatever names or makes environments.

    Args:
        source: An id (`"CartPole-v1"`), a vector environment (used as it is), one
            environment (becomes a batch of one), an environment class, or a function
            that makes an environment.
        config: Says `num_envs`, `env_kwargs` and `vectorization`.
        device: Where a device-batched environment keeps its state.
        num_envs: Instead of `config.num_envs`.
        render_mode: Gymnasium's render mode, where the source can take one.

    Raises:
        ValueError: If there is no such environment (near names are proposed), or its
            spaces cannot be made tensors.
    """
    count = config.num_envs if num_envs is None else num_envs
    if isinstance(source, VectorEnv):
        envs: AnyVectorEnv = source
    elif isinstance(source, gym.Env):
        envs = SerialVectorEnv([lambda: source])
    elif isinstance(source, str):
        envs = _from_id(source, config, device, count, render_mode)
    elif callable(source):
        make_one = cast("Callable[..., gym.Env[Any, Any]]", source)
        kwargs = dict(config.env_kwargs)
        if render_mode is not None:
            kwargs["render_mode"] = render_mode
        envs = _vectorize(lambda: make_one(**kwargs), count, config.vectorization)
    else:
        raise TypeError(
            f"envs = {source!r}: give an environment id, an environment, a vector"
            " environment, an environment class or a function that makes one"
        )
    _check(envs)
    return envs


def make_eval(
    source: Any,
    config: Config,
    *,
    device: str = "cpu",
    num_envs: int | None = None,
    render_mode: str | None = None,
) -> AnyVectorEnv:
    """Environments apart from the training ones, made from the same source.

    Raises:
        ValueError: If the source is an object of which no second can be made.
    """
    count = min(config.eval_episodes, 16) if num_envs is None else num_envs
    if isinstance(source, SyncVectorEnv | AsyncVectorEnv):
        source = source.env_fns[0]
        if render_mode is None:
            return _vectorize(source, count, "sync")
    if isinstance(source, TorchVectorEnv):
        return source.clone(count, render_mode=render_mode)
    if isinstance(source, gym.Env | VectorEnv):
        if source.spec is None:
            raise ValueError(
                f"no second environment can be made from {source}: pass eval_envs="
                " (an id, a class or a function that makes one) to the trainer"
            )
        source = source.spec.id
    if isinstance(source, str) and source.startswith("ALE/"):
        # Scores count as the game counts them, whatever training clips.
        raw = {"reward_clipping": False, "episodic_life": False}
        kwargs = {**config.env_kwargs, **raw}
        config = dataclasses.replace(config, env_kwargs=kwargs)
    return make(source, config, device=device, num_envs=count, render_mode=render_mode)


def _from_id(
    env_id: str, config: Config, device: str, count: int, render_mode: str | None
) -> AnyVectorEnv:
    kwargs = dict(config.env_kwargs)
    if render_mode is not None:
        kwargs["render_mode"] = render_mode
    if env_id.startswith("ALE/"):
        return _atari(env_id, count, kwargs)
    spec = _find(env_id)
    if env_id.startswith("yieldrl/"):
        return gym.make_vec(env_id, num_envs=count, device=device, **kwargs)
    if spec.entry_point is None:
        return gym.make_vec(env_id, num_envs=count, **kwargs)
    # Not Gymnasium's own batched CartPole: it can only reset one step late.
    return _vectorize(lambda: gym.make(env_id, **kwargs), count, config.vectorization)


def _find(env_id: str) -> EnvSpec:
    """The registered spec, importing `module:` first if the id says so."""
    try:
        return gym.spec(env_id)
    except (gym.error.Error, ImportError) as reason:
        near = difflib.get_close_matches(env_id, gym.registry, n=3, cutoff=0.5)
        raise ValueError(
            f"env_id = {env_id!r}: no such environment ({reason});"
            f" near names: {near or 'none'}. Register it, or pass a class as envs="
        ) from None


def _vectorize(
    make_one: Callable[[], gym.Env[Any, Any]], count: int, mode: str
) -> AnyVectorEnv:
    try:
        if mode == "async":
            return AsyncVectorEnv(
                [make_one] * count, autoreset_mode=AutoresetMode.SAME_STEP
            )
        return SerialVectorEnv([make_one] * count)
    except gym.error.DependencyNotInstalled as reason:
        raise ImportError(
            f"the environment lacks a package: {reason}. For MuJoCo:"
            " pip install 'yieldrl[mujoco]'"
        ) from reason


def _atari(env_id: str, count: int, kwargs: dict[str, Any]) -> AnyVectorEnv:
    """ALE's own vector environment: C++ threads, 84 x 84 grey, four frames stacked."""
    try:
        import ale_py
    except ImportError as reason:
        raise ImportError(
            f"{env_id} needs ale-py: pip install 'yieldrl[atari]'"
        ) from reason
    gym.register_envs(ale_py)
    _find(env_id)
    if kwargs.get("render_mode") is not None:
        return _vectorize(lambda: _watchable_atari(env_id, kwargs), count, "sync")
    return gym.make_vec(
        env_id,
        num_envs=count,
        vectorization_mode="vector_entry_point",
        autoreset_mode=AutoresetMode.SAME_STEP,
        **kwargs,
    )


def _watchable_atari(env_id: str, kwargs: dict[str, Any]) -> gym.Env[Any, Any]:
    """The same preprocessing around a single game, which can be rendered."""
    env = gym.make(env_id, frameskip=1, render_mode=kwargs["render_mode"])
    env = gym.wrappers.AtariPreprocessing(env, noop_max=30, frame_skip=4)
    return gym.wrappers.FrameStackObservation(env, 4)


def _check(envs: AnyVectorEnv) -> None:
    mode = envs.metadata.get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise ValueError(
            f"{envs}: metadata['autoreset_mode'] = {mode!r}; a vector environment must"
            " say its gymnasium.vector.AutoresetMode, or bootstrapping would be wrong"
        )
    list(spaces.leaves(envs.single_observation_space))
    list(spaces.leaves(envs.single_action_space))
