"""Rainbow: what each part brings, noise where it belongs, resuming, learning."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from yieldrl.algorithms import rainbow
from yieldrl.algorithms.dueling_dqn.algorithm import DuelingHead
from yieldrl.buffers import PrioritizedNStepReplayBuffer
from yieldrl.networks import MLP, noisy_layers


def trainer_of(**kwargs):
    options = {
        "env_id": "yieldrl/CartPole-v1",
        "num_envs": 4,
        "total_steps": 400,
        "learning_starts": 100,
        "train_every": 4,
        "batch_size": 16,
        "buffer_size": 200,
        "hidden_sizes": (16, 8),
        "device": "cpu",
        "eval_every": 0,
    }
    return rainbow.Trainer(rainbow.Config(**options | kwargs))


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

    def test_the_target_is_the_double_choice_of_n_step_atoms(self):
        trainer = trainer_of(n_step=3)
        list(trainer())
        assert isinstance(trainer.buffer, PrioritizedNStepReplayBuffer)
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

    def test_priorities_are_the_divergence(self):
        trainer = trainer_of()
        list(trainer())
        data = trainer.buffer.sample(16)
        _, elements = trainer.algorithm.element_loss(data)
        assert torch.equal(data["priority"], elements["kl"])
        assert not torch.equal(data["priority"], elements["td_error"])


class TestNoise:
    def agent(self, **kwargs):
        return trainer_of(**kwargs).agent

    def test_it_explores_and_never_throws_dice(self):
        agent = self.agent(noise_sigma=0.5)
        obs = np.zeros((1, 4), dtype=np.float32)
        predicted = {int(agent.predict(obs)[0]) for _ in range(50)}
        sampled = {int(agent.sample(obs)[0][0]) for _ in range(50)}
        assert len(predicted) == 1
        assert sampled == {0, 1}
        assert agent.epsilon() == 0.0
        quiet = self.agent(noise_sigma=0.0)
        assert {int(quiet.sample(obs)[0][0]) for _ in range(50)} == predicted

    def test_the_network_and_its_target_learn_under_noise_of_their_own(self):
        trainer = trainer_of()
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


def parameters(trainer):
    return [p.clone() for p in trainer.model.parameters()]
