"""Behaviour cloning: whom it learns from, what it learns, and that it needs to."""

import math
from functools import partial

import factories
import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import step, train_logs
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from tensordict import TensorDict
from worlds import Counter, Follow

from yieldrl.algorithms import behavior_cloning, dqn, ppo_lstm
from yieldrl.collectors import AsyncCollector
from yieldrl.collectors.expert import random_actions
from yieldrl.envs import SerialVectorEnv
from yieldrl.envs.wrappers import ActionChunks, EpisodeStatistics

VECTOR = Box(-1, 1, (3,), np.float32)


SMALL = {"demonstration_steps": 40, "eval_every": 0, "num_envs": 2}
config_of = partial(factories.config_of, behavior_cloning, **SMALL)


algorithm_of = partial(
    factories.algorithm_of, behavior_cloning, VECTOR, Discrete(3), **SMALL
)


def trained(trainer):
    """Train; what the gradient steps logged."""
    return [log["logs"] for log in train_logs(trainer)]


def seven(envs, obs):
    return np.zeros(7, np.int64)


def balance(envs, obs):
    """A linear rule of four numbers that balances CartPole's pole for ever."""
    return (obs @ np.array([0.1, 0.2, 2.0, 1.0]) > 0).astype(np.int64)


def copy_number(envs, obs):
    """What `Follow` asks for."""
    return obs


def alternate(envs, obs):
    """The step's number, modulo 2: of Counter's observations."""
    return obs[:, 1].astype(np.int64) % 2


HERE = __name__


def chunks():
    return ActionChunks(SerialVectorEnv([Counter] * 2), 2)


class TestLoss:
    def batch(self, **entries):
        generator = torch.Generator().manual_seed(1)
        obs = torch.randn(4, 3, generator=generator)
        action = torch.tensor([0, 2, 1, 2])
        returns = torch.tensor([1.0, 2.0, 3.0, 4.0])
        batch = {"obs": obs, "action": action, "returns": returns, **entries}
        return TensorDict(batch, [4])

    def test_by_hand(self):
        """`-log softmax(logits)[a]`, and half the squared error times its weight."""
        algorithm, data = algorithm_of(value_coef=0.25), self.batch()
        log_p = algorithm.model.action(data["obs"]).log_softmax(1)
        likelihood = log_p[range(4), data["action"]].mean()
        error = (algorithm.model.get_value(data["obs"]) - data["returns"]).square()
        loss, logs = algorithm.loss(data)
        torch.testing.assert_close(loss, -likelihood + 0.25 * 0.5 * error.mean())
        torch.testing.assert_close(logs["log_likelihood"], likelihood.detach())
        assert not any(value.requires_grad for value in logs.values())

    def test_returns_of_episodes_that_were_cut_are_bootstrapped(self):
        algorithm = algorithm_of()
        after = torch.randn(4, 3)
        discount = torch.tensor([0.0, 0.5, 0.25, 0.0])
        data = self.batch(next_obs=after, discount=discount)
        with torch.no_grad():
            expected = data["returns"] + discount * algorithm.model.get_value(after)
        assert torch.equal(algorithm.value_target(data), expected)
        assert torch.equal(algorithm.value_target(self.batch()), data["returns"])

    def test_without_weight_the_critic_is_left_alone(self):
        algorithm = algorithm_of(value_coef=0.0)
        before = [p.clone() for p in algorithm.model.critic.parameters()]
        logs = step(algorithm, self.batch())
        assert "value_loss" not in logs
        after = list(algorithm.model.critic.parameters())
        assert all(map(torch.equal, before, after))

    def test_actions_that_do_not_exist_do_not_count(self):
        algorithm = algorithm_of()
        log_prob = torch.arange(12.0).view(2, 3, 2)
        chunks = {"action": torch.zeros(2, 3, 2), "num_steps": torch.tensor([3, 1])}
        data = TensorDict(chunks, [2])
        # (0 + 1) + (2 + 3) + (4 + 5) of one, 6 + 7 of the other: four actions.
        assert algorithm.log_likelihood(log_prob, data).item() == (15 + 13) / 4
        assert algorithm.log_likelihood(log_prob.sum(2), data).item() == 28 / 4
        endless = log_prob.clone()
        endless[1, 1:] = -math.inf
        assert algorithm.log_likelihood(endless, data).item() == 28 / 4
        whole = {"action": torch.zeros(2, 4), "num_steps": torch.tensor([4, 4])}
        said = torch.tensor([-4.0, -8.0])  # one number for a chunk of four actions
        assert algorithm.log_likelihood(said, TensorDict(whole, [2])).item() == -1.5
        single = TensorDict({"action": torch.zeros(2, 3)}, [2])
        assert algorithm.log_likelihood(torch.ones(2, 1, 3), single).item() == 3


class TestDemonstrations:
    @pytest.mark.parametrize("env_id", ["CartPole-v1", "yieldrl/CartPole-v1"])
    def test_noise_is_executed_and_not_recorded(self, env_id):
        """Nine of ten steps go the wrong way half the time; what is kept is right."""
        rule = f"{HERE}:{'balance' if env_id == 'CartPole-v1' else 'balance_tensors'}"
        options = {"demonstrations": rule, "demonstration_steps": 400}
        config = config_of(env_id=env_id, expert_noise=0.9, **options)
        trainer = behavior_cloning.Trainer(config)
        trained(trainer)
        rollout = trainer.buffer.rollout()
        wanted = balance(None, rollout["obs"].flatten(0, 1).numpy())
        assert np.array_equal(rollout["action"].flatten().numpy(), wanted)
        pushed = (rollout["next_obs"] - rollout["obs"])[..., 1] > 0
        executed = (pushed.long() == rollout["action"]).float().mean()
        assert 0.45 < executed < 0.65
        again = behavior_cloning.Trainer(config)
        trained(again)
        assert torch.equal(again.buffer.rollout()["obs"], rollout["obs"])

    @pytest.mark.parametrize("mode", list(gym.vector.AutoresetMode))
    def test_every_autoreset_mode(self, mode):
        envs = gym.vector.SyncVectorEnv([lambda: Counter(4)] * 2, autoreset_mode=mode)
        config = config_of(demonstrations=f"{HERE}:alternate", demonstration_steps=30)
        trainer = behavior_cloning.Trainer(config, envs=envs)
        logs = trained(trainer)
        assert all(math.isfinite(x) for log in logs for x in log.values())
        starts = trainer.buffer.windows.starts[False]
        steps = trainer.buffer.rollout()["obs"].flatten(0, 1)[starts, 1]
        assert steps.max() == 3  # an episode's last observation is acted on by nobody


@pytest.mark.parametrize(
    "space",
    [
        MultiBinary(2),
        MultiDiscrete([2, 3], start=[5, 1]),
        Box(np.array([-1.0, 5.0]), np.array([1.0, 6.0]), dtype=np.float64),
        Box(0, 3, (1,), np.uint8),
    ],
)
def test_random_actions_are_all_there_are(space):
    generator = torch.Generator().manual_seed(0)
    drawn = random_actions(space, 200, generator)
    assert all(space.contains(action) for action in drawn)
    values = {len(np.unique(column)) for column in drawn.reshape(200, -1).T}
    assert values <= {2, 3, 4, 200}


def balance_tensors(envs, obs):
    return torch.from_numpy(balance(envs, obs.numpy()))


def test_the_expert_acts_step_by_step():
    config = config_of(demonstrations=f"{HERE}:alternate")
    trainer = behavior_cloning.Trainer(config, envs=chunks())
    trained(trainer)
    rollout = trainer.buffer.rollout()
    assert rollout["action"].shape == (20, 2)
    assert rollout["obs"][:4, 0, 1].tolist() == [0, 1, 2, 0]
    assert trainer.agent.sample_step == 40
    assert trainer.evaluate(2)["logs"]["episode_return"] == 6.0
    # One number for a chunk can be learned from whole ones alone.
    batch = trainer.buffer.windows.minibatch(0, 99, whole=trainer.whole)
    assert trainer.whole
    assert set(batch["num_steps"].tolist()) == {2}


@pytest.mark.parametrize(
    ("anneal", "rates"),
    [(True, [1 / 3, 0.5, 0.5, 0.25]), (False, [1 / 3, 2 / 3, 1, 1])],
)
def test_the_rate_warms_up_and_falls_if_it_is_to(anneal, rates):
    options = {"warmup_steps": 3, "anneal_learning_rate": anneal}
    trainer = behavior_cloning.Trainer(config_of(learn_steps=4, **options))
    own, learn = [], trainer.agent.learn
    algorithm = trainer.algorithm
    trainer.agent.learn = lambda x: own.append(algorithm.learning_rate) or learn(x)
    trained(trainer)
    assert own == pytest.approx([trainer.config.learning_rate * x for x in rates])


class Unbounded(Follow):
    def __init__(self):
        super().__init__()
        self.action_space = Box(-np.inf, np.inf, (1,), np.float32)


@pytest.mark.parametrize(
    ("wrong", "parts", "said"),
    [
        ({"demonstrations": f"{HERE}:missing"}, {}, "no such function"),
        ({"demonstrations": f"{HERE}:seven"}, {}, r"of shape \(7,\).* must be \(2,\)"),
        ({"env_id": "CartPole-v1"}, {}, "has no expert"),
        ({}, {"collector": AsyncCollector}, "cannot be collected in the background"),
        (
            {"demonstrations": f"{HERE}:copy_number", "expert_noise": 0.1},
            {"envs": Unbounded},
            "expert_noise = 0.1: .* no bounds",
        ),
        (
            {"demonstrations": f"{HERE}:alternate"},
            {"envs": EpisodeStatistics(chunks())},
            "put the chunks around it",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, parts, said):
    with pytest.raises(ValueError, match=said):
        next(behavior_cloning.Trainer(config_of(**wrong), **parts)())


@pytest.mark.parametrize("module", [dqn, ppo_lstm])
def test_what_cannot_be_cloned_into_is_refused(module):
    model = module.Model(VECTOR, Discrete(2), module.Config())
    with pytest.raises(TypeError, match="cannot be cloned into"):
        behavior_cloning.Algorithm(model, config_of())


def test_the_clone_balances_and_knows_its_returns():
    """Where three times as much time passes from step to step, labels of the step
    before would not do. 1 a step for ever, discounted by 0.9: every value is 10."""
    options = {"env_kwargs": {"tau": 0.06}, "expert_noise": 0.1, "gamma": 0.9}
    options |= {"demonstration_steps": 2_000, "learning_rate": 1e-2}
    config = behavior_cloning.Config(**options, eval_every=0, seed=1)
    trainer = behavior_cloning.Trainer(config)
    assert trainer.evaluate(5)["logs"]["episode_return"] < 100
    logs = trained(trainer)
    assert trainer.evaluate(10)["logs"]["episode_return"] > 400
    accuracy = [log["accuracy"] for log in logs if "accuracy" in log]
    assert accuracy[-1] > 0.9
    with torch.no_grad():
        obs = trainer.buffer.rollout()["obs"].flatten(0, 1)
        error = (trainer.model.get_value(obs) - 10).abs()
    assert error.mean() < 1
