"""Prioritized replay in DQN: weighted loss, priorities back, schedule, learning."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from quick_tasks import learned_error
from tensordict import TensorDict

from yieldrl.algorithms import dqn, prioritized_dqn


def algorithm_of(module=prioritized_dqn, **kwargs):
    torch.manual_seed(0)
    config = module.Config(hidden_sizes=(8,), **kwargs)
    model = module.Model(Box(-1, 1, (3,), np.float32), Discrete(2), config)
    return module.Algorithm(model, config)


def batch(size=6, weight=None):
    generator = torch.Generator().manual_seed(1)
    return TensorDict(
        {
            "obs": torch.randn(size, 3, generator=generator),
            "action": torch.arange(size) % 2,
            "next_obs": torch.randn(size, 3, generator=generator),
            "reward": torch.randn(size, generator=generator),
            "discount": torch.full((size,), 0.9),
            "terminated": torch.arange(size) == 2,
            "weight": torch.ones(size) if weight is None else weight,
            "index": torch.arange(size),
        },
        [size],
    )


def trainer_of(**kwargs):
    settings = {
        "total_steps": 60,
        "learning_starts": 20,
        "batch_size": 8,
        "eval_every": 0,
    }
    return prioritized_dqn.Trainer(prioritized_dqn.Config(**{**settings, **kwargs}))


def test_every_loss_counts_by_its_weight():
    weight = torch.tensor([1.0, 0.0, 0.5, 0.25, 0.0, 1.0])
    algorithm = algorithm_of()
    element_loss, _ = algorithm.element_loss(batch())
    loss, _ = algorithm.loss(batch(weight=weight))
    torch.testing.assert_close(loss, (weight * element_loss).sum() / 6)


def test_with_equal_weights_it_learns_as_dqn_does():
    child, parent = algorithm_of(), algorithm_of(dqn)
    data = batch()
    found = child.learn(data)
    error = data["priority"]
    logs = parent.learn(batch())
    assert found.keys() == logs.keys()
    for name, value in logs.items():
        assert found[name] == value
    assert error.shape == (6,)
    assert not error.requires_grad
    assert float(error.mean()) == pytest.approx(float(logs["td_error"]))


def test_errors_come_back_as_priorities():
    trainer = trainer_of(priority_alpha=1.0, priority_epsilon=0.5)
    for _ in trainer():
        pass
    learned = []

    def learn(data):
        learned.append(data)
        data["priority"] = torch.arange(len(data), dtype=torch.float32)
        return {}

    trainer.agent.learn = learn
    log = trainer._run_train()
    assert "priority" not in log["logs"]
    leaves = trainer.buffer._tree.leaves
    # The same transition may come twice, and the last answer counts.
    last = {int(index): i for i, index in enumerate(learned[0]["index"])}
    for index, i in last.items():
        assert float(leaves[index]) == i + 0.5


def test_beta_rises_to_one():
    trainer = trainer_of(priority_beta=0.4, total_steps=100)
    found = []
    for trainer.agent.sample_step in (0, 50, 100, 120):
        found.append(trainer.beta())
    assert found == pytest.approx([0.4, 0.7, 1.0, 1.0])


def test_it_learns_the_values_of_a_corridor():
    assert learned_error(prioritized_dqn) < 0.02


def test_the_weights_follow_beta():
    trainer = trainer_of()
    betas, sample = [], trainer.buffer.sample
    trainer.buffer.sample = lambda size, beta: betas.append(beta) or sample(size, beta)
    logged = [log["logs"]["beta"] for log in trainer() if log["log_type"] == "train"]
    assert betas == logged
    assert betas[0] == pytest.approx(0.4 + 0.6 * 20 / 60)
    assert betas[-1] == 1.0
