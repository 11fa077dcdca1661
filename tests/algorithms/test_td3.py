"""TD3's three changes to DDPG, with exact numbers, and learning."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from tables import steps
from tensordict import TensorDict
from worlds import Follow

from yieldrl.algorithms import td3

LINE = Box(-np.inf, np.inf, (1,), np.float32)


def algorithm_of(**kwargs):
    """`mu(s) = tanh(s)`, `Q_1(s, a) = 3 a`, `Q_2(s, a) = s + 2 a`; so are the targets.

    Which critic is the lower one depends on state and action.
    """
    config = td3.Config(hidden_sizes=(), **kwargs)
    model = td3.Model(LINE, Box(-1, 1, (1,)), config)
    with torch.no_grad():
        model.actor[1].layers[0].weight.fill_(1.0)
        model.actor[1].layers[0].bias.zero_()
        model.critic.head.weights[0].copy_(
            torch.tensor([[[0.0], [3.0]], [[1.0], [2.0]]])
        )
        model.critic.head.biases[0].zero_()
    return td3.Algorithm(model, config)


def batch(obs, action, reward, next_obs, terminated):
    action = torch.tensor(action).unsqueeze(1)
    return steps(
        reward, obs=obs, action=action, next_obs=next_obs, terminated=terminated
    )


DATA = batch([0.5, -1.0], [0.25, 1.0], [1.0, 2.0], [0.8, -0.6], [False, False])
ENDED = batch([0.5], [0.25], [1.0], [0.8], [True])


def test_the_target_is_the_lower_of_two():
    algorithm = algorithm_of(policy_noise=0.0)
    first = min(3 * math.tanh(0.8), 0.8 + 2 * math.tanh(0.8))
    second = min(-3 * math.tanh(0.6), -0.6 - 2 * math.tanh(0.6))
    target = algorithm.td_target(DATA)
    assert target.tolist() == pytest.approx([1 + first / 2, 2 + second / 2])
    assert algorithm.td_target(ENDED).tolist() == [1.0]


def test_the_target_action_is_smoothed_with_bounded_noise():
    algorithm = algorithm_of(policy_noise=0.2, noise_clip=0.3)
    obs = torch.zeros(50_000, 1)
    action = algorithm.target_action(TensorDict({"next_obs": obs}, [len(obs)]))
    assert action.abs().max() == pytest.approx(0.3)
    clipped = np.clip(np.random.default_rng(0).normal(0, 0.2, 50_000), -0.3, 0.3)
    assert action.std().item() == pytest.approx(clipped.std(), rel=0.02)
    # And it stays in the box, where the critic has seen actions.
    at_the_edge = TensorDict({"next_obs": torch.full((100, 1), 9.0)}, [100])
    action = algorithm.target_action(at_the_edge)
    assert action.max() == 1.0
    assert (action < 1.0).any()


def test_both_critics_learn_from_the_same_target():
    algorithm = algorithm_of(policy_noise=0.0)
    target = algorithm.td_target(DATA)
    q_value = torch.tensor([[0.75, 3.0], [1.0, 1.0]])
    loss, _ = algorithm.critic_loss(DATA)
    expected = 0.5 * ((target - q_value) ** 2).mean(1).sum()
    assert loss.item() == pytest.approx(expected.item())


def test_the_actor_climbs_the_first_critic():
    algorithm = algorithm_of()
    loss, _ = algorithm.actor_loss(DATA)
    action = torch.tanh(DATA["obs"])
    assert loss.item() == pytest.approx(-3 * action.mean().item())
    loss.backward(inputs=list(algorithm.model.actor.parameters()))
    obs = DATA["obs"].squeeze().numpy()
    slope = -(3 * (1 - np.tanh(obs) ** 2) * obs).mean()
    assert algorithm.model.actor[1].layers[0].weight.grad.item() == pytest.approx(
        slope, rel=1e-5
    )


def test_the_actor_waits_for_the_critics():
    algorithm = algorithm_of(policy_delay=3)
    moved = []
    for _ in range(7):
        before = algorithm.model.actor[1].layers[0].weight.clone()
        logs = algorithm.learn(DATA)
        moved.append(not torch.equal(before, algorithm.model.actor[1].layers[0].weight))
        assert ("actor_loss" in logs) == moved[-1]
    assert moved == [False, False, True, False, False, True, False]


def test_a_loaded_algorithm_waits_as_long():
    algorithm, other = algorithm_of(policy_delay=2), algorithm_of(policy_delay=2)
    algorithm.learn(DATA)
    other.load_state_dict(algorithm.state_dict())
    assert "actor_loss" in other.learn(DATA)


def test_the_targets_wait_as_well():
    config = td3.Config(
        total_steps=106, learning_starts=100, batch_size=4, eval_every=0
    )
    trainer, synced = td3.Trainer(config, envs=Follow), []
    trainer.algorithm.sync_target = lambda: synced.append(trainer.agent.learn_step)
    list(trainer())
    assert synced == [2, 4, 6]
