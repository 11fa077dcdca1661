"""Whether PPO with action masks ever chooses what is impossible; in Taxi much is."""

from typing import Any

import torch

from yieldrl.algorithms import ppo_masked
from yieldrl.benchmarks.evidence import Claim, main

STEPS = 1_000_000


def in_taxi(seed: int) -> dict[str, Any]:
    """Impossible actions among those that were sampled, and among the most likely ones,
    by the mask that each observation carried."""
    sampled = predicted = actions = possible = 0
    config = ppo_masked.Config(
        seed=seed, total_steps=STEPS, num_envs=64, eval_every=0, device="cpu"
    )
    with ppo_masked.Trainer(config) as trainer:
        for log in trainer():
            if log["log_type"] != "collect" or not trainer.buffer.full:
                continue
            rollout = trainer.buffer.rollout().flatten(0, 1)
            mask = rollout["obs", "action_mask"]
            sampled += impossible(rollout["action"], mask)
            predicted += impossible(trainer.agent.predict(rollout["obs"]), mask)
            actions += rollout["action"].numel()
            possible += int(mask.sum())
    return {
        "actions": actions,
        "impossible, sampled": sampled,
        "impossible, predicted": predicted,
        "possible of 6": possible / actions,
    }


def impossible(action: torch.Tensor, mask: torch.Tensor) -> int:
    """How many actions `[B]` their masks `[B, A]` forbid."""
    return int((~mask.gather(-1, action.unsqueeze(-1))).sum())


CLAIMS = [
    Claim(
        name="ppo_masked-possible",
        statement=("Masks never let an impossible action through, in a million steps."),
        run=in_taxi,
        criterion="of a million actions none is impossible, sampled or predicted",
        holds=lambda of: (
            of["actions"] >= 1_000_000
            and of["impossible, sampled"] == of["impossible, predicted"] == 0
        ),
    )
]


if __name__ == "__main__":
    main(CLAIMS)
