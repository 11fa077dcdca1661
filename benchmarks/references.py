"""The other side of a learning task: what an algorithm of Stable-Baselines3 or
sb3-contrib reaches in as many steps, in equal episodes, used as documented."""

import importlib
import inspect
import math
import time
from functools import reduce
from typing import Any

import numpy as np
import torch

from yieldrl.collectors import evaluate
from yieldrl.core import derive_seed
from yieldrl.envs import make_eval
from yieldrl.envs.names import find_wrappers

from .tasks import TASKS, Reference


class Player:
    """A trained model of these libraries as `evaluate` wants it: deterministic actions,
    and the `state` that it remembers."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.normalizer = model.get_vec_normalize_env()
        parameters = inspect.signature(model.predict).parameters
        self.masked = "action_masks" in parameters
        self.has_memory = "state" in parameters
        self.begin_episode()

    def begin_episode(self, where: Any = None) -> None:
        """Say where the next observations begin an episode; by default all do."""
        self.begins = None if where is None else np.asarray(where)
        if where is None:
            self.state = None

    def predict(self, obs: Any) -> Any:
        """Actions `[N, ...]` for observations `[N, ...]`."""
        extras = {"action_masks": obs["action_mask"]} if self.masked else {}
        if self.has_memory:
            extras |= {"state": self.state, "episode_start": self.begins}
        obs = obs.numpy() if hasattr(obs, "numpy") else obs  # of a batched environment
        if self.normalizer is not None:
            obs = self.normalizer.normalize_obs(obs)
        action, self.state = self.model.predict(obs, deterministic=True, **extras)
        return action


def train_seed(name: str, seed: int, episodes: int) -> dict[str, Any]:
    torch.set_num_threads(1)
    task = TASKS[name]
    assert task.reference is not None
    config = task.make_config(seed)
    model = build(task.reference, config)
    player, envs = Player(model), make_eval(config.env_id, config)
    eval_seed = derive_seed(seed, "evaluation")
    every, curve = config.eval_every or math.inf, []

    def look() -> None:
        logs = evaluate(player, envs, config.eval_episodes, eval_seed).logs()
        curve.append({"sample_step": model.num_timesteps, **logs})

    def after_step(*_: Any) -> bool:
        """Look when the number of steps has passed a multiple of `eval_every`."""
        now, before = model.num_timesteps, curve[-1]["sample_step"] if curve else 0
        if now < config.total_steps and now // every > before // every:
            look()
        return True

    begin = time.perf_counter()
    model.learn(config.total_steps, callback=after_step)
    if config.eval_every:
        look()  # after the last update
    seconds = round(time.perf_counter() - begin, 2)
    final = evaluate(player, envs, episodes, eval_seed).logs()
    return {"seed": seed, "curve": curve, "final": final, "train_seconds": seconds}


def build(reference: Reference, config: Any) -> Any:
    """The other library's algorithm, ready to learn on the CPU."""
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.noise import NormalActionNoise
    from stable_baselines3.common.vec_env import VecNormalize

    def wrapped(env: Any) -> Any:
        return reduce(lambda env, wrap: wrap(env), find_wrappers(config.wrappers), env)

    algorithm = getattr(importlib.import_module(reference.library), reference.algorithm)
    how = {"env_kwargs": config.env_kwargs, "wrapper_class": wrapped}
    envs = make_vec_env(config.env_id, reference.num_envs, config.seed, **how)
    settings = dict(reference.settings)  # in the words of the RL Zoo
    for name, value in settings.items():
        if isinstance(value, str) and value.startswith("lin_"):
            start = float(value.removeprefix("lin_"))
            settings[name] = lambda remaining, start=start: remaining * start
    if isinstance(settings.get("train_freq"), list):  # YAML has no tuples
        settings["train_freq"] = tuple(settings["train_freq"])
    if "noise_std" in settings:
        size = np.full(envs.action_space.shape, settings.pop("noise_std"))
        settings["action_noise"] = NormalActionNoise(0 * size, size)
    if reference.normalize:
        envs = VecNormalize(envs, gamma=settings.get("gamma", 0.99))
    return algorithm(reference.policy, envs, **settings, seed=config.seed, device="cpu")
