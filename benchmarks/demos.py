"""Train the policies that play on the pages of the site, before, half way and after."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from yieldrl import exports
from yieldrl.algorithms import behavior_cloning
from yieldrl.collectors import evaluate

FOLDER = Path(__file__).parents[1] / "docs" / "assets" / "demos" / "policies"
STAGES = ("untrained", "halfway", "trained")
LOOKS = 20  # at the policy while it learns
EPISODES = 100
SEED = 1_000_000  # of the episodes, as `yieldrl evaluate` has it


class Demo(NamedTuple):
    """Who learns what, from which config of an algorithm."""

    algorithm: str
    fields: dict[str, Any]
    tuned: str | None = None
    seed: int = 1


DEMOS = {
    "cartpole": Demo(
        "ppo",
        {
            "env_id": "yieldrl/CartPole-v1",
            "hidden_sizes": (16, 16),
            "total_steps": 100_000,
        },
        seed=3,  # by chance, some seeds' first networks balance for a while already
    ),
    "pendulum": Demo(
        "ppo",
        {"env_id": "yieldrl/Pendulum-v1", "hidden_sizes": (16, 16)},
        tuned="pendulum.yaml",
    ),
    "frozen_lake": Demo(
        "q_learning", {"env_id": "yieldrl/FrozenLake-v1"}, tuned="frozenlake.yaml"
    ),
    "breakout": Demo(
        "ppo",
        {
            "env_id": "yieldrl/MinAtar-Breakout-v1",
            "env_kwargs": {"max_episode_steps": 2_000},
            "num_envs": 64,
            "num_steps": 32,
            "total_steps": 2_000_000,
        },
    ),
    "goto": Demo(  # cloned from the world's expert: by trial alone it takes too long
        "behavior_cloning",
        {
            "env_id": "yieldrl/GoTo-v1",
            "num_envs": 1_000,
            "demonstration_steps": 1_000_000,
            "expert_noise": 0.1,
            "learn_steps": 12_000,
            "batch_size": 2_048,
            "learning_rate": 1e-3,
            "hidden_sizes": (256, 256),
            "activation": "relu",
            "value_coef": 0.0,
        },
    ),
}
"""By the name of the world's JavaScript module."""


def train(name: str, seed: int | None = None, folder: Path = FOLDER) -> Iterator[Path]:
    """Train a demo's policy and write it as it was at first, half way and at the end.

    Half way is where its return came closest to the middle between the first and the
    last one. Each file says how well it plays, and by which command it was made.

    Args:
        name: Of the demo.
        seed: Of training; the demo's own by default.
        folder: Of the files.
    """
    seed = DEMOS[name].seed if seed is None else seed
    command = f"python -m benchmarks demos {name} --seed {seed}"
    with make_trainer(name, seed) as trainer:
        looks = [_look(trainer)]
        for _ in trainer():
            if _share(trainer) >= len(looks) / LOOKS:
                looks.append(_look(trainer))
    first, last = looks[0], looks[-1]
    middle = (first["notes"]["episode_return"] + last["notes"]["episode_return"]) / 2
    between = min(
        looks[1:-1], key=lambda look: abs(look["notes"]["episode_return"] - middle)
    )
    for stage, policy in zip(STAGES, (first, between, last), strict=True):
        policy["notes"] |= {"stage": stage, "seed": seed, "command": command}
        yield exports.save(policy, folder / f"{name}-{stage}.json")


def make_trainer(name: str, seed: int) -> Any:
    """The trainer of a demo."""
    demo = DEMOS[name]
    module = importlib.import_module(f"yieldrl.algorithms.{demo.algorithm}")
    fields = {**demo.fields, "seed": seed, "eval_every": 0, "device": "cpu"}
    fields["eval_episodes"] = EPISODES
    config = module.Config()
    if demo.tuned is not None:
        path = Path(module.__file__).parent / "configs" / demo.tuned
        config = module.Config.from_file(path)
    return module.Trainer(dataclasses.replace(config, **fields))


def _share(trainer: Any) -> float:
    """How much of the training is done: of the steps, or of what follows them where
    nothing is learned before they are all there."""
    if isinstance(trainer, behavior_cloning.Trainer):
        ready = trainer.collecting_done
        return trainer.agent.learn_step / trainer.learn_steps if ready else 0.0
    return trainer.agent.sample_step / trainer.config.total_steps


def _look(trainer: Any) -> dict[str, Any]:
    """The policy of now, and how well it plays."""
    result = evaluate(trainer.agent, trainer.eval_envs, EPISODES, SEED)
    mean = round(float(result.returns.mean()), 2)
    return exports.describe(trainer.agent, episode_return=mean, episodes=EPISODES)
