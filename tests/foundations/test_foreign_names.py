"""The founding documents' words work, or end in a sentence that names ours."""

import pytest
import torch
from factories import trainer_of
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


def test_the_words_of_other_libraries_end_in_a_sentence_with_ours():
    trainer = trainer_of(ppo)
    for call, sentence in (
        (lambda: trainer.collector.collect(n_steps=3), "'n_steps': .* num_steps"),
        (lambda: trainer.evaluate(n_episodes=3), "'n_episodes': they are episodes"),
        (lambda: ppo.Trainer(env=trainer.envs), "takes no 'env': they are envs="),
        (lambda: ppo.Trainer(nothing=1), "unexpected keyword argument 'nothing'"),
    ):
        with pytest.raises(TypeError, match=sentence):
            call()
    for owner, word, sentence in (
        (trainer, "train", r"for log in trainer\(\).*total_steps"),
        (trainer.buffer, "is_full", "the property `full` says it"),
    ):
        assert not hasattr(owner, word)
        with pytest.raises(AttributeError, match=sentence):
            getattr(owner, word)


@pytest.mark.parametrize(
    "buffer",
    [
        buffers.RolloutBuffer(STEPS, *SPACES, num_envs=ENVS),
        buffers.CircularBuffer(STEPS, *SPACES, num_envs=ENVS),
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
    if hasattr(buffer, "rollout"):
        assert buffer.full
        assert torch.equal(buffer.rollout()["obs"], rollout["obs"])


@pytest.mark.parametrize("module", [ppo, dqn, reinforce])
def test_entries_of_other_libraries_are_not_passed_over(module):
    trainer = module.Trainer(module.Config(eval_every=0, total_steps=64))
    for word, ours in (
        ("sample_log_prob", "log_prob"),
        ("done", "terminated"),
        ("observation", "obs"),
        ("return", "returns"),
    ):
        rollout = rollout_of(STEPS)
        if ours in rollout.keys():  # noqa: SIM118 - TensorDict iterates over the batch
            rollout.rename_key_(ours, word)
        else:
            rollout[word] = rollout["reward"]
        learners = [trainer.algorithm.update, trainer.update]
        for call in (*learners, *([trainer.buffer.add] if module is dqn else [])):
            with pytest.raises(ValueError, match=f"entry '{word}': rename it, here it"):
                call(rollout)


@pytest.mark.parametrize("module", [ppo, dqn, reinforce])
def test_an_axis_too_many_is_not_broadcast(module):
    """`[T, N, 1]` and `[T, N]` would make `[B, B]`."""
    trainer = module.Trainer(module.Config(eval_every=0, total_steps=64))
    for call in (trainer.algorithm.update, trainer.update):
        for name in ("reward", "terminated", "truncated"):
            rollout = rollout_of(STEPS)
            rollout[name] = rollout[name].unsqueeze(-1)
            with pytest.raises(ValueError, match=f"'{name}' of a rollout .* squeeze"):
                call(rollout)
