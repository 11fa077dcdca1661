"""A2C: the paper's numbers, its place as a special case of PPO, and that it learns."""

import copy

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rollouts import gradients, rollout_of

from yieldrl.algorithms import a2c, ppo

PLAIN = {"normalize_reward": False, "entropy_coef": 0.02, "value_coef": 0.6}
ONCE = {"num_epochs": 1, "num_minibatches": 1, "normalize_advantage": False}


def algorithm_of(**kwargs):
    config = a2c.Config(**{**PLAIN, **kwargs})
    torch.manual_seed(0)
    model = a2c.Model(Box(-1, 1, (3,)), Discrete(3), config)
    algorithm = a2c.Algorithm(model, config)
    algorithm.counters.acted_version = 0  # the weights of now acted
    return algorithm


def test_returns_are_those_of_algorithm_s3():
    """R <- 0 or V(s_t); from the last step back, R <- r_i + gamma R."""
    algorithm, rollout = algorithm_of(gamma=0.9), rollout_of(steps=5)
    rollout["terminated"][2, 0] = rollout["truncated"][1, 1] = True
    rollout["next_obs"][1, 1] = torch.tensor([5.0, -5.0, 5.0])
    with torch.no_grad():
        following = algorithm.model.value(rollout["next_obs"].flatten(0, 1)).view(5, 4)
    expected = torch.empty(5, 4)
    for n in range(4):
        future = following[4, n]
        for t in reversed(range(5)):
            if rollout["terminated"][t, n]:
                future = torch.zeros(())
            if rollout["truncated"][t, n]:
                future = following[t, n]
            future = expected[t, n] = rollout["reward"][t, n] + 0.9 * future
    prepared = algorithm.prepare(rollout)
    torch.testing.assert_close(prepared["returns"], expected)
    torch.testing.assert_close(
        prepared["advantage"], expected - prepared["value"], rtol=1e-4, atol=1e-6
    )


def test_the_gradient_is_that_of_ppos_first_step():
    """Huang et al. 2022: with one pass the ratio is 1, and the clip never acts."""
    child = algorithm_of()
    config = ppo.Config(**PLAIN, **ONCE, gae_lambda=1.0)
    parent = ppo.Algorithm(copy.deepcopy(child.model), config)
    parent.counters.acted_version = parent.counters.policy_version
    data = parent.prepare(rollout_of(steps=5)).flatten(0, 1)
    for mine, its in zip(gradients(child, data), gradients(parent, data), strict=True):
        assert mine.abs().sum() > 0
        torch.testing.assert_close(mine, its, rtol=1e-5, atol=1e-7)
    # At a second step on the same data the policy has moved, and they part.
    for algorithm in (child, parent):
        with torch.no_grad():
            algorithm.model.actor.layers[2].weight.mul_(50)
    pairs = zip(gradients(child, data), gradients(parent, data), strict=True)
    assert not all(torch.allclose(mine, its, rtol=1e-2) for mine, its in pairs)


def test_the_parts_of_the_loss():
    algorithm = algorithm_of()
    data = algorithm.prepare(rollout_of(steps=5)).flatten(0, 1)
    loss, logs = algorithm.loss(data)
    parts = logs["policy_loss"] + 0.6 * logs["value_loss"] - 0.02 * logs["entropy"]
    assert loss.item() == pytest.approx(parts.item(), rel=1e-6)
    log_prob, _, value = algorithm.model.evaluate_actions(data["obs"], data["action"])
    by_hand = -(log_prob * data["advantage"]).mean()
    assert logs["policy_loss"].item() == pytest.approx(by_hand.item(), rel=1e-6)
    error = 0.5 * (value - data["returns"]).square().mean()
    assert logs["value_loss"].item() == pytest.approx(error.item(), rel=1e-6)


def test_advantages_can_be_normalized():
    algorithm = algorithm_of(normalize_advantage=True)
    data = algorithm.prepare(rollout_of(steps=5)).flatten(0, 1)
    small = gradients(algorithm, data)[0]
    data["advantage"] = 3 + 1000 * data["advantage"]
    torch.testing.assert_close(gradients(algorithm, data)[0], small)


def test_the_step_is_rmsprops():
    """Equations S2 and S3: g <- alpha g + (1 - alpha) d^2, theta -= eta d / sqrt(g)."""
    algorithm, square = algorithm_of(learning_rate=0.1), 0.0
    for _ in range(2):
        before = [p.detach().clone() for p in algorithm.model.parameters()]
        for parameter in algorithm.model.parameters():
            parameter.grad = torch.full_like(parameter, 2.0)
        algorithm.optimizer.step()
        square = 0.99 * square + 0.01 * 4
        moved = 0.1 * 2 / (square**0.5 + 1e-5)
        for new, old in zip(algorithm.model.parameters(), before, strict=True):
            torch.testing.assert_close(old - new, torch.full_like(new, moved))
