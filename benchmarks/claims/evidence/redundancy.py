"""How fast values are learned where most actions do nothing: DQN beside dueling DQN.

After Wang et al. 2016, arXiv:1511.06581, section 4.1. The memory holds every action of
every room. Differs from the paper: it is control, and both learn from replay.
"""

from collections.abc import Iterator
from typing import Any

import torch

from yieldrl.benchmarks.evidence import Claim, main
from yieldrl.benchmarks.worlds import Corridor

from .full_memory import Transition, errors, transition

ALGORITHMS = ("dqn", "dueling_dqn")
LENGTH, IDLE = 10, 18
GAMMA = 1 - 1 / LENGTH
UPDATES, JUDGED_AT = 2_000, 1_000


def in_corridor(seed: int) -> dict[str, Any]:
    """The error of the values along the updates, and halfway."""
    measured: dict[str, Any] = {}
    config = {"gamma": GAMMA, "buffer_size": LENGTH * (2 + IDLE), "seed": seed}
    for name in ALGORITHMS:
        env = Corridor(LENGTH, idle=IDLE)
        memory, truth = all_steps(env), true_values(env, GAMMA)
        line = errors(name, env, memory, truth, updates=UPDATES, **config)
        measured |= {name: line, f"error of {name}": dict(line)[JUDGED_AT]}
    return measured


def all_steps(env: Corridor) -> Iterator[Transition]:
    """The transition of every action in every room."""
    for room in range(len(env.onward)):
        for action in range(env.num_actions):
            env.room = room
            yield transition(room, action, env.step(action))


def true_values(env: Corridor, gamma: float) -> torch.Tensor:
    """`Q*`, `[S, A]`: the reward is as many steps away as there are rooms before it."""
    rooms = torch.arange(len(env.onward))
    onward = torch.from_numpy(env.onward)
    best = gamma ** (len(rooms) - 1 - rooms)
    values = (gamma * best).unsqueeze(1).repeat(1, env.num_actions)
    values[rooms, 1 - onward] = gamma * best[(rooms - 1).clamp(min=0)]
    values[rooms, onward] = best
    return values


CLAIMS = [
    Claim(
        name="dueling_dqn-actions",
        statement="Where most actions do nothing, a dueling network learns faster.",
        run=in_corridor,
        criterion="halfway through the updates its squared error is below DQN's",
        holds=lambda of: of["error of dueling_dqn"] < of["error of dqn"],
        share=0.8,
        x_label="updates",
        y_label="mean squared error of the values",
    )
]


if __name__ == "__main__":
    main(CLAIMS)
