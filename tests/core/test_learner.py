"""What every algorithm does alike: it counts, it watches, it lends itself to act."""

import math
from dataclasses import asdict

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tensordict import TensorDict
from torch import nn

from yieldrl.abstractions import Agent, Algorithm
from yieldrl.algorithms.rollouts import evaluate_rollout
from yieldrl.core import CheckpointError, Config, Counters


class Line(Algorithm):
    """Learns one weight, the second layer's."""

    def __init__(self):
        model = nn.Sequential(nn.Linear(1, 1), nn.Dropout(), nn.Linear(1, 1))
        model[0].requires_grad_(False)
        super().__init__(model, Config(device="cpu"))
        self.optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)
        self.modes, self.answer = [], {"loss": torch.tensor(1.0)}

    def predict(self, obs):
        return obs

    def learn(self, data):
        self.modes.append(self.model.training)
        if data is None:
            raise ConnectionError
        return self.answer

    def train_step(self, data):
        with self.learning():
            return self.learn(data)


def test_a_step_is_counted_and_taken_in_train_mode_also_one_that_failed():
    line = Line()
    assert line.train_step({}) is line.answer
    line.train_step({})
    assert line.modes == [True, True]
    assert not line.model.training
    assert (line.counters.learn_step, line.counters.policy_version) == (2, 2)
    with pytest.raises(ConnectionError):
        line.train_step(None)
    assert not line.model.training
    assert (line.counters.learn_step, line.counters.policy_version) == (2, 3)


def test_counters_that_are_saved_are_restored_in_place():
    state, counters = asdict(Counters(1, 2, 3, 4, 5, 6)), Counters()
    assert [*state.values()] == [1, 2, 3, 4, 5, 6]
    counters.restore({**state, "generator": None})
    assert counters == Counters(1, 2, 3, 4, 5, 6)


def test_each_step_draws_numbers_of_its_own():
    """They follow from the seed and the step, whatever others draw."""

    def drawn():
        line, found = Line(), []
        line.learn = lambda data: found.append(torch.rand(1).item()) or line.answer
        for _ in range(3):
            torch.rand(7)
            line.train_step({})
        return found

    first = drawn()
    assert len(set(first)) == 3
    assert drawn() == first


def test_what_an_older_policy_did_cannot_be_judged_by_a_newer_one():
    line = Line()
    line.counters.acted_version = 4
    line.counters.policy_version = 5
    with pytest.raises(RuntimeError, match=r"by policy version 4: version 5"):
        evaluate_rollout(line, TensorDict({"obs": torch.zeros(2, 1)}, [2, 1]))


class Acting(Agent):
    def explore(self, obs):
        return obs.argmax(1), {}


def test_the_policy_of_the_first_action_is_remembered():
    model = nn.Linear(2, 2)
    model.observation_space, model.action_space = Box(-1, 1, (2,)), Discrete(2)
    model.unit_box, model.exact_obs, model.needed_obs = False, False, ()
    config = Config(device="cpu")
    still = type("Still", (Line,), {"__init__": Algorithm.__init__})
    algorithm = still(model, config)
    algorithm.evaluated = None  # it would evaluate rollouts
    agent = Acting(algorithm, config)
    agent.counters.policy_version = 4
    agent.sample(np.zeros((3, 2), np.float32))
    agent.counters.policy_version = 5
    agent.sample(np.zeros((3, 2), np.float32))
    assert agent.counters.acted_version == 4


def test_a_loss_that_is_no_number_is_refused_with_the_parameters():
    line = Line()

    def loss_of(value):
        weight = line.model[2].weight
        return lambda data: ((weight * value).sum(), {"loss": torch.tensor(value)})

    data = torch.zeros(1)
    line.minimize(loss_of(1.0), data)
    sound = line.model[2].weight.sum()
    with pytest.raises(FloatingPointError, match=r"inf at learn_step 1.*none yet"):
        line.minimize(lambda data: (sound, {"loss": torch.tensor(math.inf)}), data)
    with pytest.raises(FloatingPointError, match=r"nan at .*finite: \['2.weight'\]"):
        line.minimize(loss_of(math.nan), data)


def test_a_step_of_ones_own_sees_every_loss_and_norm():
    class Halved(Line):
        __init__ = Algorithm.__init__

        def minimize(self, loss, data, max_grad_norm):
            half = lambda data: (loss(data)[0] / 2, {})  # noqa: E731
            return super().minimize(half, data, max_grad_norm=2 * max_grad_norm)

    learner = Halved(nn.Linear(1, 1, bias=False), Config(device="cpu"))
    learner.optimizer = torch.optim.SGD(learner.model.parameters(), lr=1.0)
    nn.init.zeros_(learner.model.weight)
    for slope, norm, moved in [(4.0, 9.0, 2.0), (6.0, 9.0, 3.0), (6.0, 0.5, 1.0)]:
        before = learner.model.weight.item()
        learner.minimize(
            lambda x, a=slope: (a * learner.model(x).sum(), {}),
            torch.ones(1, 1),
            max_grad_norm=norm,
        )
        assert before - learner.model.weight.item() == pytest.approx(moved, rel=1e-5)


def test_who_only_acts_has_a_model_and_counters_of_its_own():
    line = Line()
    line.train_step({})
    acting = line.acting_copy()
    assert type(acting) is Line
    assert acting.model is not line.model
    assert acting.model[0].weight is line.model[0].weight  # frozen
    assert acting.model[2].weight is not line.model[2].weight
    assert acting.model[2].weight.equal(line.model[2].weight)
    assert not any(p.requires_grad for p in acting.model.parameters())
    assert all(p.requires_grad for p in line.model[2].parameters())
    acting.counters.sample_step = 9
    assert line.counters.sample_step == 0
    assert acting.counters.policy_version == 1


def test_a_rate_that_is_set_is_not_annealed_and_groups_keep_their_ratio():
    for by_name in (True, False):
        line = Line()
        start = line.learning_rate
        line.anneal(0.25)
        rate = 0.75 * start
        assert line.learning_rate == line.optimizer.param_groups[0]["lr"] == rate
        if by_name:
            line.learning_rate = 0.4
        else:
            line.optimizer.param_groups[0]["lr"] = 0.4
        for fraction in (0.25, 0.5, 2.0):
            line.anneal(fraction)
            assert line.learning_rate == line.optimizer.param_groups[0]["lr"] == 0.4
        again = Line()
        again.load_state_dict(line.state_dict())
        again.anneal(0.5)
        assert again.learning_rate == 0.4
    line = Line()
    line.learning_rate = 0.4  # before the first step
    line.anneal(0.5)
    assert line.learning_rate == 0.4
    with pytest.raises(CheckpointError, match=r"\['model', 'optimizer'\], the"):
        line.load_state_dict({"model": line.state_dict()["model"]})
    line = Line()
    weights = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    line.optimizer = torch.optim.SGD(
        [{"params": weights[:1]}, {"params": weights[1:], "lr": 0.01}], lr=0.1
    )
    line.anneal(0.5)
    assert [g["lr"] for g in line.optimizer.param_groups] == [0.05, 0.005]
    line.learning_rate = 0.4
    assert [g["lr"] for g in line.optimizer.param_groups] == [0.4, 0.04]
    line.learning_rate = 0.0
    line.learning_rate = 0.2
    assert [g["lr"] for g in line.optimizer.param_groups] == [0.2, 0.2]
