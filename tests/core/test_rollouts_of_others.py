"""Rollouts of others: added row by row, and refused where they would be broadcast."""

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tensordict import TensorDict

from yieldrl import buffers
from yieldrl.algorithms import dqn, ppo, reinforce

STEPS, ENVS = 4, 2
SPACES = Box(-9, 9, (3,)), Discrete(2)


def rollout_of(steps):
    """Rewards count up, and the first environment's episode ends at every third."""
    count = torch.arange(steps * ENVS).view(steps, ENVS)
    ends = (count % 3 == 2) & (torch.arange(ENVS) == 0)
    entries = {
        "obs": count.unsqueeze(-1).expand(-1, -1, 3).float(),
        "next_obs": count.unsqueeze(-1).expand(-1, -1, 3).float() + 1,
        "action": count % 2,
        "reward": count.float(),
        "terminated": ends,
        "truncated": torch.zeros_like(ends),
    }
    return TensorDict(entries, [steps, ENVS])


@pytest.mark.parametrize(
    "buffer",
    [
        buffers.RolloutBuffer(STEPS, *SPACES, num_envs=ENVS),
        buffers.ReplayBuffer(8, *SPACES, num_envs=ENVS, gamma=1.0),
        buffers.EpisodeBuffer(20, *SPACES, num_envs=ENVS),
    ],
    ids=lambda buffer: type(buffer).__name__,
)
def test_a_whole_rollout_is_added_row_by_row(buffer):
    rollout = rollout_of(STEPS)
    buffer.add(rollout)
    held = buffer._storage["reward"][:STEPS]
    assert held.tolist() == rollout["reward"].tolist()
    if isinstance(buffer, buffers.RolloutBuffer):
        assert buffer.full
        assert torch.equal(buffer.rollout()["obs"], rollout["obs"])


@pytest.mark.parametrize("module", [ppo, dqn, reinforce])
def test_an_axis_too_many_is_not_broadcast(module):
    """`[T, N, 1]` and `[T, N]` would make `[B, B]`."""
    trainer = module.Trainer(module.Config(eval_every=0, total_steps=64))
    for name in ("reward", "terminated", "truncated"):
        rollout = rollout_of(STEPS)
        rollout[name] = rollout[name].unsqueeze(-1)
        with pytest.raises(ValueError, match=f"'{name}' of a rollout .* squeeze"):
            trainer.update(rollout)
