"""What trainers warn of when they are made, and `check_algorithm` again."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import trainer_of
from torch import nn

import yieldrl
from yieldrl.algorithms import a2c, ppo, ppo_lstm, sac
from yieldrl.experiments.check_algorithm.report import warn_of_concerns
from yieldrl.networks import drops_or_norms_batches

MODE = "compute something else in train mode"


def with_layer(module, layer):
    class Model(module.Model):
        def __init__(self, *args):
            super().__init__(*args)
            self.layer = layer

    return Model


@pytest.mark.parametrize(
    ("module", "layer", "kind"),
    [
        (ppo, nn.Dropout(0.1), "Dropout"),
        (ppo, nn.LSTM(2, 2, num_layers=2, dropout=0.1), "LSTM"),
        (ppo, nn.TransformerEncoderLayer(4, 1, 4), "Dropout and MultiheadAttention"),
        (ppo_lstm, nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), "BatchNorm1d"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_ratio_that_cannot_be_one_is_said(module, layer, kind):
    said = f"Model.* has {kind} .*{MODE}.*approx_kl not 0"
    with pytest.warns(UserWarning, match=said):
        trainer = trainer_of(module, model=with_layer(module, layer))
    assert not any(part.training for part in trainer.model.modules())


def test_what_changes_nothing_or_is_frozen_is_not():
    norm = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)).requires_grad_(False)
    others = nn.LayerNorm(3), nn.LSTM(2, 2, dropout=0.0), nn.InstanceNorm2d(3)
    for layer in (nn.Dropout(0.0), norm, *others):
        assert drops_or_norms_batches(nn.Sequential(nn.Linear(1, 1), layer)) == {}
    trainer_of(ppo, model=with_layer(ppo, norm))


@pytest.mark.parametrize("module", [a2c, sac])
def test_where_there_is_no_ratio_dropout_is_ones_own_business(module):
    trainer_of(module, model=with_layer(module, nn.Dropout(0.3)))


def test_check_algorithm_says_it_too():
    class Model(ppo.Model):
        def __init__(self, *args):
            super().__init__(*args)
            self.dropout = nn.Dropout(0.3)
            for parameter in self.parameters():
                parameter.data.mul_(50)  # sure of its actions from the beginning

        def evaluate_actions(self, obs, action):
            return super().evaluate_actions(self.dropout(obs), action)

    with pytest.warns(UserWarning, match=MODE):
        trainer = trainer_of(ppo, model=Model, total_steps=256)
    with pytest.warns(UserWarning, match=rf"Dropout \(dropout\), which {MODE}"):
        yieldrl.check_algorithm(trainer)
    logs = (log["logs"] for log in trainer() if log["log_type"] == "train")
    assert next(logs)["approx_kl"] > 1e-3  # nothing has moved, and it is not 0


class Literal(ppo.Model):
    """A policy whose `forward` has the document's signature."""

    def forward(self, obs):
        return super().forward(obs)

    sample = yieldrl.abstractions.Policy.sample
    predict = yieldrl.abstractions.Policy.predict


def test_a_policy_that_cannot_act_deterministically_is_said():
    with pytest.warns(UserWarning, match=r"Literal\.forward takes no `deterministic`"):
        trainer = trainer_of(ppo, model=Literal)
    with pytest.raises(TypeError, match="deterministic"):
        trainer.evaluate(1)


def test_one_that_predicts_by_itself_is_not():
    class Own(Literal):
        def predict(self, obs):
            return self.action(obs).argmax(-1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer = trainer_of(ppo, model=Own)
    assert trainer.evaluate(1)["logs"]["episodes"] == 1


class Camera(gym.Env):
    """Numbers that a robot feels, for models that read `proprio`."""

    observation_space = gym.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 1.0, False, False, {}


class Document(nn.Module):
    """The model of the document, word by word."""

    def __init__(self):
        super().__init__()
        self.mean, self.critic = nn.Linear(3, 2), nn.Linear(3, 1)

    def dist(self, observations):
        return torch.distributions.Normal(self.mean(observations["proprio"]), 0.1)

    def forward(self, observations):
        return self.dist(observations).sample()

    def get_value(self, observations):
        return self.critic(observations["proprio"])

    def evaluate_actions(self, observations, actions):
        dist = self.dist(observations)
        return dist.log_prob(actions).sum(-1), dist.entropy().sum(-1)


class Telling(Document):
    def forward(self, observations, deterministic=False):
        dist = self.dist(observations)
        return dist.mean if deterministic else dist.sample()


def policy_of(model):
    from yieldrl.vla import VLAPolicy

    spaces = Camera.observation_space, Camera.action_space
    return VLAPolicy(*spaces, model, log_prob_per="chunk")


def test_the_documents_model_is_said_to_act_alike_in_training_and_evaluation():
    match = r"Document\.forward takes no `deterministic`: .* never explores"
    with pytest.warns(UserWarning, match=match):
        trainer = trainer_of(ppo, envs=Camera, model=policy_of(Document()))
    with pytest.warns(UserWarning, match=match):
        warn_of_concerns(trainer)
    trainer_of(ppo, envs=Camera, model=policy_of(Telling()))
