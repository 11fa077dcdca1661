"""DDPG's mathematics with exact numbers, its exploration, its schedule, learning; and
what its whole family has in common."""

import math

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from tensordict import TensorDict
from worlds import Follow

from yieldrl.algorithms import ddpg, sac, sac_discrete, td3
from yieldrl.envs import SerialVectorEnv

FAMILY = [ddpg, td3, sac, sac_discrete]
NAMES = ["ddpg", "td3", "sac", "sac_discrete"]
LINE = Box(-np.inf, np.inf, (1,), np.float32)
FOLLOW = {
    "total_steps": 800,
    "learning_starts": 100,
    "batch_size": 64,
    "hidden_sizes": (32,),
    "learning_rate": 3e-3,
    "eval_every": 0,
}


def plain(log):
    """A LogData whose numbers can be compared bit by bit."""
    return {**log, "logs": {k: float(v) for k, v in log["logs"].items()}}


def set_line(layers, weight, bias):
    """Make layers without a hidden one `x -> weight . x + bias`."""
    with torch.no_grad():
        layers.layers[0].weight.copy_(
            torch.tensor(weight).reshape_as(layers.layers[0].weight)
        )
        layers.layers[0].bias.fill_(bias)


def algorithm_of(**kwargs):
    """`mu(s) = tanh(s)`, `Q(s, a) = 2 s + 3 a + 1`; the targets say half of that."""
    config = ddpg.Config(hidden_sizes=(), **kwargs)
    algorithm = ddpg.Algorithm(ddpg.Model(LINE, Box(-1, 1, (1,)), config), config)
    for model, scale in ((algorithm.model, 1.0), (algorithm.target_model, 0.5)):
        set_line(model.actor[1], [scale], 0.0)
        set_line(model.critic.head, [2 * scale, 3 * scale], scale)
    return algorithm


def batch(obs, action, reward, next_obs, terminated):
    size = len(obs)
    return TensorDict(
        {
            "obs": torch.tensor(obs).unsqueeze(1),
            "action": torch.tensor(action).unsqueeze(1),
            "next_obs": torch.tensor(next_obs).unsqueeze(1),
            "reward": torch.tensor(reward),
            "discount": torch.full((size,), 0.5),
            "terminated": torch.tensor(terminated),
            "truncated": ~torch.tensor(terminated),
        },
        [size],
    )


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
        actor = [p.clone() for p in list(algorithm.model.actor.parameters())]
        critic = [p.clone() for p in list(algorithm.model.critic.parameters())]
        target = [p.clone() for p in list(algorithm.target_model.parameters())]
        algorithm.learn_critic(self.data)
        assert all(map(torch.equal, actor, list(algorithm.model.actor.parameters())))
        assert not any(
            map(torch.equal, critic, list(algorithm.model.critic.parameters()))
        )
        critic = [p.clone() for p in list(algorithm.model.critic.parameters())]
        algorithm.learn_actor(self.data)
        assert not any(
            map(torch.equal, actor, list(algorithm.model.actor.parameters()))
        )
        assert all(map(torch.equal, critic, list(algorithm.model.critic.parameters())))
        assert all(map(torch.equal, target, list(algorithm.target_model.parameters())))
        assert all(p.grad is None for p in algorithm.model.parameters())

    def test_the_targets_follow(self):
        algorithm = algorithm_of(tau=0.25)
        algorithm.sync_target()
        head = algorithm.target_model.critic.head
        assert head.layers[0].weight.flatten().tolist() == [1.25, 1.875]
        assert algorithm.target_model.actor[1].layers[0].weight.item() == 0.625


class TestExploration:
    def agent(self, space, **kwargs):
        config = ddpg.Config(hidden_sizes=(8,), learning_starts=10, **kwargs)
        model = ddpg.Model(LINE, space, config)
        return ddpg.Agent(ddpg.Algorithm(model, config), config)

    def test_at_first_uniform_within_the_bounds_of_each_dimension(self):
        low, high = np.array([-2, 10], np.float32), np.array([0, 30], np.float32)
        agent = self.agent(Box(low, high))
        action, extras = agent.sample(np.zeros((20_000, 1), np.float32))
        assert np.all((action >= low) & (action <= high))
        assert action.mean(0) == pytest.approx([-1, 20], abs=0.3)
        assert action.std(0) == pytest.approx(np.array([2, 20]) / 12**0.5, rel=0.02)
        # The buffer, and through it the critic, gets the same action in [-1, 1].
        inside = extras["action"].numpy()
        assert action == pytest.approx((low + high) / 2 + inside * (high - low) / 2)

    def test_then_the_actors_with_noise_in_units_of_the_bounds(self):
        agent = self.agent(Box(-5.0, 15.0, (1,)), exploration_noise=0.05)
        agent.sample_step = 10
        obs = np.zeros((20_000, 1), np.float32)
        noise = agent.sample(obs)[0] - agent.predict(obs)
        assert noise.std() == pytest.approx(0.05 * 10, rel=0.03)
        assert noise.mean() == pytest.approx(0, abs=0.02)

    def test_what_leaves_the_bounds_is_clipped_for_the_critic_too(self):
        agent = self.agent(Box(-2.0, 2.0, (1,)), exploration_noise=10.0)
        agent.sample_step = 10
        action, extras = agent.sample(np.zeros((100, 1), np.float32))
        at_a_bound = np.abs(action) == 2.0
        assert at_a_bound.mean() > 0.7
        assert np.abs(action).max() == 2.0
        assert torch.equal(extras["action"].abs() == 1.0, torch.tensor(at_a_bound))
        assert extras["action"].abs().max() == 1.0

    def test_evaluation_does_not_explore(self):
        agent = self.agent(Box(-1, 1, (2,)))
        obs = np.random.default_rng(0).normal(size=(50, 1))
        assert np.array_equal(agent.predict(obs), agent.predict(obs))
        assert len(np.unique(agent.predict(obs)[:, 0])) == 50

    @pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
    def test_actions_of_any_shape(self, shape):
        agent = self.agent(Box(-1, 1, shape))
        obs = np.zeros((4, 1), np.float32)
        assert agent.predict(obs).shape == (4, *shape)
        assert agent.predict(obs[0]).shape == shape
        assert agent.sample(obs)[0].shape == (4, *shape)
        value = agent.model.value(torch.zeros(4, 1), torch.zeros(4, *shape))
        assert value.shape == (4,)


class TestRefusals:
    @pytest.mark.parametrize("module", [ddpg, td3, sac], ids=NAMES[:3])
    def test_choices(self, module):
        with pytest.raises(TypeError, match=r"must be a Box, got Discrete\(2\): take"):
            module.Trainer(module.Config(env_id="CartPole-v1"))

    @pytest.mark.parametrize("module", [ddpg, td3, sac], ids=NAMES[:3])
    def test_bounds_that_are_missing(self, module):
        env = Follow()
        env.action_space = Box(np.array([-1.0], np.float32), np.inf, (1,))
        with pytest.raises(ValueError, match="not bounded on every side"):
            module.Trainer(module.Config(), envs=env, eval_envs=Follow)

    def test_numbers_where_choices_are_wanted(self):
        with pytest.raises(TypeError, match="must be Discrete, got Box"):
            sac_discrete.Trainer(sac_discrete.Config(env_id="Pendulum-v1"))

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("tau", 0.0),
            ("tau", 1.5),
            ("exploration_noise", -0.1),
            ("train_every", 0),
            ("learning_rate", 0.0),
            ("buffer_size", 0),
            ("hidden_sizes", (64, 0)),
        ],
    )
    def test_settings(self, field, value):
        with pytest.raises(ValueError, match=f"Config.{field} = "):
            ddpg.Config(**{field: value})


class TestSchedule:
    def test_updates_follow_the_steps(self):
        config = ddpg.Config(
            **FOLLOW
            | {"total_steps": 60, "learning_starts": 20, "num_envs": 3}
            | {"train_every": 5, "gradient_steps": 2, "batch_size": 4}
        )
        seen = {}
        for log in ddpg.Trainer(config, envs=Follow)():
            seen[log["sample_step"]] = log["learn_step"]
        # Due at 20, 25, 30, ..., two steps each; environments step three at a time.
        for step, learned in seen.items():
            due = 0 if step < 20 else 2 * ((step - 20) // 5 + 1)
            assert learned == due

    def test_the_targets_are_synchronised_every_so_many_gradient_steps(self):
        config = ddpg.Config(**FOLLOW | {"total_steps": 110, "target_every": 4})
        trainer, synced = ddpg.Trainer(config, envs=Follow), []
        trainer.algorithm.sync_target = lambda: synced.append(trainer.agent.learn_step)
        list(trainer())
        assert synced == [4, 8]

    def test_the_critic_learns_where_the_action_led(self):
        """The last observation of an episode, never the first of the next."""
        config = ddpg.Config(**FOLLOW | {"total_steps": 50})
        trainer = ddpg.Trainer(config, envs=Follow)
        list(trainer())
        data = trainer.buffer.sample(64)
        assert torch.equal(data["obs"], data["next_obs"])
        assert data["terminated"].all()


class TestFamily:
    """What holds for every algorithm of continuous control, and the discrete one."""

    def trainer(self, module, **kwargs):
        env = "CartPole" if module is sac_discrete else "Pendulum"
        small = {
            "env_id": f"yieldrl/{env}-v1",
            "num_envs": 2,
            "total_steps": 64,
            "learning_starts": 24,
            "batch_size": 8,
            "train_every": 2,
            "eval_every": 24,
            "eval_episodes": 2,
            "hidden_sizes": (8, 8),
        }
        return module.Trainer(module.Config(**small | kwargs))

    @pytest.fixture(params=FAMILY, ids=NAMES)
    def module(self, request):
        return request.param

    def test_breaking_out_anywhere_changes_nothing(self, module):
        through = [plain(log) for log in self.trainer(module)()]
        trainer, pieces = self.trainer(module), []
        while len(pieces) < len(through):
            for log in trainer():
                pieces.append(plain(log))
                break
        assert pieces == through
        assert list(trainer()) == []

    @pytest.mark.parametrize("stop", [5, 20, 41])
    def test_a_resumed_run_is_the_run(self, module, stop, tmp_path):
        through = [plain(log) for log in self.trainer(module)()]
        trainer, logs = self.trainer(module), []
        for log in trainer():
            logs.append(plain(log))
            if len(logs) == stop:
                break
        trainer.save(tmp_path / "run.pt")
        torch.rand(5)
        resumed = module.Trainer.load(tmp_path / "run.pt")
        assert logs + [plain(log) for log in resumed()] == through

    def test_the_step_size_of_all_optimizers_can_be_set(self, module):
        algorithm = self.trainer(module).algorithm
        algorithm.learning_rate = 0.5
        optimizers = [
            part
            for part in vars(algorithm).values()
            if isinstance(part, torch.optim.Optimizer)
        ]
        assert len(optimizers) == (2 if module in (ddpg, td3) else 3)
        assert {one.param_groups[0]["lr"] for one in optimizers} == {0.5}

    def test_nested_observations_and_images(self, module):
        image = Box(0, 255, (8, 8, 3), np.uint8)
        observations = Dict(camera=image, joints=Box(-1, 1, (2,)))
        actions = Discrete(3) if module is sac_discrete else Box(-1, 1, (2,))

        class Seeing(gym.Env):
            observation_space, action_space = observations, actions

            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                self.observation_space.seed(seed)
                return self.observation_space.sample(), {}

            def step(self, action):
                return self.observation_space.sample(), 1.0, False, False, {}

        small = {"total_steps": 12, "learning_starts": 8, "batch_size": 4}
        config = module.Config(**small, hidden_sizes=(8,), eval_every=0)
        trainer = module.Trainer(config, envs=SerialVectorEnv([Seeing, Seeing]))
        before = [p.clone() for p in trainer.model.parameters()]
        for log in trainer():
            assert all(math.isfinite(v) for v in log["logs"].values())
        assert not any(map(torch.equal, before, trainer.model.parameters()))

    @pytest.mark.parametrize("name", NAMES[:3])
    def test_units_of_the_action_change_nothing(self, name):
        """Learning in [-1, 1] and in [-64, 64] is the same, bit by bit."""
        module = FAMILY[NAMES.index(name)]
        ends = []
        for half_width in (1.0, 64.0):

            def make(half_width=half_width):
                return Follow(0.0, half_width)

            config = module.Config(**FOLLOW | {"total_steps": 140})
            trainer = module.Trainer(config, envs=make)
            list(trainer())
            ends.append(torch.cat([p.flatten() for p in trainer.model.parameters()]))
        assert torch.equal(*ends)


def test_it_learns_to_follow():
    trainer = ddpg.Trainer(ddpg.Config(**FOLLOW), envs=lambda: Follow(3.0, 2.0))
    assert trainer.evaluate(50)["logs"]["episode_return"] < -0.1
    list(trainer())
    assert trainer.evaluate(50)["logs"]["episode_return"] > -0.01


def test_compiled_learning_is_the_same(traced):
    ends = []
    for speed in ("eager", "compile"):
        config = ddpg.Config(**FOLLOW | {"total_steps": 130, "speed": speed})
        trainer = ddpg.Trainer(config, envs=Follow)
        logs = list(trainer())
        ends.append(
            torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
        )
        assert {"loss", "actor_loss", "q_value"} <= set(logs[-1]["logs"])
    torch.testing.assert_close(*ends, rtol=1e-3, atol=1e-4)
