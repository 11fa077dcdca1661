"""What clipped errors do to DQN's values where returns are long.

In CartPole-v1 every reward is 1: no discounted return is above `1 / (1 - gamma)`.
"""

from typing import Any

import torch

from yieldrl.algorithms import dqn
from yieldrl.benchmarks.evidence import Claim, main
from yieldrl.benchmarks.timing import looks

ERROR_CLIPS = {"squared errors": None, "clipped errors": 1.0}
LOOK_EVERY = 5_000  # environment steps
LOOKED_AT = 2_000  # remembered observations that are valued each time


def in_cartpole(seed: int) -> dict[str, Any]:
    """The highest value of remembered states, with DQN's errors clipped and not."""
    measured: dict[str, Any] = {}
    for name, clip in ERROR_CLIPS.items():
        config = dqn.Config(
            seed=seed,
            error_clip=clip,
            learning_rate=5e-4,
            anneal_learning_rate=False,  # which holds the values down as well
            eval_every=0,
            device="cpu",
        )
        line = [[*at] for at in looks(dqn.Trainer(config), LOOK_EVERY, highest_value)]
        measured[name] = line
        measured[f"highest with {name}"] = max(v for _, v in line[len(line) // 2 :])
        measured["possible"] = [[step, 1 / (1 - config.gamma)] for step, _ in line]
    return measured


@torch.inference_mode()
def highest_value(trainer: Any) -> float:
    obs = trainer.buffer.sample(LOOKED_AT)["obs"]
    return float(trainer.model.value(obs).max())


CLAIMS = [
    Claim(
        name="dqn-clipping",
        statement="Where returns are long, clipped errors let DQN's values drift away.",
        run=in_cartpole,
        criterion="clipped, values go further beyond the possible 100 than squared",
        holds=lambda of: (
            of["highest with clipped errors"] > 100
            and of["highest with clipped errors"] > of["highest with squared errors"]
        ),
        share=0.8,
        y_label="highest value of a remembered state",
    )
]


if __name__ == "__main__":
    main(CLAIMS)
