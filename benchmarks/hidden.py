"""Worlds whose parameters are hidden: settings in them, and returns with parameters as
in training and others."""

from typing import Any

import gymnasium

from yieldrl.algorithms import ppo, ppo_lstm, ppo_roa
from yieldrl.collectors import evaluate

RANGES = {"training": "training range", "held_out": "held-out range"}
EPISODES, SEED = 128, 20_000  # of an evaluation, with the same parameters for all
CART: dict[str, Any] = {"env_id": "yieldrl/HiddenCartPole-v1", "num_envs": 64}
CART |= {"total_steps": 1_500_000, "num_epochs": 4, "num_minibatches": 4}
CHEETAH: dict[str, Any] = {"env_id": "yieldrl/HiddenHalfCheetah-v1", "num_envs": 256}
CHEETAH |= {"total_steps": 2_000_000, "num_epochs": 5, "num_minibatches": 16}
CHEETAH |= {"learning_rate": 0.0005, "entropy_coef": 0.0, "normalize_observation": True}
WORLDS = {"adaptation-cartpole": CART, "adaptation-halfcheetah": CHEETAH}
SHARED = {"eval_every": 0, "device": "cpu", "threads": 1, "num_steps": 32}
BLIND: dict[str, Any] = {"actor_obs": ("obs",), "critic_obs": ("obs",)}
SIDES: dict[str, Any] = {"roa": (ppo_roa, {}), "blind": (ppo, BLIND)}
SIDES |= {"lstm": (ppo_lstm, BLIND), "oracle": (ppo, {})}


def trainer_of(name: str, side: str, seed: int, **fields: Any) -> Any:
    """The trainer of a side in one of `WORLDS`."""
    module, own = SIDES[side]
    config = module.Config(**{**SHARED, **WORLDS[name], **own, **fields}, seed=seed)
    return module.Trainer(config)


def returned(agent: Any, env_id: str) -> dict[str, float]:
    """Mean return of deterministic episodes with parameters of each range."""
    found: dict[str, float] = {}
    for side in RANGES:
        envs = gymnasium.make_vec(env_id, num_envs=EPISODES, side=side)
        logs = evaluate(agent, envs, EPISODES, SEED).logs()
        found[side] = round(logs["episode_return"], 3)
    return found
