"""What is kept of real episodes between rollouts."""

import torch
from tensordict import TensorDict

from yieldrl.imagination.imagining import Past


def test_steps_are_counted_through_rollouts():
    past = Past(2)
    flags = {
        "terminated": torch.tensor([[False, True], [False, False]]),
        "truncated": torch.zeros(2, 2, dtype=torch.bool),
        "valid": torch.tensor([[True, True], [True, False]]),
    }
    rollout = TensorDict(flags, [2, 2])
    assert past.follow(rollout).tolist() == [[0, 0], [1, 0]]
    assert past.follow(rollout).tolist() == [[2, 0], [3, 0]]
    past.ages.zero_()
    assert past.follow(rollout).tolist() == [[0, 0], [1, 0]]
