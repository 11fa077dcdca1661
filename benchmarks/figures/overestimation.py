"""In a game of chance DQN believes in its luck, Double DQN less so.

The maximum over noisy estimates is too high on average (van Hasselt et al. 2016,
arXiv:1509.06461, theorem 1): measured in a game of chance, where every value is 0. As
in the paper, the target network is a copy, renewed now and then.
"""

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_trainer

SAYS = figure.said("double_dqn-chance", __doc__)
SETTINGS: dict[str, Any] = {"total_steps": 24_000, "batch_size": 32}
SETTINGS |= {"learning_rate": 1e-3, "anneal_learning_rate": False, "target_every": 200}
SETTINGS |= {"tau": 1.0, "eval_every": 0}
LOOK_EVERY = 1_000  # environment steps
# observations over which `max_a Q(s, a)` is averaged
SEEN = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, (500, 4))).float()


class Chance(gymnasium.Env[np.ndarray, int]):
    """Whatever you see and whatever you do, the reward is 0 on average."""

    observation_space = Box(-1, 1, (4,), np.float32)
    action_space: Any = Discrete(10)
    length = 50

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 4).astype(np.float32), {}

    def step(self, action: int) -> Any:
        self.steps += 1
        reward = float(self.np_random.normal())
        obs = self.np_random.uniform(-1, 1, 4).astype(np.float32)
        return obs, reward, self.steps == self.length, False, {}


def measure(seed: int, **settings: Any) -> dict[str, Any]:
    """The mean value of the greedy action along training, which should be 0; the bias
    is the mean of its second half."""
    numbers, lines = {}, {}
    for name in ("dqn", "double_dqn"):
        fields = SETTINGS | settings | {"seed": seed}
        points: list[list[float]] = []
        with make_trainer(name, fields, envs=Chance) as trainer:
            for log in trainer():
                if log["sample_step"] >= LOOK_EVERY * (len(points) + 1):
                    worth = trainer.model.value(SEEN).detach().amax(1).mean()
                    points.append([log["sample_step"], float(worth)])
        late = [y for _, y in points[len(points) // 2 :]]
        lines[name] = points
        numbers[f"bias of {name}"] = float(np.mean(late))
    lines["truth"] = [[step, 0.0] for step, _ in lines["dqn"]]
    return {"seed": seed, "numbers": numbers, "series": lines}


if __name__ == "__main__":
    figure.main(SAYS, measure, labels={"ylabel": "value of the greedy action"})
