"""One run of a side: learned from one budget, and looked at where it ends."""

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from yieldrl.algorithms import ppo, ppo_lstm, ppo_roa
from yieldrl.benchmarks.trial import Runs
from yieldrl.collectors.evaluation import evaluate

from . import inference
from .worlds import RANGES, World

EPISODES = 128  # of an evaluation, side by side
SEED = 20_000  # of evaluations: the same parameters and first states for all
BLIND = {"actor_obs": ("obs",), "critic_obs": ("obs",)}  # without the parameters

# PPO-ROA's teacher and student; PPO and recurrent PPO that never see the parameters;
# PPO that always does. All have one budget; the teacher has that of the phase train
# alone.
SIDES: dict[str, Callable[..., ppo.Trainer]] = {
    "roa": lambda **options: ppo_roa.Trainer(ppo_roa.Config(**options)),
    "blind": lambda **options: ppo.Trainer(ppo.Config(**BLIND, **options)),
    "lstm": lambda **options: ppo_lstm.Trainer(ppo_lstm.Config(**BLIND, **options)),
    "oracle": lambda **options: ppo.Trainer(ppo.Config(**options)),
}


class Chance:
    """Acts at random, each action as likely."""

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self.space = space
        space.seed(SEED)

    def predict(self, obs: Any) -> np.ndarray:
        """Random actions `[N, ...]`, whatever is seen."""
        return self.space.sample()


def train(side: str, seed: int, world: World, **options: Any) -> dict[str, Any]:
    settings = {**world.settings, **options, "seed": seed}
    with SIDES[side](env_id=world.env_id, **settings) as trainer:
        if side == "roa":
            run, agent = trained_in_phases(trainer, world), trainer.agent
            assert isinstance(agent, ppo_roa.Agent)
            found = {of: inference.errors(agent, world.env_id, of) for of in RANGES}
            return {**run, "errors": found}
        begin = time.perf_counter()
        for _ in trainer():
            pass
        seconds = time.perf_counter() - begin
        found = {side: returned(trainer.agent, world)}
        return {"returns": found, "seconds": round(seconds, 1)}


def trained_in_phases(trainer: Any, world: World) -> dict[str, Any]:
    """Train PPO-ROA; look at the student after each phase, at the teacher after train,
    which changes no more then. Seconds are without those of looking."""
    agent, algorithm = trainer.agent, trainer.algorithm
    returns: dict[str, dict[str, float]] = {}
    phase, seconds, begin = algorithm.phase, 0.0, time.perf_counter()

    def look() -> None:
        if phase == "train":
            returns["teacher"] = returned(agent.as_teacher(), world)
        returns[f"student, {phase}"] = returned(agent.as_student(), world)

    for _ in trainer():
        if algorithm.phase != phase:
            seconds += time.perf_counter() - begin
            look()
            phase, begin = algorithm.phase, time.perf_counter()
    seconds += time.perf_counter() - begin
    look()
    return {"returns": returns, "seconds": round(seconds, 1)}


def returned(agent: Any, world: World) -> dict[str, float]:
    """Mean return of deterministic episodes with parameters of each range."""
    found: dict[str, float] = {}
    for side in RANGES:
        envs = gymnasium.make_vec(world.env_id, num_envs=EPISODES, side=side)
        logs = evaluate(agent, envs, EPISODES, SEED).logs()
        found[side] = round(logs["episode_return"], 3)
    return found


def by_chance(world: World) -> dict[str, float]:
    """Mean return of random actions, with parameters of each range."""
    envs = gymnasium.make_vec(world.env_id, num_envs=EPISODES)
    return returned(Chance(envs.action_space), world)


def returns_of(runs: Runs, policy: str, side: str) -> np.ndarray:
    """Returns `[runs]` of a policy with parameters of a range."""
    found = [run["returns"][policy][side] for run in runs if policy in run["returns"]]
    return np.array(found)
