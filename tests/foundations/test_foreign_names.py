"""The founding documents' words work, or end in a sentence that names ours."""

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tensordict import TensorDict

from yieldrl import buffers
from yieldrl.algorithms import dqn, ppo, reinforce
from yieldrl.collectors import AsyncCollector, SyncCollector

STEPS, ENVS = 4, 2
SPACES = Box(-9, 9, (3,)), Discrete(2)


def trainer_of(**options):
    return ppo.Trainer(
        ppo.Config(num_steps=STEPS, num_envs=ENVS, eval_every=0, **options)
    )


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


ARGUMENTS = [
    (lambda t: t.collector.collect(n_steps=3), "takes no 'n_steps': .* num_steps"),
    (lambda t: t.collector.collect(), "'num_steps'; call it as in collector"),
    (lambda t: t.evaluate(n_episodes=3), "'n_episodes': they are episodes here"),
    (lambda t: t.evaluate(deterministic=True), "actions always are; agent.sample"),
    (lambda t: type(t)(env=t.envs), "Trainer.. takes no 'env': they are envs="),
    (lambda t: type(t)(policy=t.model), "the networks are model= here"),
    (lambda t: type(t)(buffer_size=2048), r"Config\(num_steps=...\) says it"),
    (lambda t: type(t)(buffer_type="vla"), r"collection='async'"),
    (lambda t: type(t)(nothing=1), "unexpected keyword argument 'nothing'"),
]


@pytest.mark.parametrize("collection", ["sync", "async"])
def test_arguments_of_other_libraries(collection):
    trainer = trainer_of(collection=collection)
    for call, sentence in ARGUMENTS:
        with pytest.raises(TypeError, match=sentence):
            call(trainer)


@pytest.mark.parametrize("kind", [SyncCollector, AsyncCollector])
def test_a_collector_is_made_of_other_parts(kind):
    trainer = trainer_of()
    envs, model, device = trainer.envs, trainer.model, trainer.agent.device
    with pytest.raises(TypeError, match=r"takes no 'env': envs is a vector environm"):
        kind(env=envs, policy=model, device=device)
    with pytest.raises(TypeError, match=r"'seed'; call it as in .*trainer\.buffer, se"):
        kind(envs, model, device)
    with pytest.raises(TypeError, match=r"agent is a Model.* no sample|buffer is a d"):
        kind(envs, model, device, seed=1)
    with pytest.raises(TypeError, match=r"buffer is a device, .* add\(\): give it wh"):
        kind(envs, trainer.agent, device, seed=1)
    with pytest.raises(TypeError, match=r"give it a vector environment, such as"):
        kind(envs.envs[0], trainer.agent, trainer.buffer, seed=1)


def test_methods_of_other_libraries():
    trainer = trainer_of()
    replay = buffers.ReplayBuffer(8, *SPACES, num_envs=ENVS, gamma=1.0)
    episodes = buffers.EpisodeBuffer(2, *SPACES, num_envs=ENVS)
    for owner, word, sentence in (
        (trainer, "train", r"for log in trainer\(\).*total_steps"),
        (trainer, "policy", "the networks are trainer.model"),
        (trainer, "env", "the environments are trainer.envs"),
        (trainer.buffer, "is_full", "the property `full` says it"),
        (trainer.buffer, "get", r"rollout\(\) is \[T, N\], and .*transitions"),
        (replay, "get", r"sample\(batch_size\) draws"),
        (episodes, "is_full", "the property `full` says it"),
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


def test_a_child_that_sets_an_old_name_sets_the_new_one():
    class Recording(ppo.Agent):
        records_policy = True

    class Trainer(ppo.Trainer):
        agent_class = Recording

    agent = Trainer(ppo.Config(total_steps=64, eval_every=0)).agent
    assert agent.records_log_prob
    assert agent.records_policy
    agent.records_policy = False
    assert not agent.records_log_prob


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
