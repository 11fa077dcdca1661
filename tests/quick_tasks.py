"""Tasks that are learned in a second, whose best values are known."""

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

from yieldrl.envs import SerialVectorEnv

CELLS, GAMMA = 4, 0.8


class Corridor(gym.Env):
    """Walk right: reward 1 for the step that leaves the last cell, which terminates.

    Episodes begin in any cell, and are cut after 12 steps. Without
    bootstrapping only the last step is found, and bootstrapping through ends finds too
    much: the best value of cell `i` is `GAMMA ** (CELLS - 1 - i)`.
    """

    observation_space = Box(0, 1, (CELLS,), np.float32)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.steps = int(self.np_random.integers(CELLS)), 0
        return self._obs(), {}

    def step(self, action):
        self.cell = max(self.cell + (1 if action == 1 else -1), 0)
        self.steps += 1
        ended = self.cell == CELLS
        self.cell = min(self.cell, CELLS - 1)
        return self._obs(), float(ended), ended, self.steps == 12, {}

    def _obs(self):
        return np.eye(CELLS, dtype=np.float32)[self.cell]


LEARNING = {"gamma": GAMMA, "total_steps": 600, "learning_starts": 100}
LEARNING |= {"train_every": 1, "batch_size": 32, "hidden_sizes": (16,)}
LEARNING |= {"learning_rate": 1e-2, "tau": 0.05, "exploration_fraction": 1.0}
LEARNING |= {"epsilon_end": 0.5, "eval_every": 0}
"""Options with which every algorithm of DQN's family learns it."""


def best_values():
    """`Q*(s, a)`, `[CELLS, 2]`."""
    right = GAMMA ** torch.arange(CELLS - 1.0, -1, -1)
    left = GAMMA * right[[0, *range(CELLS - 1)]]
    return torch.stack([left, right], dim=1)


def learned_error(algorithm, **options):
    """Train, and compare all values with the best: the largest difference."""
    config = algorithm.Config(**LEARNING | options)
    trainer = algorithm.Trainer(config, envs=Corridor)
    list(trainer())
    with torch.no_grad():
        found = trainer.model.value(torch.eye(CELLS))
    return float((found - best_values()).abs().max())


class Aim(gym.Env):
    """Say 0.5: the next state shows what was said, and the step from there rewards it.

    The reward is minus the squared miss, whatever the second action is, so the first
    one is learned by bootstrapping alone.
    """

    observation_space = Box(-1, 1, (2,), np.float32)
    action_space = Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.obs = np.array([-1, 0], np.float32)
        return self.obs, {}

    def step(self, action):
        was_said, said = self.obs
        if was_said == 1:
            return self.obs, -float((said - 0.5) ** 2), True, False, {}
        self.obs = np.array([1, action[0]], np.float32)
        return self.obs, 0.0, False, False, {}


class SaveableCliff(SerialVectorEnv):
    """CliffWalking environments that can say where they stand."""

    def state_dict(self):
        envs = self.envs
        return {"at": [(int(env.unwrapped.s), env.env._elapsed_steps) for env in envs]}

    def load_state_dict(self, state):
        envs = self.envs
        for env, (place, steps) in zip(envs, state["at"], strict=True):
            env.unwrapped.s, env.env._elapsed_steps = place, steps


def short_cliff(max_episode_steps=10):
    """Three of them, of no more than so many steps at a time."""
    limit = {"max_episode_steps": max_episode_steps}
    return SaveableCliff([lambda: gym.make("CliffWalking-v1", **limit)] * 3)
