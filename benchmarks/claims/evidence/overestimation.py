"""How far a value lies above what the policy earns: DQN beside Double DQN.

The maximum over noisy estimates is too high on average (van Hasselt et al. 2016,
arXiv:1509.06461, theorem 1 and figure 3): measured in a game of chance, and in Pendulum
with many torques. As in the paper, the target network is a copy, renewed now and then.
"""

import importlib
import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.wrappers import TransformAction

from yieldrl.benchmarks.evidence import Claim, main
from yieldrl.benchmarks.timing import looks

ALGORITHMS = ("dqn", "double_dqn")
SETTINGS: dict[str, Any] = {
    "batch_size": 32,
    "learning_rate": 1e-3,
    "anneal_learning_rate": False,
    "target_every": 200,
    "tau": 1.0,
    "eval_every": 0,
    "device": "cpu",
}
LOOK_EVERY = 1_000  # environment steps
CHANCE_STEPS, PENDULUM_STEPS = 24_000, 30_000

Look = Callable[[Any], tuple[float, float]]


def in_pendulum(seed: int) -> dict[str, Any]:
    """Values along greedy episodes beside the returns that follow; the bias is their
    mean difference over the second half of training."""
    measured: dict[str, Any] = {}
    # From the time on at which it can swing up: before, values chase returns.
    when = {"first": 10_000, "total_steps": PENDULUM_STEPS}
    for name in ALGORITHMS:
        lines = _along_training(
            name, seed, pendulum, _beside_returns, **when, gamma=0.9
        )
        measured |= {f"{name}, estimated": lines[0], f"{name}, true": lines[1]}
        measured[f"bias of {name}"] = _bias(*lines)
    return measured


def in_chance(seed: int) -> dict[str, Any]:
    """Values in a game of chance, where every one should be 0."""
    measured: dict[str, Any] = {}
    for name in ALGORITHMS:
        value, truth = _along_training(
            name, seed, Chance, _beside_zero, total_steps=CHANCE_STEPS
        )
        measured |= {
            name: value,
            "truth": truth,
            f"bias of {name}": _bias(value, truth),
        }
    return measured


class Chance(gymnasium.Env[np.ndarray, int]):
    """Whatever you see and whatever you do, the reward is 0 on average."""

    observation_space = Box(-1, 1, (4,), np.float32)
    action_space = Discrete(10)
    length = 50

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self._obs(), {}

    def step(self, action: int) -> Any:
        self.steps += 1
        reward = float(self.np_random.normal())
        return self._obs(), reward, self.steps == self.length, False, {}

    def _obs(self) -> np.ndarray:
        return self.np_random.uniform(-1, 1, 4).astype(np.float32)


def pendulum(**kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Pendulum-v1 with 25 torques, evenly from -2 to 2."""
    torques = np.linspace(-2, 2, 25, dtype=np.float32)
    game = gymnasium.make("Pendulum-v1", **kwargs)
    return TransformAction(game, lambda action: torques[[action]], Discrete(25))


def discounted(rewards: np.ndarray, gamma: float) -> np.ndarray:
    """`G_t = r_t + gamma G_{t+1}`, `[T, N]`, with nothing after the last step."""
    returns = np.zeros_like(rewards)
    following = np.zeros(rewards.shape[1:])
    for t in reversed(range(len(rewards))):
        returns[t] = following = rewards[t] + gamma * following
    return returns


def _along_training(
    name: str,
    seed: int,
    make: Callable[..., Any],
    look: Look,
    *,
    first: int | None = None,
    **settings: Any,
) -> tuple[list[list[float]], list[list[float]]]:
    """Train, and look every so often: points of the value's line and of the truth's."""
    algorithm = importlib.import_module(f"yieldrl.algorithms.{name}")
    config = algorithm.Config(**SETTINGS | settings, seed=seed)
    trainer = algorithm.Trainer(config, envs=make)
    found = [*looks(trainer, LOOK_EVERY, look, first)]
    values = [[step, value] for step, (value, _) in found]
    return values, [[step, truth] for step, (_, truth) in found]


def _bias(values: list[list[float]], truths: list[list[float]]) -> float:
    """Mean of value minus truth over the second half of the points."""
    difference = np.subtract(values, truths)[:, 1]
    return float(difference[len(difference) // 2 :].mean())


def _beside_zero(trainer: Any) -> tuple[float, float]:
    obs = np.random.default_rng(0).uniform(-1, 1, (500, 4)).astype(np.float32)
    return float(_values(trainer, obs).mean()), 0.0


def _beside_returns(
    trainer: Any, episodes: int = 10, steps: int = 200, rest: float = 0.01
) -> tuple[float, float]:
    """The first `steps` of greedy episodes, and the discounted returns from each on.

    Values look beyond the time limit, so episodes go on until what is missing of a
    return weighs less than `rest`.
    """
    gamma = trainer.config.gamma
    length = steps + math.ceil(math.log(rest) / math.log(gamma))
    games = [pendulum(max_episode_steps=length) for _ in range(episodes)]
    obs = np.stack([game.reset(seed=seed)[0] for seed, game in enumerate(games)])
    values, rewards = [], []
    for _ in range(length):
        values.append(_values(trainer, obs))
        actions = trainer.agent.predict(obs)
        moves = [game.step(int(a)) for game, a in zip(games, actions, strict=True)]
        obs = np.stack([move[0] for move in moves])
        rewards.append(np.array([move[1] for move in moves]))
    returns = discounted(np.stack(rewards), gamma)[:steps]
    return float(np.mean(values[:steps])), float(returns.mean())


@torch.inference_mode()
def _values(trainer: Any, obs: np.ndarray) -> np.ndarray:
    """`max_a Q(s, a)`, `[N]`."""
    return trainer.agent.model.value(torch.as_tensor(obs)).amax(1).numpy()


CLAIMS = [
    Claim(
        name="double_dqn-chance",
        statement="In a game of chance DQN believes in its luck, Double DQN less so.",
        run=in_chance,
        criterion="the mean value, which should be 0, is at most half of DQN's",
        holds=lambda of: 2 * of["bias of double_dqn"] <= of["bias of dqn"],
        share=0.8,
        y_label="value of the greedy action",
    ),
    Claim(
        name="double_dqn-pendulum",
        statement="DQN overestimates what its policy earns, Double DQN does so less.",
        run=in_pendulum,
        criterion="DQN's values are above the true returns, and Double DQN's less far",
        holds=lambda of: of["bias of dqn"] > max(0, of["bias of double_dqn"]),
        share=0.8,
        y_label="discounted return",
    ),
]


if __name__ == "__main__":
    main(CLAIMS)
