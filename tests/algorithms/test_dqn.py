"""DQN's mathematics with exact numbers, its exploration, its schedule, learning."""

import numpy as np
import pytest
import torch
from factories import trainer_of
from gymnasium.spaces import Box, Discrete
from tables import Table, steps
from torch import nn

from yieldrl.algorithms import dqn


def algorithm_of(online, target, **kwargs):
    config = dqn.Config(**kwargs)
    model = dqn.Model(Box(0, 9, (1,), np.float32), Discrete(2), config)
    model.head = Table(target)
    algorithm = dqn.Algorithm(model, config)  # the target starts out as a copy
    with torch.no_grad():
        model.head.rows.copy_(torch.tensor(online))
    return algorithm


def batch(reward, next_row, terminated):
    return steps(reward, next_obs=next_row, terminated=terminated)


class TestTarget:
    def test_by_hand(self):
        algorithm = algorithm_of([[0.0, 0], [9.0, 0]], [[0.0, 0], [2.0, 6.0]])
        data = batch([1.0, 1.0, 1.0], [1, 1, 0], [False, True, False])
        # 1 + .5 * max(2, 6); only the reward after a termination, never a truncation.
        assert algorithm.td_target(data).tolist() == [4.0, 1.0, 1.0]

    def test_no_gradient_flows_into_it(self):
        algorithm = algorithm_of([[1.0, 0.0]], [[1.0, 0.0]])
        loss, _ = algorithm.loss(batch([2.0], [0], [False]))
        loss.backward()
        head = algorithm.model.head
        assert isinstance(head, Table)
        # d/dQ (Q - 2.5)^2 / 2 = Q - 2.5 for the action taken, nothing elsewhere.
        assert head.rows.grad is not None
        assert head.rows.grad.tolist() == [[-1.5, 0.0]]


@pytest.mark.parametrize("clip", [None, 1.0, 0.3])
def test_the_loss_is_the_huber_loss(clip):
    algorithm = algorithm_of([[0.0, 0]], [[0.0, 0]], error_clip=clip)
    errors = [-3.0, -0.5, 0.0, 0.2, 2.0]
    loss, _ = algorithm.element_loss(batch(errors, [0] * 5, [True] * 5))
    reference = nn.functional.huber_loss(
        torch.zeros(5), torch.tensor(errors), reduction="none", delta=clip or 1e6
    )
    torch.testing.assert_close(loss, reference)


@pytest.mark.parametrize("tau", [0.25, 1.0])
def test_the_target_moves_a_part_of_the_way_and_shares_no_memory(tau):
    algorithm = algorithm_of([[1.0, 2.0]], [[0.0, 0.0]], tau=tau)
    algorithm.sync_target()
    with torch.no_grad():
        algorithm.model.head.rows += 1
    assert algorithm.target_model.head.rows.tolist() == [[tau, 2 * tau]]


class TestExploration:
    def agent(self, **kwargs):
        config = dqn.Config(total_steps=1000, exploration_fraction=0.5, **kwargs)
        model = dqn.Model(Box(-1, 1, (2,), np.float32), Discrete(4), config)
        return dqn.Agent(dqn.Algorithm(model, config), config)

    def test_epsilon_falls_linearly_then_stays(self):
        agent = self.agent(epsilon_start=1.0, epsilon_end=0.2)
        found = []
        for agent.counters.sample_step in (0, 250, 500, 900):
            found.append(agent.epsilon())
        assert found == pytest.approx([1.0, 0.6, 0.2, 0.2])

    def test_every_environment_explores_by_itself(self):
        agent = self.agent(epsilon_start=0.4, epsilon_end=0.4)
        obs = np.zeros((20_000, 2), dtype=np.float32)
        greedy = agent.predict(obs)
        random = agent.sample(obs)[0] != greedy
        # A random action is the greedy one in a quarter of the cases.
        assert random.mean() == pytest.approx(0.4 * 0.75, abs=0.01)

    def test_without_the_batch_axis_or_of_tensors_it_is_as_ever(self):
        agent = self.agent(epsilon_start=0.0, epsilon_end=0.0)
        obs = np.ones(2, np.float32)
        action, _ = agent.sample(obs)
        assert action.shape == ()
        assert action == agent.predict(obs)
        action, _ = agent.sample(torch.ones(1, 2))
        assert isinstance(action, torch.Tensor)
        with pytest.raises(ValueError, match="fits neither one observation"):
            agent.sample(np.ones((1, 3), np.float32))


class TestSchedule:
    def test_updates_follow_the_steps(self):
        options = {"num_envs": 3, "total_steps": 60, "learning_starts": 20}
        options |= {"train_every": 5, "gradient_steps": 2}
        seen = {x["sample_step"]: x["learn_step"] for x in trainer_of(dqn, **options)()}
        # Due at 20, 25, 30, ..., two steps each; environments step three at a time.
        for step, learned in seen.items():
            due = 0 if step < 20 else 2 * ((step - 20) // 5 + 1)
            assert learned == due

    def test_the_target_is_synchronised_every_so_many_gradient_steps(self):
        options = {"total_steps": 60, "learning_starts": 20, "train_every": 4}
        trainer, synced = trainer_of(dqn, **options, target_every=3, num_envs=1), []
        trainer.algorithm.sync_target = lambda: synced.append(trainer.agent.learn_step)
        list(trainer())
        assert synced == [3, 6, 9]

    def test_the_learning_rate_falls_with_environment_steps(self):
        options = {"anneal_learning_rate": True, "total_steps": 1000}
        algorithm = algorithm_of([[0.0, 0]], [[0.0, 0]], **options)
        agent, rate = dqn.Agent(algorithm, algorithm.config), algorithm.learning_rate
        agent.counters.sample_step = 750
        agent.learn(batch([1.0], [0], [True]))
        assert algorithm.learning_rate == pytest.approx(rate / 4)
