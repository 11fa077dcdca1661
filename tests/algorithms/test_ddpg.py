"""DDPG and TD3 with exact numbers, exploration, and what their family has in common."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from factories import algorithm_of as algorithm_with
from factories import step, trainer_of
from gymnasium.spaces import Box
from tables import steps
from tensordict import TensorDict
from worlds import Follow

from yieldrl.algorithms import ddpg, sac, sac_discrete, td3

LINE = Box(-np.inf, np.inf, (1,), np.float32)
FOLLOW = {"total_steps": 800, "learning_starts": 100, "batch_size": 64}
FOLLOW |= {"hidden_sizes": (32,), "learning_rate": 3e-3, "eval_every": 0}


def set_line(layers, weight, bias):
    """Make layers without a hidden one `x -> weight . x + bias`."""
    with torch.no_grad():
        first = layers.layers[0]
        first.weight.copy_(torch.tensor(weight).reshape_as(first.weight))
        first.bias.fill_(bias)


def algorithm_of(**kwargs):
    """`mu(s) = tanh(s)`, `Q(s, a) = 2 s + 3 a + 1`; the targets say half of that."""
    config = ddpg.Config(hidden_sizes=(), **kwargs)
    algorithm = ddpg.Algorithm(ddpg.Model(LINE, Box(-1, 1, (1,)), config), config)
    for model, scale in ((algorithm.model, 1.0), (algorithm.target_model, 0.5)):
        set_line(model.actor[1], [scale], 0.0)
        set_line(model.critic.head, [2 * scale, 3 * scale], scale)
    return algorithm


def batch(obs, action, reward, next_obs, terminated):
    action = torch.tensor(action).unsqueeze(1)
    told = {"obs": obs, "next_obs": next_obs, "terminated": terminated}
    return steps(reward, action=action, **told)


class TestMathematics:
    data = batch([0.5, -1.0], [0.25, 1.0], [1.0, 2.0], [0.8, 0.8], [False, True])

    def test_the_target_by_hand(self):
        # Q'(.8, mu'(.8)) = .8 + 1.5 tanh(.4) + .5; nothing after a termination, all of
        # it after a truncation.
        value = 0.8 + 1.5 * math.tanh(0.4) + 0.5
        target = algorithm_of().td_target(self.data)
        assert target.tolist() == pytest.approx([1 + 0.5 * value, 2.0])

    def test_the_critics_loss_by_hand(self):
        algorithm = algorithm_of()
        errors = algorithm.td_target(self.data) - torch.tensor([2.75, 2.0])
        loss, _ = algorithm.critic_loss(self.data)
        assert loss.item() == pytest.approx(errors.square().mean().item() / 2)

    def test_the_actor_climbs_the_critic(self):
        algorithm = algorithm_of()
        loss, _ = algorithm.actor_loss(self.data)
        loss.backward(inputs=list(algorithm.model.actor.parameters()))
        # Equation 6: dQ/da dmu/dw = 3 (1 - tanh(s)^2) s, averaged, downhill.
        obs = np.array([0.5, -1.0])
        slope = -(3 * (1 - np.tanh(obs) ** 2) * obs).mean()
        gradient = algorithm.model.actor[1].layers[0].weight.grad
        assert gradient is not None
        assert gradient.item() == pytest.approx(slope, rel=1e-5)

    def test_each_step_moves_its_own_network_alone(self):
        algorithm = algorithm_of()
        parts = {"actor": algorithm.model.actor, "critic": algorithm.model.critic}
        parts["target"] = algorithm.target_model
        for method, moved in (("learn_critic", "critic"), ("learn_actor", "actor")):
            before = {k: [p.clone() for p in x.parameters()] for k, x in parts.items()}
            getattr(algorithm, method)(self.data)
            for name, part in parts.items():
                same = map(torch.equal, before[name], part.parameters())
                assert not any(same) if name == moved else all(same), name
        assert all(p.grad is None for p in algorithm.model.parameters())

    def test_the_targets_follow(self):
        algorithm = algorithm_of(tau=0.25)
        algorithm.sync_target()
        head = algorithm.target_model.critic.head
        assert head.layers[0].weight.flatten().tolist() == [1.25, 1.875]
        assert algorithm.target_model.actor[1].layers[0].weight.item() == 0.625


def agent_of(space, **kwargs):
    config = ddpg.Config(hidden_sizes=(8,), learning_starts=10, **kwargs)
    return ddpg.Agent(ddpg.Algorithm(ddpg.Model(LINE, space, config), config), config)


class TestExploration:
    def test_at_first_uniform_within_the_bounds_of_each_dimension(self):
        low, high = np.array([-2, 10], np.float32), np.array([0, 30], np.float32)
        agent = agent_of(Box(low, high))
        action, extras = agent.sample(np.zeros((20_000, 1), np.float32))
        assert np.all((action >= low) & (action <= high))
        assert action.mean(0) == pytest.approx([-1, 20], abs=0.3)
        assert action.std(0) == pytest.approx(np.array([2, 20]) / 12**0.5, rel=0.02)
        # The buffer, and through it the critic, gets the same action in [-1, 1].
        inside = extras["action"].numpy()
        assert action == pytest.approx((low + high) / 2 + inside * (high - low) / 2)

    def test_then_the_actors_with_noise_in_units_of_the_bounds(self):
        agent = agent_of(Box(-5.0, 15.0, (1,)), exploration_noise=0.05)
        agent.counters.sample_step = 10
        obs = np.zeros((20_000, 1), np.float32)
        noise = agent.sample(obs)[0] - agent.predict(obs)
        assert noise.std() == pytest.approx(0.05 * 10, rel=0.03)
        assert noise.mean() == pytest.approx(0, abs=0.02)

    def test_what_leaves_the_bounds_is_clipped_for_the_critic_too(self):
        agent = agent_of(Box(-2.0, 2.0, (1,)), exploration_noise=10.0)
        agent.counters.sample_step = 10
        action, extras = agent.sample(np.zeros((100, 1), np.float32))
        at_a_bound = np.abs(action) == 2.0
        assert at_a_bound.mean() > 0.7
        assert np.abs(action).max() == 2.0
        assert torch.equal(extras["action"].abs() == 1.0, torch.tensor(at_a_bound))
        assert extras["action"].abs().max() == 1.0


@pytest.mark.parametrize(
    ("module", "fields", "error", "said"),
    [
        (ddpg, {"env_id": "CartPole-v1"}, TypeError, r"must be a Box, got Discrete"),
        (sac, {"env_id": "CartPole-v1"}, TypeError, r"must be a Box, got Discrete"),
        (sac_discrete, {"env_id": "Pendulum-v1"}, TypeError, "must be Discrete"),
        (ddpg, {"tau": 0.0}, ValueError, "tau = "),
    ],
)
def test_what_makes_no_sense_is_refused(module, fields, error, said):
    with pytest.raises(error, match=said):
        module.Trainer(module.Config.from_dict(fields))


def test_actions_have_bounds_and_any_shape():
    env = Follow()
    env.action_space = Box(np.array([-1.0], np.float32), np.inf, (1,))
    with pytest.raises(ValueError, match="not bounded on every side"):
        ddpg.Trainer(ddpg.Config(), envs=env, eval_envs=Follow)
    for shape in ((), (2, 3)):
        agent, obs = agent_of(Box(-1, 1, shape)), np.zeros((4, 1), np.float32)
        assert agent.predict(obs).shape == (4, *shape)
        assert agent.predict(obs[0]).shape == shape
        assert agent.sample(obs)[0].shape == (4, *shape)
        value = agent.model.value(torch.zeros(4, 1), torch.zeros(4, *shape))
        assert value.shape == (4,)


def test_the_critic_learns_where_the_action_led():
    """The last observation of an episode, never the first of the next."""
    trainer = ddpg.Trainer(ddpg.Config(**FOLLOW | {"total_steps": 50}), envs=Follow)
    list(trainer())
    data = trainer.buffer.sample(64)
    assert torch.equal(data["obs"], data["next_obs"])
    assert data["terminated"].all()


@pytest.mark.parametrize(("module", "count"), [(ddpg, 2), (sac, 3)])
def test_the_learning_rate_of_all_optimizers_can_be_set(module, count):
    algorithm = trainer_of(module).algorithm
    algorithm.learning_rate = 0.5
    parts = vars(algorithm).values()
    optimizers = [part for part in parts if isinstance(part, torch.optim.Optimizer)]
    assert len(optimizers) == count
    assert {one.param_groups[0]["lr"] for one in optimizers} == {0.5}


@pytest.mark.parametrize("module", [td3, sac], ids=["td3", "sac"])
def test_units_of_the_action_change_nothing(module):
    """Learning in [-1, 1] and in [-64, 64] is the same, bit by bit."""
    ends = []
    for half_width in (1.0, 64.0):
        config = module.Config(**FOLLOW | {"total_steps": 140})
        trainer = module.Trainer(config, envs=partial(Follow, 0.0, half_width))
        list(trainer())
        ends.append(torch.cat([p.flatten() for p in trainer.model.parameters()]))
    assert torch.equal(*ends)


def test_it_learns_to_follow():
    trainer = ddpg.Trainer(ddpg.Config(**FOLLOW), envs=lambda: Follow(3.0, 2.0))
    assert trainer.evaluate(50)["logs"]["episode_return"] < -0.1
    list(trainer())
    assert trainer.evaluate(50)["logs"]["episode_return"] > -0.01


def td3_of(**kwargs):
    """`mu(s) = tanh(s)`, `Q_1(s, a) = 3 a`, `Q_2(s, a) = s + 2 a`; so are the targets.

    Which critic is the lower one depends on state and action.
    """
    config = td3.Config(hidden_sizes=(), **kwargs)
    model = td3.Model(LINE, Box(-1, 1, (1,)), config)
    with torch.no_grad():
        model.actor[1].layers[0].weight.fill_(1.0)
        model.actor[1].layers[0].bias.zero_()
        weight = torch.tensor([[[0.0], [3.0]], [[1.0], [2.0]]])
        model.critic.head.weights[0].copy_(weight)
        model.critic.head.biases[0].zero_()
    return td3.Algorithm(model, config)


DATA = batch([0.5, -1.0], [0.25, 1.0], [1.0, 2.0], [0.8, -0.6], [False, False])
ENDED = batch([0.5], [0.25], [1.0], [0.8], [True])


def test_the_target_of_td3_is_the_lower_of_two_and_both_critics_learn_from_it():
    algorithm = td3_of(policy_noise=0.0)
    first = min(3 * math.tanh(0.8), 0.8 + 2 * math.tanh(0.8))
    second = min(-3 * math.tanh(0.6), -0.6 - 2 * math.tanh(0.6))
    target = algorithm.td_target(DATA)
    assert target.tolist() == pytest.approx([1 + first / 2, 2 + second / 2])
    assert algorithm.td_target(ENDED).tolist() == [1.0]
    q_value = torch.tensor([[0.75, 3.0], [1.0, 1.0]])
    loss, _ = algorithm.critic_loss(DATA)
    expected = 0.5 * ((target - q_value) ** 2).mean(1).sum()
    assert loss.item() == pytest.approx(expected.item())


def test_the_target_action_is_smoothed_with_bounded_noise():
    algorithm = td3_of(policy_noise=0.2, noise_clip=0.3)
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


@pytest.mark.parametrize("module", [td3, sac], ids=["td3", "sac"])
def test_the_actor_waits_for_the_critics(module):
    algorithm = algorithm_with(module, LINE, Box(-1, 1, (1,)), policy_delay=3)
    moved = []
    for _ in range(7):
        before = [x.clone() for x in algorithm.model.actor.parameters()]
        logs = step(algorithm, DATA)
        pairs = zip(before, algorithm.model.actor.parameters(), strict=True)
        moved.append(not all(torch.equal(one, other) for one, other in pairs))
        assert ("actor_loss" in logs) == moved[-1]
    assert moved == [False, False, True, False, False, True, False]


def test_the_targets_wait_as_well():
    options = {"total_steps": 106, "learning_starts": 100, "batch_size": 4}
    trainer, synced = trainer_of(td3, envs=Follow, **options), []
    trainer.algorithm.sync_target = lambda: synced.append(trainer.agent.learn_step)
    list(trainer())
    assert synced == [2, 4, 6]


def test_the_actor_climbs_the_first_critic():
    loss, _ = td3_of().actor_loss(DATA)
    assert loss.item() == pytest.approx(-3 * torch.tanh(DATA["obs"]).mean().item())
