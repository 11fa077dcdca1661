"""Variants of DQN: double choice, two streams, n steps, priorities, noise."""

from functools import partial

import factories
import numpy as np
import pytest
import torch
from factories import VECTOR
from gymnasium.spaces import Box, Discrete
from quick_tasks import learned_error
from tables import Table, steps
from tensordict import TensorDict
from worlds import Counter

from yieldrl.algorithms import (
    c51,
    double_dqn,
    dqn,
    dueling_dqn,
    n_step_dqn,
    prioritized_dqn,
    rainbow,
)
from yieldrl.algorithms.dueling_dqn.algorithm import DuelingHead
from yieldrl.buffers import PrioritizedReplayBuffer
from yieldrl.networks import MLP, noisy_layers

ATOMS = {"v_min": 0.0, "v_max": 2.0, "num_atoms": 21}
TWO = {"n_step": 2, "epsilon_end": 0.1, "exploration_fraction": 0.4}
TWO |= {"buffer_size": 300}


@pytest.mark.parametrize(
    ("module", "options", "most"),
    [
        (double_dqn, {}, 0.02),
        (dueling_dqn, {}, 0.02),
        (prioritized_dqn, {}, 0.02),
        (c51, ATOMS, 0.02),
        # Roughly: returns of two steps are those of who explored a little.
        (n_step_dqn, TWO, 0.15),
        (rainbow, {**TWO, **ATOMS, "epsilon_start": 1.0}, 0.15),
    ],
)
def test_they_learn_the_values_of_a_corridor(module, options, most):
    assert learned_error(module, **options) < most


def tabular(module, online, target):
    config = module.Config()
    space = Box(0, 1e6, (1,), np.float32)
    model = module.Model(space, Discrete(online.shape[1]), config)
    model.head = Table(target)
    algorithm = module.Algorithm(model, config)  # the target starts out as a copy
    with torch.no_grad():
        model.head.rows.copy_(online)
    return algorithm


def test_one_network_chooses_and_the_other_judges():
    online = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    target = torch.tensor([[2.0, 6.0], [4.0, 8.0]])
    algorithm = tabular(double_dqn, online, target)
    data = steps([1.0] * 3, next_obs=[0, 1, 0], terminated=[False, False, True])
    # The online network prefers action 0 in row 0, the target values it 2, and 1 in
    # row 1, at 8.
    assert algorithm.td_target(data).tolist() == [1 + 0.5 * 2, 1 + 0.5 * 8, 1.0]


@pytest.mark.parametrize(
    ("value", "advantage", "expected"),
    [
        # V + A - mean A = 5 + (1, 2, 6) - 3
        ([5.0], [1.0, 2, 6], [3.0, 4, 8]),
        # Of two numbers an action, which stay side by side: means (3, 20).
        ([0.0, 100], [1.0, 10, 2, 20, 6, 30], [-2.0, 90, -1, 100, 3, 110]),
    ],
)
def test_two_streams_by_hand(value, advantage, expected):
    head = DuelingHead(MLP, [2], num_actions=3, per_action=len(value))
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
        head.state_value.layers[0].bias.copy_(torch.tensor(value))
        head.advantage.layers[0].bias.copy_(torch.tensor(advantage))
    assert head(torch.zeros(2, 2)).tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("hidden", "shapes"),
    [((), [(1, 4), (3, 4)]), ((9, 8), [(9, 4), (8, 9), (1, 8), (8, 9), (3, 8)])],
)
def test_streams_have_the_last_hidden_layer_to_themselves(hidden, shapes):
    config = dueling_dqn.Config(hidden_sizes=hidden)
    model = dueling_dqn.Model(Box(-1, 1, (4,), np.float32), Discrete(3), config)
    found = [tuple(p.shape) for p in model.parameters() if p.ndim == 2]
    assert found == shapes
    assert model.value(torch.randn(5, 4)).shape == (5, 3)
    assert model.value(torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])).shape == (5,)


def counting(module=n_step_dqn, **options):
    options = {"total_steps": 40, "learning_starts": 20, **options}
    config = module.Config(**options, eval_every=0)
    return module.Trainer(config, envs=lambda: Counter(5))


def test_the_target_is_n_rewards_and_the_value_after_them():
    trainer = counting(gamma=0.5, buffer_size=30)
    list(trainer())
    data = trainer.buffer.sample(500)
    with torch.no_grad():
        value = trainer.algorithm.target_model.value(data["next_obs"]).max(1).values
        target = trainer.algorithm.td_target(data)
    step = data["obs"][:, 1]  # rewards are step + 1, step + 2, ... up to 5
    used = (5 - step).clamp(max=3)
    weights = 0.5 ** torch.arange(3)
    later = torch.arange(3) + 1
    counts = later <= used.unsqueeze(1)
    rewards = ((step.unsqueeze(1) + later) * weights * counts).sum(1)
    assert torch.equal(data["next_obs"][:, 1], step + used)
    future = 0.5**used * value * ~data["terminated"]
    torch.testing.assert_close(target, rewards + future)
    ended = step + used == 5
    assert (data["terminated"] == ended & (data["obs"][:, 0] % 2 == 0)).all()
    assert (ended & ~data["terminated"]).any()  # a truncation, which bootstraps


def test_one_step_is_dqn():
    runs = []
    for trainer in (counting(n_step=1), counting(dqn), counting()):
        list(trainer())
        runs.append(torch.cat([p.flatten() for p in trainer.model.parameters()]))
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[2], runs[1])


def test_learning_waits_for_the_first_future():
    trainer = counting(n_step=7, learning_starts=0)
    next(log for log in trainer() if log["log_type"] == "train")
    assert trainer.agent.sample_step == 7


def test_n_must_be_a_number_of_steps_that_the_buffer_holds():
    with pytest.raises(ValueError, match=r"n_step = 0: .* equal to 1"):
        n_step_dqn.Config.from_dict({"n_step": 0})
    sizes = {"n_step": 9, "buffer_size": 32, "num_envs": 4}
    with pytest.raises(ValueError, match=r"n_step = 9: .* at most the 8 rows"):
        factories.trainer_of(n_step_dqn, **sizes)


algorithm_of = partial(factories.algorithm_of, prioritized_dqn, VECTOR)
trainer_of = partial(factories.trainer_of, prioritized_dqn, total_steps=60)


def batch(size=6, weight=None):
    generator = torch.Generator().manual_seed(1)
    data = {
        "obs": torch.randn(size, 2, generator=generator),
        "action": torch.arange(size) % 2,
        "next_obs": torch.randn(size, 2, generator=generator),
        "reward": torch.randn(size, generator=generator),
        "discount": torch.full((size,), 0.9),
        "terminated": torch.arange(size) == 2,
        "weight": torch.ones(size) if weight is None else weight,
        "index": torch.arange(size),
    }
    return TensorDict(data, [size])


def test_every_loss_counts_by_its_weight():
    weight = torch.tensor([1.0, 0.0, 0.5, 0.25, 0.0, 1.0])
    algorithm = algorithm_of()
    element_loss, _ = algorithm.element_loss(batch())
    loss, _ = algorithm.loss(batch(weight=weight))
    torch.testing.assert_close(loss, (weight * element_loss).sum() / 6)


def test_with_equal_weights_it_learns_as_dqn_does():
    child, parent = algorithm_of(), factories.algorithm_of(dqn)
    data = batch()
    found = child.learn(data)
    error = data["priority"]
    logs = parent.learn(batch())
    assert found.keys() == logs.keys()
    for name, value in logs.items():
        assert found[name] == value
    assert error.shape == (6,)
    assert not error.requires_grad
    assert float(error.mean()) == pytest.approx(float(logs["td_error"]))


def test_errors_come_back_as_priorities():
    trainer = trainer_of(priority_alpha=1.0)
    list(trainer())
    learned = []

    def learn(data):
        learned.append(data)
        data["priority"] = torch.arange(len(data), dtype=torch.float32)
        return {}

    trainer.agent.learn = learn
    log = trainer._run_train()
    assert "priority" not in log["logs"]
    leaves = trainer.buffer._tree.leaves
    # The same transition may come twice, and the last answer counts.
    last = {int(index): i for i, index in enumerate(learned[0]["index"])}
    for index, i in last.items():
        assert float(leaves[index]) == pytest.approx(i + 1e-6)


def test_the_weights_follow_beta():
    trainer = trainer_of(learning_starts=20, num_envs=1)
    betas, sample = [], trainer.buffer.sample
    trainer.buffer.sample = lambda size, beta: betas.append(beta) or sample(size, beta)
    logged = [log["logs"]["beta"] for log in trainer() if log["log_type"] == "train"]
    assert betas == logged
    assert betas[0] == pytest.approx(0.4 + 0.6 * 20 / 60)
    assert betas[-1] == 1.0


RAINBOW = {"env_id": "yieldrl/CartPole-v1", "num_envs": 4, "learning_starts": 100}
RAINBOW |= {"train_every": 4, "batch_size": 16, "buffer_size": 200}
RAINBOW |= {"hidden_sizes": (16, 8)}
rainbow_of = partial(factories.trainer_of, rainbow, **RAINBOW)


class TestParts:
    def test_the_network_is_two_noisy_streams_of_atoms(self):
        config = rainbow.Config(hidden_sizes=(9, 8), num_atoms=5, noise_sigma=0.1)
        model = rainbow.Model(Box(-1, 1, (4,), np.float32), Discrete(3), config)
        assert isinstance(model.head, DuelingHead)
        assert model.logits(torch.zeros(7, 4)).shape == (7, 3, 5)
        layers = noisy_layers(model)
        shapes = [[tuple(w.shape) for w in list(x.parameters())[:4:2]] for x in layers]
        assert shapes == [[(8, 9), (5, 8)], [(8, 9), (15, 8)]]
        plain = [x for x in model.modules() if type(x) is MLP]
        assert plain == [model.head.shared], "the streams share no noise"
        assert layers[0].sigma[0].unique().tolist() == pytest.approx([0.1 / 3])

    def test_targets_are_double_choices_of_n_step_atoms_and_priorities_theirs(self):
        trainer = rainbow_of(n_step=3)
        list(trainer())
        assert isinstance(trainer.buffer, PrioritizedReplayBuffer)
        data, algorithm = trainer.buffer.sample(64), trainer.algorithm
        choice = algorithm.model.value(data["next_obs"]).argmax(1)
        probability = algorithm.target_model.logits(data["next_obs"], choice).softmax(1)
        atoms = algorithm.model.atoms
        discount = 0.99**3 * ~data["terminated"]
        # Rewards are 1; the mean survives the projection, as no return is too large.
        reward = 1 + 0.99 + 0.99**2
        whole = data["discount"] < 0.99**2.5
        assert whole.sum() > 30
        mean = (reward + discount * (probability @ atoms))[whole]
        assert (mean < 95).all()
        found = (algorithm.td_target(data) @ atoms)[whole & ~data["terminated"]]
        expected = mean[~data["terminated"][whole]]
        torch.testing.assert_close(found, expected, atol=0.3, rtol=0)
        _, elements = algorithm.element_loss(data)
        assert torch.equal(data["priority"], elements["kl"]), "the divergence"
        assert not torch.equal(data["priority"], elements["td_error"])


class TestNoise:
    def test_it_explores_and_never_throws_dice(self):
        agent = rainbow_of(noise_sigma=0.5).agent
        obs = np.zeros((1, 4), dtype=np.float32)
        predicted = {int(agent.predict(obs)[0]) for _ in range(50)}
        sampled = {int(agent.sample(obs)[0][0]) for _ in range(50)}
        assert len(predicted) == 1
        assert sampled == {0, 1}
        assert agent.epsilon() == 0.0
        quiet = rainbow_of(noise_sigma=0.0).agent
        assert {int(quiet.sample(obs)[0][0]) for _ in range(50)} == predicted

    def test_the_network_and_its_target_learn_under_noise_of_their_own(self):
        trainer = rainbow_of()
        seen = []
        algorithm, learn = trainer.algorithm, trainer.algorithm.learn

        def spy(data):
            models = algorithm.model, algorithm.target_model
            seen.append([x.noise.clone() for m in models for x in noisy_layers(m)])
            return learn(data)

        algorithm.learn = spy
        list(trainer())
        assert all(noise.any() for noise in seen[0])
        first = [tuple(noise.tolist()) for noise in seen[0]]
        assert len(set(first)) == 4, "each of two streams, twice"
        assert len({tuple(noise[0].tolist()) for noise in seen}) == len(seen), "anew"
        for model in (algorithm.model, algorithm.target_model):
            assert not any(layer.noise.any() for layer in noisy_layers(model))
