"""What more environments do to learning: PPO on CartPole, with as many transitions in
rollouts of many widths. Two of them go on until they have learned it."""

import statistics
from collections.abc import Iterator
from typing import Any, NamedTuple

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import Claim, main

STEPS = 65_536  # transitions of a run
LOOK_EVERY = 4_096  # transitions between evaluations, of ten episodes each
ENOUGH = 475.0  # return of an evaluation at which CartPole is learned
MAX_STEPS = 2_097_152  # transitions after which a run is given up


class Width(NamedTuple):
    """A rollout of `num_envs` x `num_steps`, and into how many pieces it is cut."""

    num_envs: int
    num_steps: int
    num_minibatches: int = 4

    @property
    def name(self) -> str:
        shape = f"{self.num_envs} x {self.num_steps}"
        return f"{shape}, {self.num_minibatches} minibatches"


# one size of rollout, in another shape each
SHAPES = (Width(4, 128), Width(16, 32), Width(64, 8), Width(512, 1))

# more environments for as many steps: fewer rollouts
WIDER = (Width(64, 32), Width(256, 32), Width(1024, 32))

# the same, in minibatches of 128: as many gradient steps as the shapes have
PIECES = (Width(64, 32, 16), Width(256, 32, 64))

BILLED = (SHAPES[0], WIDER[-1])  # those that go on until they have learned it


def on_cartpole(seed: int) -> dict[str, Any]:
    """PPO's returns for every width; of those of `BILLED` what it took to get to
    `ENOUGH`."""
    measured: dict[str, Any] = {}
    for width in (*SHAPES, *WIDER, *PIECES):
        line = [[at, value] for at, _, value in looks(width, seed, STEPS)]
        late = statistics.mean(value for _, value in line[len(line) // 2 :])
        measured[width.name] = line
        measured[f"late, {width.name}"] = round(late, 2)
    for width in BILLED:
        for at, gradient_steps, value in looks(width, seed, MAX_STEPS):
            measured[f"transitions, {width.name}"] = at
            measured[f"gradient steps, {width.name}"] = gradient_steps
            if value >= ENOUGH:
                break
    return measured


def looks(width: Width, seed: int, steps: int) -> Iterator[tuple[int, int, float]]:
    """At every evaluation: transitions, gradient steps and the return."""
    config = ppo.Config(
        env_id="yieldrl/CartPole-v1",
        total_steps=steps,
        eval_every=LOOK_EVERY,
        eval_episodes=10,
        anneal_learning_rate=False,
        seed=seed,
        speed="eager",
        device="cpu",
        **width._asdict(),
    )
    with ppo.Trainer(config) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                value = round(float(log["logs"]["episode_return"]), 2)
                yield log["sample_step"], log["learn_step"], value


CLAIMS = [
    Claim(
        name="widths-cartpole",
        statement=(
            "As many transitions teach PPO less in wider rollouts, which are too short"
            " or leave fewer gradient steps."
        ),
        run=on_cartpole,
        criterion=(
            "over the second half, rollouts of 512 x 1 and of 1024 x 32 return less"
            " than half of what those of 4 x 128 do; to return 475, those of 1024 x 32"
            " take more than ten times as many transitions"
        ),
        holds=lambda of: (
            max(of[f"late, {SHAPES[-1].name}"], of[f"late, {WIDER[-1].name}"])
            < of[f"late, {SHAPES[0].name}"] / 2
            and 10 * of[f"transitions, {SHAPES[0].name}"]
            < of[f"transitions, {WIDER[-1].name}"]
        ),
        share=0.8,
        y_label="return of ten episodes",
    )
]


if __name__ == "__main__":
    main(CLAIMS)
