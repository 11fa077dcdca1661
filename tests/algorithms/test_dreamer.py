"""Dreamer's returns with exact numbers, what its losses move, and that it learns."""

import copy

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import SyncVectorEnv
from quick_tasks import CELLS, GAMMA, Corridor, best_values
from tensordict import TensorDict
from worlds import Counter

from yieldrl.algorithms import dreamer
from yieldrl.collectors import evaluate
from yieldrl.imagination import Prediction

VECTOR = Box(-np.inf, np.inf, (2,), np.float32)
SMALL = {"memory_size": 6, "groups": 2, "classes": 3}
SMALL |= {"hidden_sizes": (8,), "batch_size": 4, "sequence_length": 3, "horizon": 2}
SMALL |= {"learning_starts": 16, "num_envs": 2, "total_steps": 64, "eval_every": 0}
SMALL |= {"device": "cpu"}


def algorithm_of(action_space=Discrete(2), **options):  # noqa: B008
    config = dreamer.Config(**{**SMALL, **options})
    torch.manual_seed(0)
    return dreamer.Algorithm(dreamer.Model(VECTOR, action_space, config), config)


def stays(algorithm, reward, end):
    """Put its model into a world that stays, always with that reward, maybe ending."""
    model = algorithm.model
    two_hot = model.world.outcome.two_hot.encode(torch.tensor(reward)).log()
    ends = torch.tensor([1 - end, end]).log()
    raw = torch.cat([ends, two_hot.clamp(min=-1e4)])

    def predict(obs, action, generator=None):
        return Prediction(obs, raw.expand(len(obs), -1), torch.zeros(len(obs)))

    model.world.predict = predict


def values(algorithm, bin_):
    """Let the target critic say that bin everywhere; the number that it stands for."""
    last = algorithm.target_critic.layers[-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(-1e4)
        last.bias[bin_] = 0
    return algorithm.model.returns.bins[bin_].item()


class TestReturns:
    def test_by_hand(self):
        """An end that is as likely as not halves what comes after."""
        algorithm = algorithm_of(gamma=0.8, gae_lambda=0.5)
        stays(algorithm, reward=1.0, end=0.5)
        v = values(algorithm, 36)
        segment = algorithm.imagined(torch.zeros(3, 12))
        last = 1 + 0.4 * v
        first = 1 + 0.4 * (0.5 * v + 0.5 * last)
        for t, expected in enumerate([first, last]):
            assert segment["returns"][t].tolist() == pytest.approx([expected] * 3)
        assert segment["reached"].tolist() == [[1.0] * 3, [0.5] * 3]

    def test_advantages_are_divided_by_the_range_of_returns_if_that_is_large(self):
        algorithm = algorithm_of(gamma=0.0)
        stays(algorithm, reward=1.0, end=0.0)
        v = values(algorithm, 36)
        segment = algorithm.imagined(torch.zeros(3, 12))
        assert algorithm.spread.value == 0
        assert segment["advantage"].flatten().tolist() == pytest.approx([1 - v] * 6)
        with torch.no_grad():
            algorithm.spread.value.fill_(10.0)
            algorithm.spread.weight.fill_(1e9)
        segment = algorithm.imagined(torch.zeros(3, 12))
        tenth = [(1 - v) / 10] * 6
        assert segment["advantage"].flatten().tolist() == pytest.approx(tenth, rel=1e-3)

    def test_the_spread_is_that_of_the_middle_nine_tenths(self):
        algorithm = algorithm_of(gamma=0.0, horizon=1)
        two_hot = algorithm.model.world.outcome.two_hot
        codes = two_hot.encode(torch.arange(101.0)).log().clamp(min=-1e4)
        raw = torch.cat([torch.zeros(101, 2), codes], -1)
        predicted = lambda obs, *_: Prediction(obs, raw, torch.zeros(101))  # noqa: E731
        algorithm.model.world.predict = predicted
        algorithm.imagined(torch.zeros(101, 12))
        assert algorithm.spread.value.item() == pytest.approx(90.0, rel=1e-4)


class TestLearning:
    def data(self):
        torch.manual_seed(3)
        size = 3, 4
        first = torch.zeros(size, dtype=torch.bool)
        data = {
            "obs": torch.randn(*size, 2),
            "action": torch.randint(2, size),
            "reward": torch.randn(size),
            "terminated": torch.rand(size) < 0.3,
            "memory": torch.zeros(*size, 6),
            "first": first,
        }
        return TensorDict(data, size)

    def moved(self, algorithm, step):
        before = copy.deepcopy(algorithm.model.state_dict())
        step()
        after = algorithm.model.state_dict()
        return {
            name.split(".")[0]
            for name, tensor in after.items()
            if not torch.equal(tensor, before[name])
        }

    def test_each_loss_moves_its_own_part(self):
        algorithm, data = algorithm_of(), self.data()
        algorithm.generator.manual_seed(0)
        world = self.moved(
            algorithm, lambda: algorithm.minimize(algorithm.world_loss, data)
        )
        assert world == {"world"}
        steps = algorithm.imagined(data["state"].flatten(0, 1)).flatten()
        assert len(steps) == 2 * 12
        optimizer = algorithm.behavior_optimizer
        behavior = self.moved(
            algorithm,
            lambda: algorithm.minimize(algorithm.behavior_loss, steps, optimizer),
        )
        assert behavior == {"actor", "critic"}

    def test_a_gaussians_deviation_is_learned(self):
        box = Box(-1, 1, (1,), np.float32)
        algorithm, data = algorithm_of(box), self.data()
        data["action"] = torch.randn(3, 4, 1)
        assert "log_std" in self.moved(algorithm, lambda: algorithm.learn(data))

    def test_the_actors_gradient_by_hand(self):
        """It is that of `reached (A log pi + entropy_coef H)`."""
        algorithm = algorithm_of(entropy_coef=0.5)
        model, state = algorithm.model, torch.randn(6, 12)
        steps = TensorDict(
            {
                "obs": state,
                "action": torch.tensor([0, 1, 1, 0, 0, 1]),
                "advantage": torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0, 1.0]),
                "reached": torch.tensor([1.0, 1.0, 0.5, 0.5, 0.0, 0.0]),
                "returns": torch.zeros(6),
            },
            [6],
        )
        bias = model.actor.layers[-1].bias
        loss, _ = algorithm.behavior_loss(steps)
        (found,) = torch.autograd.grad(loss, bias)
        policy = torch.distributions.Categorical(logits=model.actor(state))
        gain = steps["advantage"] * policy.log_prob(steps["action"])
        gain = steps["reached"] * (gain + 0.5 * policy.entropy())
        (expected,) = torch.autograd.grad(-gain.mean(), bias)
        torch.testing.assert_close(found, expected)


class Echo(gym.Env):
    """Say again what was shown at first: 1 for that, after two steps without a sign."""

    observation_space = Box(-1, 1, (2,), np.float32)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.sign, self.steps = int(self.np_random.integers(2)), 0
        return np.array([1, 2 * self.sign - 1], np.float32), {}

    def step(self, action):
        self.steps += 1
        ended = self.steps == 3
        obs = np.array([0, 0] if self.steps < 2 else [-1, 0], np.float32)
        return obs, float(ended and action == self.sign), ended, False, {}


class TestActing:
    def trainer(self, **options):
        return dreamer.Trainer(dreamer.Config(**{**SMALL, **options}), envs=Echo)

    def test_the_buffer_has_the_memory_with_which_was_acted(self):
        """And `first` where episodes begin: unrolled anew, it is the same memory."""
        trainer = self.trainer(learning_starts=100, num_envs=1)
        list(trainer())
        rows = trainer.buffer.every_step()
        assert rows["first"].tolist() == [t % 3 == 0 for t in range(64)]
        assert torch.equal(rows["first"], rows["obs"][:, 0] == 1)
        world = trainer.model.world
        with torch.no_grad():
            for t in (0, 3, 6):  # all that follows a state is drawn: look at its memory
                seen = world.features(rows["obs"][t : t + 1])
                states = {
                    tuple(world.remember(state, rows["action"][t : t + 1])[0].tolist())
                    for seed in range(64)
                    for state in [world.see(torch.zeros(1, 6), seen, rng(seed))[0]]
                }
                kept = torch.tensor(sorted(states))
                error = (kept - rows["memory"][t + 1]).abs().amax(1).min()
                assert error < 1e-6

    def test_nothing_is_learned_before_a_sequence_is_there(self):
        trainer = self.trainer(learning_starts=0, sequence_length=8, train_every=2)
        first = next(log for log in trainer() if log["log_type"] == "train")
        assert first["sample_step"] == 16

    def test_sequences_fit_into_the_buffer_and_it_is_in_this_process(self):
        with pytest.raises(ValueError, match=r"sequence_length = 9.* holds 8 steps"):
            dreamer.Config(num_envs=2, buffer_size=17, sequence_length=9)
        with pytest.raises(ValueError, match=r"replay_actor = True"):
            dreamer.Config(collection="ray", replay_actor=True)


@pytest.mark.parametrize("length", [1, 3])
def test_episodes_are_learned_from_whole_where_the_step_after_an_end_resets(length):
    envs = SyncVectorEnv([lambda: Counter(length)] * 2)  # in mode NEXT_STEP
    options = {**SMALL, "learning_starts": 0, "sequence_length": 8}
    trainer, batches = dreamer.Trainer(dreamer.Config(**options), envs=envs), []
    learn = trainer.agent.learn
    trainer.agent.learn = lambda data: batches.append(data.clone()) or learn(data)
    list(trainer())
    assert trainer.agent.learn_step > 0
    data = torch.cat(batches, 1)
    episode, place = data["obs"].unbind(-1)
    assert data["valid"].all()
    assert torch.equal(place[1:], (place[:-1] + 1) % length)
    assert torch.equal(data["first"], place == 0)
    ends = (place == length - 1) & (episode % 2 == 0)
    assert torch.equal(data["terminated"], ends)
    assert (data["discount"] == trainer.config.gamma).all()


def rng(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.slow
def test_it_learns_from_what_it_imagines():
    """Every step to the end is right; the critic knows how far that is."""
    options = {**SMALL, "gamma": GAMMA, "num_envs": 4, "total_steps": 1200}
    options |= {"learning_starts": 200, "train_every": 4, "batch_size": 16}
    options |= {"sequence_length": 6, "horizon": 3, "memory_size": 32, "groups": 4}
    options |= {"classes": 4, "hidden_sizes": (32,), "learning_rate": 3e-3}
    options |= {"behavior_rate": 3e-3, "free_nats": 1.0, "threads": 1}
    trainer = dreamer.Trainer(dreamer.Config(**options), envs=Corridor)
    list(trainer())
    found = evaluate(trainer.agent, trainer.evaluator.envs, 40, 5)
    assert found.returns.mean() == 1.0
    assert found.lengths.max() <= CELLS
    begun = {"memory": torch.zeros(CELLS, 32), "first": torch.ones(CELLS).bool()}
    with torch.no_grad():
        value = trainer.model.value({"obs": torch.eye(CELLS), **begun})
    assert (value - best_values()[:, 1]).abs().max() < 0.25
