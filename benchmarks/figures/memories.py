"""How fast values become right from a memory that is full already, of one algorithm
beside DQN. Nothing is explored.

dueling_dqn-actions: a corridor where most actions do nothing, after Wang et al. 2016,
arXiv:1511.06581, section 4.1 (differs from the paper: it is control, from replay).
prioritized_dqn-cliffwalk: every way through the blind cliffwalk, of which one has a
reward (Schaul et al. 2016, arXiv:1511.05952, figure 1).
"""

import itertools
from typing import Any

import torch

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_trainer
from yieldrl.benchmarks.worlds import Corridor

ACTIONS, CLIFFWALK = "dueling_dqn-actions", "prioritized_dqn-cliffwalk"
SAYS = {
    ACTIONS: "Where most actions do nothing, a dueling network learns faster.",
    CLIFFWALK: "From rare memories prioritized replay learns in fewer updates.",
}
LENGTH, IDLE = 10, 18  # rooms, and actions that do nothing
GAMMA = 1 - 1 / LENGTH
LOOK_EVERY = 50  # updates
LEARNED = 1e-3  # mean squared error at which the values count as learned


def measure(seed: int, name: str, updates: int = 3_000) -> dict[str, Any]:
    """Errors of the values along the updates; after a third, or when learned."""
    numbers, lines = {}, {}
    rare = name == CLIFFWALK
    world = Corridor(LENGTH, falls=True) if rare else Corridor(LENGTH, idle=IDLE)
    for side in ("dqn", name.partition("-")[0]):
        line = lines[side] = errors(side, world, seed, updates)
        if rare:
            learned = [update for update, error in line if error < LEARNED]
            numbers[f"updates of {side}"] = (learned or [updates])[0]
        else:
            numbers[f"error of {side}"] = dict(line)[updates // 3]
    return {"seed": seed, "numbers": numbers, "series": lines}


def errors(
    side: str, world: Corridor, seed: int, updates: int
) -> list[tuple[int, float]]:
    """Pairs of update and mean squared error to `Q*` `[S, A]`. In memory is every
    action in every room, or if one can fall every way from the first room on."""
    rooms, steps = (range(1), LENGTH) if world.falls else (range(LENGTH), 1)
    ways = itertools.product(range(world.num_actions), repeat=steps)
    memory = [x for a in itertools.product(rooms, ways) for x in world.walk(*a)]
    truth = world.truth(GAMMA)
    fields = {"gamma": GAMMA, "buffer_size": len(memory), "seed": seed, "tau": 0.01}
    fields |= {"batch_size": 32, "eval_every": 0}
    line: list[tuple[int, float]] = []
    with make_trainer(side, fields, envs=lambda: world) as trainer:
        for transition in memory:
            trainer.buffer.add(transition)
        for update in range(1, updates + 1):
            trainer._run_train()
            if update % LOOK_EVERY == 0:
                found = trainer.model.value(torch.arange(LENGTH)).detach()
                line.append((update, float((found - truth).square().mean())))
    return line


if __name__ == "__main__":
    labels = {"xlabel": "updates", "ylabel": "squared error of the values"}
    figure.main(SAYS, measure, labels=labels)
