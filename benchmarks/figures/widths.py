"""As many transitions teach PPO less in wider rollouts, which are too short or leave
fewer gradient steps.

Each run has as many transitions; two of the widths go on until they have learned it.
"""

import statistics
from collections.abc import Iterator
from typing import Any

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_trainer

SAYS = figure.said("widths-cartpole", __doc__)
STEPS = 65_536  # transitions of a run
LOOK_EVERY = 4_096  # transitions between evaluations, of ten episodes each
ENOUGH = 475.0  # return of an evaluation at which CartPole is learned
MAX_STEPS = 2_097_152  # transitions after which a run is given up
WIDTHS = (  # environments, steps of a rollout, minibatches
    *((4, 128, 4), (16, 32, 4), (64, 8, 4), (512, 1, 4)),  # one size, in other shapes
    *((64, 32, 4), (256, 32, 4), (1024, 32, 4)),  # fewer rollouts
    *((64, 32, 16), (256, 32, 64)),  # in minibatches of 128, as the shapes have them
)
BILLED = (4, 128, 4), (1024, 32, 4)  # those that go on until they have learned it


def measure(seed: int, steps: int = STEPS, most: int = MAX_STEPS) -> dict[str, Any]:
    """PPO's returns for every width; of those of `BILLED` what it took to get to
    `ENOUGH`."""
    numbers, lines = {}, {}
    names = {width: "{} x {}, {} minibatches".format(*width) for width in WIDTHS}
    for width, name in names.items():
        line = lines[name] = [[at, y] for at, _, y in looks(width, seed, steps)]
        late = statistics.mean(value for _, value in line[len(line) // 2 :])
        numbers[f"late, {name}"] = round(late, 2)
    for width in BILLED:
        for at, gradient_steps, value in looks(width, seed, most):
            numbers[f"transitions, {names[width]}"] = at
            numbers[f"gradient steps, {names[width]}"] = gradient_steps
            if value >= ENOUGH:
                break
    return {"seed": seed, "numbers": numbers, "series": lines}


def looks(
    width: tuple[int, int, int], seed: int, steps: int
) -> Iterator[tuple[int, int, float]]:
    """At every evaluation: transitions, gradient steps and the return."""
    names = ("num_envs", "num_steps", "num_minibatches")
    fields: dict[str, Any] = dict(zip(names, width, strict=True))
    fields |= {"env_id": "yieldrl/CartPole-v1", "eval_every": LOOK_EVERY}
    fields |= {"eval_episodes": 10, "anneal_learning_rate": False, "total_steps": steps}
    with make_trainer("ppo", fields | {"seed": seed}) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                value = round(float(log["logs"]["episode_return"]), 2)
                yield log["sample_step"], log["learn_step"], value


if __name__ == "__main__":
    figure.main(SAYS, measure, labels={"ylabel": "return of ten episodes"})
