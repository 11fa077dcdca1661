"""Make environments for evaluation, separate from those for training."""

import copy
import dataclasses
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv, VectorWrapper

from yieldrl.envs import atari
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.make import draw_without_screen, make
from yieldrl.envs.names import class_of
from yieldrl.envs.vectorize import check, find_wrappers, games_inside, vectorize
from yieldrl.envs.wrappers import BatchWrapper
from yieldrl.foundations import Config, derive_seed, spaces


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
    if isinstance(source, TorchVectorEnv):
        return source.clone(count, render_mode=render_mode)
    given: Any = {"device": device, "num_envs": count, "render_mode": render_mode}
    if isinstance(source, BatchWrapper):
        return source.for_evaluation(make_eval(source.env, config, **given))
    if render_mode == "rgb_array":
        draw_without_screen()
    if isinstance(source, gym.Env | VectorEnv):
        envs = _another(source, config, count, render_mode)
        check(envs)
        return envs
    if isinstance(source, str) and source.rpartition(":")[2].startswith("ALE/"):
        kwargs = {**config.env_kwargs, **atari.RAW}
        config = dataclasses.replace(config, env_kwargs=kwargs)
    return make(source, config, **given)


def check_apart(envs: VectorEnv, training: VectorEnv) -> None:
    """ValueError if evaluation environments are the training ones, or have other
    spaces."""
    both = training, envs
    own, others = ({id(x.unwrapped), *games_inside(x)} for x in both)
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
    kind = class_of(source) if isinstance(source, str) else source
    known = getattr(kind, "metadata", None)
    return known.get("most_eval_envs", 16) if isinstance(known, dict) else 16


def _another(
    source: Any, config: Config, count: int, render_mode: str | None
) -> VectorEnv:
    """Make an object's environments again: environments from their spec of `gym.make`,
    vector environments from the functions that made their parts. The config is used for
    its wrappers, which training put around a single environment."""
    drawn = f" with render_mode={render_mode!r}" if render_mode else ""
    refusal = ValueError(
        f"no second environment can be made from {source}{drawn}: pass eval_envs= (an"
        " id, a class or a function that makes one) to the trainer, or train with"
        " eval_every=0"
    )
    wraps = isinstance(source, VectorWrapper)  # has no own spec
    parts = isinstance(source, SyncVectorEnv | AsyncVectorEnv)
    if parts and render_mode is None:
        envs = vectorize(source.env_fns[0], count, "sync")
        if games_inside(envs) & games_inside(source):
            raise refusal
        return envs
    spec = None if wraps else source.get_attr("spec")[0] if parts else source.spec
    if not isinstance(spec, EnvSpec):  # other libraries have other specs
        raise refusal
    spec = copy.deepcopy(spec)
    for name in ("render_mode", "num_envs"):
        spec.kwargs.pop(name, None)
    kwargs: dict[str, Any] = {} if render_mode is None else {"render_mode": render_mode}
    try:
        if parts or isinstance(source, gym.Env):
            wrappers = () if parts else find_wrappers(config.wrappers)
            return vectorize(lambda: gym.make(spec, **kwargs), count, "sync", wrappers)
        if spec.id.startswith("ALE/"):
            spec.kwargs.pop("vectorization_mode", None)
            kwargs = {**spec.kwargs, **atari.RAW, **kwargs}
            return atari.make_atari(spec.id, count, **kwargs)
        return gym.make_vec(spec, num_envs=count, **kwargs)
    except ValueError as reason:  # a wrapper cannot be made again
        raise refusal from reason
