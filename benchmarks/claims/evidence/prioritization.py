"""How many updates it takes to learn from rare memories: DQN beside prioritized replay.

Schaul et al. 2016, arXiv:1511.05952, figure 1: the memory holds every way through the
blind cliffwalk, and one of its transitions has a reward. Nothing is explored.
"""

from collections.abc import Iterator
from typing import Any

import torch

from yieldrl.benchmarks.evidence import Claim, main
from yieldrl.benchmarks.worlds import Cliffwalk

from .full_memory import Transition, errors, transition

ALGORITHMS = ("dqn", "prioritized_dqn")
LENGTH = 10
LEARNED = 1e-3  # mean squared error at which the values count as learned
UPDATES = 3_000


def in_cliffwalk(seed: int) -> dict[str, Any]:
    """The error of the values along the updates, and when it is below `LEARNED`."""
    measured: dict[str, Any] = {}
    gamma, size = 1 - 1 / LENGTH, 2 ** (LENGTH + 1)
    for name in ALGORITHMS:
        env = Cliffwalk(LENGTH)
        memory, truth = all_ways(env), true_values(env, gamma)
        config = {"gamma": gamma, "buffer_size": size, "seed": seed}
        line = errors(name, env, memory, truth, updates=UPDATES, **config)
        learned = [update for update, error in line if error < LEARNED]
        measured |= {name: line, f"updates of {name}": (learned or [UPDATES])[0]}
    return measured


def all_ways(env: Cliffwalk) -> Iterator[Transition]:
    """The transitions of all `2^length` sequences of actions, each until it ends."""
    length = len(env.onward)
    for sequence in range(2**length):
        obs, _ = env.reset()
        for step in range(length):
            action = sequence >> step & 1
            taken = env.step(action)
            yield transition(obs, action, taken)
            obs, _, terminated, *_ = taken
            if terminated:
                break


def true_values(env: Cliffwalk, gamma: float) -> torch.Tensor:
    """`Q*`, `[S, A]`: of a right action `gamma^(steps to the reward - 1)`, else 0."""
    rooms = torch.arange(len(env.onward))
    values = torch.zeros(len(rooms), 2)
    values[rooms, torch.from_numpy(env.onward)] = gamma ** rooms.flip(0)
    return values


CLAIMS = [
    Claim(
        name="prioritized_dqn-cliffwalk",
        statement="From rare memories prioritized replay learns in fewer updates.",
        run=in_cliffwalk,
        criterion="its values are right after fewer updates than DQN's",
        holds=lambda of: of["updates of prioritized_dqn"] < of["updates of dqn"],
        share=0.9,
        x_label="updates",
        y_label="mean squared error of the values",
    )
]


if __name__ == "__main__":
    main(CLAIMS)
