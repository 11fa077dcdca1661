"""SAC for discrete actions: sums over actions with exact numbers, and learning."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tables import Table, steps

from yieldrl.algorithms import sac_discrete

ROW = Box(0, 9, (1,), np.float32)
Q = [[[1.0, 5.0], [2.0, 3.0]], [[4.0, 2.0], [1.0, 6.0]]]  # [critic, state, action]
P = [[0.25, 0.75], [0.5, 0.5]]  # [state, action]
DATA = steps(
    [1.0, 2.0], obs=[0, 1], action=[1, 0], next_obs=[1, 0], terminated=[False, True]
)


def algorithm_of(**kwargs):
    config = sac_discrete.Config(**kwargs)
    model = sac_discrete.Model(ROW, Discrete(2), config)
    model.actor, model.critic = Table(np.log(P).astype(np.float32)), Table(Q)
    return sac_discrete.Algorithm(model, config)


def entropy(p):
    return -sum(x * math.log(x) for x in p)


def test_the_target_by_hand_from_which_both_critics_learn_the_action_taken():
    algorithm = algorithm_of(temperature=0.2)
    target = algorithm.td_target(DATA)
    # In state 1 the lower critics say 1 and 3; after a termination there is nothing.
    soft = 0.5 * 1 + 0.5 * 3 + 0.2 * entropy(P[1])
    assert target.tolist() == pytest.approx([1 + 0.5 * soft, 2.0])
    loss, _ = algorithm.critic_loss(DATA)
    q_value = torch.tensor([[5.0, 2.0], [2.0, 1.0]])
    expected = 0.5 * ((target - q_value) ** 2).mean(1).sum()
    assert loss.item() == pytest.approx(expected.item())
    loss.backward()
    untouched = algorithm.model.critic.rows.grad[:, [0, 1], [0, 1]]
    assert untouched.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_the_actors_loss_by_hand():
    algorithm = algorithm_of(temperature=0.2)
    loss, logs = algorithm.actor_loss(DATA)
    value = [0.25 * 1 + 0.75 * 2, 0.5 * 1 + 0.5 * 3]
    losses = [-0.2 * entropy(p) - v for p, v in zip(P, value, strict=True)]
    assert loss.item() == pytest.approx(np.mean(losses))
    assert logs["entropy"].item() == pytest.approx(np.mean([entropy(p) for p in P]))
    loss.backward(inputs=list(algorithm.model.actor.parameters()))
    p, q_value = torch.tensor(P), torch.tensor([[1.0, 2.0], [1.0, 3.0]])
    cost = 0.2 * p.log() - q_value  # d/dlogits of p . cost is p (cost - p . cost)
    slope = p * (cost - (p * cost).sum(1, keepdim=True)) / 2
    torch.testing.assert_close(algorithm.model.actor.rows.grad, slope)


def test_certain_policies_have_finite_losses():
    algorithm = algorithm_of()
    with torch.no_grad():
        algorithm.model.actor.rows[:, 0] = 500.0
    loss, logs = algorithm.actor_loss(DATA)
    loss.backward()
    assert algorithm.model.actor.rows.grad.isfinite().all()
    assert logs["entropy"] == 0
    assert algorithm.td_target(DATA).isfinite().all()


def test_the_target_entropy_is_a_share_of_the_greatest():
    assert algorithm_of().target_entropy == pytest.approx(0.5 * math.log(2))
    most = algorithm_of(entropy_share=0.98).target_entropy
    assert most == pytest.approx(0.98 * math.log(2))
    assert algorithm_of(target_entropy=0.1).target_entropy == 0.1


def test_acting_draws_from_the_policy_and_evaluation_takes_the_most_likely():
    algorithm = algorithm_of(learning_starts=10)
    agent = sac_discrete.Agent(algorithm, algorithm.config)
    agent.counters.sample_step = 10
    action, _ = agent.sample(np.zeros((20_000, 1), np.float32))
    assert action.mean() == pytest.approx(0.75, abs=0.015)
    assert agent.predict(np.zeros((100, 1), np.float32)).tolist() == [1] * 100


def test_it_learns_which_action_pays_where():
    options = {"env_id": "yieldrl/ProbeChoice-v1", "num_envs": 4, "train_every": 4}
    options |= {"total_steps": 400, "learning_starts": 100, "batch_size": 32}
    options |= {"hidden_sizes": (16,), "learning_rate": 1e-2, "eval_every": 0}
    config = sac_discrete.Config(**options)
    trainer = sac_discrete.Trainer(config)
    list(trainer())
    answer = trainer.envs.answer(config.gamma)
    assert trainer.agent.predict(answer.obs).tolist() == answer.action.tolist()
