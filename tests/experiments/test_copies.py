"""Copies of trainers: one that trains by itself, or a sentence that says what to do."""

import copy

import pytest
import torch
from factories import trainer_of
from worlds import Counter

from yieldrl import loggers
from yieldrl.algorithms import behavior_cloning, dqn, ppo, q_learning


def make(module, **settings):
    cartpole = {"env_id": "yieldrl/CartPole-v1", "total_steps": 256, "threads": 1}
    return trainer_of(module, **cartpole | settings)


INSTEAD = r"Save .* and load it instead: trainer\.save\('copy\.pt'\), then type"


def test_one_that_collects_in_the_background_says_what_to_do_instead():
    with make(ppo, collection="async") as trainer:
        logs = trainer()
        next(logs)
        message = r"an AsyncCollector has a thread.*" + INSTEAD
        for one in (trainer, loggers.progress()(trainer), trainer.collector):
            with pytest.raises(TypeError, match=message):
                copy.deepcopy(one)
        assert next(logs)["log_type"] == "collect"  # it goes on
        logs.close()


LEARNERS = {
    "ppo": (ppo, {"precision": "bfloat16", "num_steps": 16}),
    "dqn": (dqn, {"precision": "bfloat16", "learning_starts": 20, "buffer_size": 64}),
    "q_learning": (q_learning, {"env_id": "yieldrl/Taxi-v1"}),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_copy_alone_learns_what_the_original_would_have(name):
    """Whatever the original keeps of itself, a copy has of itself."""
    module, settings = LEARNERS[name]
    with make(module, **settings) as trainer:
        for log in trainer():
            if log["sample_step"] >= 100 and log["log_type"] == "train":
                break
        twin = copy.deepcopy(loggers.progress()(trainer))
        assert type(twin) is loggers.Decorated
        assert twin.agent.sample_step == trainer.agent.sample_step
        before = [p.detach().clone() for p in trainer.model.parameters()]
        for _ in twin():
            pass
        assert twin.agent.sample_step == 256 > trainer.agent.sample_step
        after = list(trainer.model.parameters())
        assert all(map(torch.equal, before, after))
        assert all(p.grad is None for p in after)
        assert not all(map(torch.equal, before, twin.model.parameters()))
        for _ in trainer():
            pass
        assert all(map(torch.equal, after, twin.model.parameters()))


def test_a_copy_asks_the_experts_of_its_own_environments():
    options = {"env_id": "yieldrl/CartPole-v1", "demonstration_steps": 200}
    with trainer_of(behavior_cloning, num_epochs=1, **options) as trainer:
        logs = trainer()
        for _ in range(20):
            next(logs)
        twin = copy.deepcopy(trainer)
        for one in (twin, trainer):
            for _ in one():
                pass
        shown = [one.buffer.rollout()["action"] for one in (twin, trainer)]
        assert torch.equal(*shown)


def test_a_copy_learns_from_what_happens_to_it():
    """Copied rows of one memory were two."""
    settings = {"learning_starts": 200, "buffer_size": 64, "total_steps": 60}
    with trainer_of(dqn, envs=lambda: Counter(9), **settings) as trainer:
        logs = trainer()
        for _ in range(11):
            next(logs)
        twin = copy.deepcopy(trainer)
        for _ in twin():
            pass
        rows = twin.buffer.state_dict()["storage"]
        twin.close()
    assert len(rows["obs"]) == 30
    assert torch.equal(rows["next_obs"][..., 1], rows["obs"][..., 1] + 1)
    assert not rows["truncated"][10].any()
    assert rows["obs"][11, :, 1].all()
