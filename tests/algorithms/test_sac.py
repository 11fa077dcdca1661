"""SAC's targets and losses with exact numbers, its temperature, and learning."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from quick_tasks import Aim
from tables import steps

from yieldrl.algorithms import sac

LINE = Box(-np.inf, np.inf, (1,), np.float32)
SEEN = {"obs": [0.5, -1.0, 0.1], "next_obs": [1.0, -2.0, 0.2]}
DONE = {"action": [[0.25], [1.0], [-0.5]], "terminated": [False, True, False]}
DATA = steps([1.0, 2.0, 3.0], **SEEN, **DONE)
OBS = DATA["obs"]


class Given:
    """A policy whose noise was drawn: actions `s / 2`, their log-density `s - 1`."""

    def __init__(self, obs):
        self.obs = obs

    log_std = torch.tensor([[0.0], [0.0], [math.log(4.0)]])

    def sample_with_log_prob(self):
        return self.obs / 2, self.obs.squeeze(1) - 1


def algorithm_of(**kwargs):
    """`Q_1(s, a) = 3 a`, `Q_2(s, a) = s + 2 a`, so that the lower one changes."""
    config = sac.Config(hidden_sizes=(), **kwargs)
    model = sac.Model(LINE, Box(-1, 1, (1,)), config)
    with torch.no_grad():
        weight = torch.tensor([[[0.0], [3.0]], [[1.0], [2.0]]])
        model.critic.head.weights[0].copy_(weight)
        model.critic.head.biases[0].zero_()
    return sac.Algorithm(model, config)


class TestTarget:
    def test_by_hand(self):
        algorithm = algorithm_of(temperature=0.2)
        algorithm.model.policy = Given
        with torch.no_grad():  # which leaves the target critics as they are
            algorithm.model.critic.head.weights[0].add_(7)
        # s' = 1: a' = .5, min(1.5, 2) - .2 * 0; s' = .2: min(.3, .4) + .2 * .8.
        expected = [1 + 0.5 * 1.5, 2.0, 3 + 0.5 * (0.3 + 0.16)]
        assert algorithm.td_target(DATA).tolist() == pytest.approx(expected)

    def test_only_the_critics_are_followed(self):
        algorithm = algorithm_of(tau=0.5)
        with torch.no_grad():
            for parameter in algorithm.model.parameters():
                parameter += 2
        algorithm.sync_target()
        weight = algorithm.target_critic.head.weights[0]
        assert weight.flatten().tolist() == [1.0, 4.0, 2.0, 3.0]


class TestActor:
    def test_loss_by_hand(self):
        algorithm = algorithm_of(temperature=0.2)
        algorithm.model.policy = Given
        loss, logs = algorithm.actor_loss(DATA)
        # a = s / 2: min(3 a, s + 2 a) is .75, -2, .15 for s = .5, -1, .1.
        expected = [0.2 * -0.5 - 0.75, 0.2 * -2 + 2, 0.2 * -0.9 - 0.15]
        assert loss.item() == pytest.approx(np.mean(expected))
        assert logs["entropy"].item() == pytest.approx(np.mean([0.5, 2.0, 0.9]))
        assert logs["policy_std"].item() == pytest.approx(2.0)  # the mean of 1, 1, 4

    def test_gradients_flow_through_the_action_and_its_density(self):
        algorithm, gradients = algorithm_of(temperature=0.2), []
        for written_out in (False, True):
            torch.manual_seed(0)
            if written_out:
                action, log_prob = algorithm.model.policy(OBS).sample_with_log_prob()
                q_value = torch.minimum(3 * action, OBS + 2 * action).squeeze(1)
                loss = (0.2 * log_prob - q_value).mean()
            else:
                loss, _ = algorithm.actor_loss(DATA)
            own = list(algorithm.model.actor.parameters())
            gradients.append(torch.autograd.grad(loss, own))
        torch.testing.assert_close(*gradients)

    def test_neither_critics_nor_temperature_move(self):
        algorithm = algorithm_of()
        before = [p.clone() for p in list(algorithm.model.critic.parameters())]
        algorithm.learn_actor(DATA)
        assert all(map(torch.equal, before, list(algorithm.model.critic.parameters())))
        assert all(p.grad is None for p in algorithm.model.parameters())
        assert algorithm.temperature.log_alpha.grad is None


class TestTemperature:
    def test_its_gradient_by_hand(self):
        algorithm = algorithm_of(target_entropy=-2.0)
        with torch.no_grad():
            algorithm.temperature.log_alpha.fill_(math.log(0.3))
        algorithm.temperature_loss(torch.tensor(1.5))[0].backward()
        # d/dlog_alpha alpha (H - target) = alpha (H - target).
        gradient = algorithm.temperature.log_alpha.grad
        assert gradient is not None
        assert gradient.item() == pytest.approx(0.3 * 3.5)

    def test_by_default_it_holds_minus_the_number_of_dimensions(self):
        config = sac.Config(hidden_sizes=())
        model = sac.Model(LINE, Box(-1, 1, (2, 3)), config)
        assert sac.Algorithm(model, config).target_entropy == -6

    @pytest.mark.parametrize("temperature", [0.0, 0.25])
    def test_a_given_one_stays(self, temperature):
        algorithm = algorithm_of(temperature=temperature)
        for _ in range(3):
            logs = algorithm.learn(DATA)
        assert logs["temperature"].item() == pytest.approx(temperature)
        assert "temperature_optimizer" not in algorithm.state_dict()


class TestActing:
    def agent(self):
        config = sac.Config(hidden_sizes=(8,), learning_starts=10)
        model = sac.Model(LINE, Box(-5, 15, (2,)), config)
        return sac.Agent(sac.Algorithm(model, config), config)

    def test_evaluation_takes_tanh_of_the_mean(self):
        agent = self.agent()
        obs = torch.randn(20, 1)
        mean = agent.model.actor(obs)[:, :2]
        torch.testing.assert_close(agent.predict(obs), 5 + 10 * torch.tanh(mean))

    def test_exploration_draws_from_the_policy(self):
        agent = self.agent()
        agent.counters.sample_step = 10
        obs = torch.zeros(50_000, 1)
        _, extras = agent.sample(obs)
        mean, log_std = agent.model.actor(obs[:1])[0].detach().chunk(2)
        normal = torch.atanh(extras["action"].double())
        torch.testing.assert_close(normal.mean(0).float(), mean, rtol=0.05, atol=0.02)
        std = normal.std(0).float()
        torch.testing.assert_close(std, log_std.exp(), rtol=0.02, atol=0.01)

    def test_standard_deviations_stay_in_their_range(self):
        model = self.agent().model
        for bias, log_std in ((1e4, 2.0), (-1e4, -20.0)):
            with torch.no_grad():
                model.actor[1].layers[1].bias.fill_(bias)
            assert model.policy(torch.zeros(1, 1)).log_std.tolist() == [[log_std] * 2]


def test_it_learns_what_pays_a_step_later():
    options = {"total_steps": 500, "learning_starts": 100, "batch_size": 32}
    options |= {"hidden_sizes": (32,), "learning_rate": 5e-3, "tau": 0.02}
    trainer = sac.Trainer(sac.Config(**options, eval_every=0), envs=Aim)
    assert trainer.evaluate(5)["logs"]["episode_return"] < -0.1
    list(trainer())
    assert trainer.evaluate(5)["logs"]["episode_return"] > -0.01
