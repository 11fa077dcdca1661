"""Double DQN's target with exact numbers, and what it is for."""

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from quick_tasks import learned_error
from tables import Table, steps

from yieldrl.algorithms import double_dqn


def algorithm_of(module, online, target):
    config = module.Config()
    space = Box(0, 1e6, (1,), np.float32)
    model = module.Model(space, Discrete(online.shape[1]), config)
    model.head = Table(target)
    algorithm = module.Algorithm(model, config)  # the target starts out as a copy
    with torch.no_grad():
        model.head.rows.copy_(online)
    return algorithm


def batch(rows, terminated):
    return steps([1.0] * len(rows), next_obs=rows, terminated=terminated)


def test_one_network_chooses_and_the_other_judges():
    online = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    target = torch.tensor([[2.0, 6.0], [4.0, 8.0]])
    algorithm = algorithm_of(double_dqn, online, target)
    data = batch([0, 1, 0], [False, False, True])
    # The online network prefers action 0 in row 0, the target values it 2, and 1 in
    # row 1, at 8.
    assert algorithm.td_target(data).tolist() == [1 + 0.5 * 2, 1 + 0.5 * 8, 1.0]


def test_no_gradient_flows_into_the_choice():
    rows = torch.tensor([[1.0, 2.0]])
    algorithm = algorithm_of(double_dqn, rows, rows)
    algorithm.loss(batch([0], [False]))[0].backward()
    head = algorithm.model.head
    assert isinstance(head, Table)
    assert head.rows.grad is not None
    # d/dQ (Q - 2)^2 / 2 = 1 - 2 for the action taken, nothing elsewhere.
    assert head.rows.grad.tolist() == [[-1.0, 0.0]]


def test_it_learns_the_values_of_a_corridor():
    assert learned_error(double_dqn) < 0.02
