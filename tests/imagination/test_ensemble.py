"""The ensemble on a linear world whose answer is known, its losses and its choices."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from tensordict import TensorDict

from yieldrl.imagination import EnsembleModel, fit, k_step_errors
from yieldrl.imagination.ensemble import split
from yieldrl.imagination.outcomes import LOG_VAR, soft_clamp

STATES, PUSHES = Box(-np.inf, np.inf, (2,)), Box(-1, 1, (1,))
A = torch.tensor([[0.9, 0.2], [-0.2, 0.9]])
B = torch.tensor([[0.0, 0.5]])


def step_of(obs, action):
    """`s' = A s + B a`, the reward `s_0 - a`, and the end where `s'_0 > 1`."""
    after = obs @ A.T + action @ B
    reward = obs[..., 0] - action[..., 0]
    return after, reward, after[..., 0] > 1


def steps_of(count, seed=0):
    torch.manual_seed(seed)
    obs, action = torch.randn(count, 2), torch.rand(count, 1) * 2 - 1
    after, reward, ended = step_of(obs, action)
    data = {"obs": obs, "action": action, "next_obs": after, "reward": reward}
    data |= {"terminated": ended, "number": torch.arange(count)}
    return TensorDict(data, [count])


def world_of(**options):
    torch.manual_seed(1)
    return EnsembleModel(STATES, PUSHES, **{"hidden_sizes": (32,), **options})


def saying(*bias):
    """A model of two members that say these numbers whatever they see."""
    world = world_of(members=2, elites=1, hidden_sizes=())
    with torch.no_grad():
        for weight in world.network.weights:
            weight.zero_()
        world.network.biases[0].copy_(torch.tensor(bias).expand(2, 1, 8))
        world.max_log_var.fill_(30.0)
        world.min_log_var.fill_(-30.0)
    return world


def fitted(world, data, epochs=35, rate=5e-3):
    optimizer = torch.optim.Adam(world.parameters(), rate)

    def step(batch):
        loss, logs = world.loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return logs

    generator = torch.Generator().manual_seed(3)
    sizes = {"batch_size": 64, "patience": 10, "max_epochs": epochs}
    return fit(world, data, step, **sizes, generator=generator)


@pytest.fixture(scope="module")
def learned():
    world = world_of(members=3, elites=2)
    return world, fitted(world, steps_of(1500)), steps_of(400, seed=9)


class TestLinearWorld:
    def test_it_predicts_what_it_has_not_seen(self, learned):
        world, _, other = learned
        found = world.predict(other["obs"], other["action"])
        error = (found.next_obs - other["next_obs"]).square().mean().sqrt()
        assert error < 0.03
        outcome = world.outcome(found.outcome)
        assert (outcome.reward - other["reward"]).square().mean().sqrt() < 0.05
        assert (outcome.terminated == other["terminated"]).float().mean() > 0.95

    def test_members_disagree_where_there_were_no_data(self, learned):
        world, _, other = learned
        near = world.predict(other["obs"], other["action"]).disagreement
        far = world.predict(8 * other["obs"], other["action"]).disagreement
        assert near.shape == (400,)
        assert far.mean() > 5 * near.mean()

    def test_what_a_fit_logs(self, learned):
        world, logs, _ = learned
        assert logs["model_error"] < 0.1
        assert logs["model_steps"] % (1200 // 64) == 0
        errors = world.errors(split(steps_of(1500))[1])
        chosen = errors[world.elite]
        assert chosen.max() <= errors.sort().values[1]
        assert chosen.mean() == pytest.approx(float(logs["model_error"]), rel=1e-4)


class Exact(EnsembleModel):
    """Predicts `s + a`, twice too much."""

    def predict(self, obs, action, generator=None):
        found = super().predict(obs, action)
        return found._replace(next_obs=obs + 2 * action)


def test_k_step_errors_by_hand():
    line = Box(-np.inf, np.inf, (1,))
    world = Exact(line, PUSHES, hidden_sizes=())
    obs = torch.tensor([[[0.0], [4.0]], [[1.0], [5.0]], [[2.0], [6.0]]])
    no = torch.zeros(3, 2, dtype=torch.bool)
    real = TensorDict(
        {
            "obs": obs,
            "action": torch.ones_like(obs),
            "next_obs": obs + 1,
            "terminated": no,
            "truncated": no.clone(),
        },
        [3, 2],
    )
    # After k steps it is k too far; the standard deviation of 0 to 2 and 4 to 6 is
    # sqrt(4 + 2 / 3).
    expected = [k / math.sqrt(4 + 2 / 3) for k in (1, 2, 3)]
    assert k_step_errors(world, real).tolist() == pytest.approx(expected)
    # What comes after an end, here of another episode, does not count.
    real["next_obs"][2, 1] = 77.0
    for name in ("terminated", "truncated"):
        real[name][1, 1] = True
        assert k_step_errors(world, real).tolist() == pytest.approx(expected)
        real[name][1, 1] = False
    assert k_step_errors(world, real)[2] > 10
    # Nor does what comes after a step that only resets.
    real["valid"] = torch.tensor([[True, False], [True, True], [True, True]])
    assert k_step_errors(world, real).tolist() == pytest.approx(expected)


class TestLoss:
    def test_of_a_gaussian_by_hand(self):
        # Outputs: means 1 and -1, variances 1 and e, no end, a reward of .5 with a
        # variance of 1.
        world = saying(1.0, -1.0, 0.0, 1.0, 9.0, -9.0, 0.5, 0.0)
        data = TensorDict(
            {
                "obs": torch.zeros(2, 1, 2),
                "action": torch.zeros(2, 1, 1),
                "next_obs": torch.tensor([[[3.0, 0.0]], [[1.0, -1.0]]]),
                "reward": torch.tensor([[1.5], [0.5]]),
                "terminated": torch.zeros(2, 1).bool(),
            },
            [2, 1],
        )
        loss, logs = world.loss(data)
        reward = soft_clamp(torch.tensor(0.0), *LOG_VAR).item()
        first = 0.5 * (4 + (1 / math.e + 1)) / 2 + 0.5 * math.exp(-reward)
        second = 0.5 * 1 / 2
        first, second = first + 0.5 * reward, second + 0.5 * reward
        mean = (first + second) / 2
        assert logs["model_loss"].item() == pytest.approx(mean, abs=1e-6)
        assert loss.item() == pytest.approx(first + second + 0.01 * 120, abs=1e-4)

    def test_gradients_are_those_of_the_loss(self):
        """Also of rewards in bins: by finite differences along one direction."""
        world = world_of(members=2, elites=1, outcome="symlog", hidden_sizes=(4,))
        data = steps_of(12).exclude("number")
        world.double().fit_to(data)
        data = data.apply(lambda x: x.double() if x.is_floating_point() else x)
        batch = torch.stack([data, data.flip(0)])
        parameters = list(world.parameters())
        loss = world.loss(batch)[0]
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        for part, gradient in zip(parameters, found, strict=True):
            if gradient is None:
                continue
            way, around = torch.randn_like(part), []
            for step in (1e-5, -1e-5):
                part.data += step * way
                around.append(world.loss(batch)[0].item())
                part.data -= step * way
            slope = (around[0] - around[1]) / 2e-5
            expected = (gradient * way).sum().item()
            assert slope == pytest.approx(expected, abs=1e-4, rel=1e-4)

    def test_members_learn_of_their_own_batches_alone(self):
        world = world_of(members=2, elites=1)
        data, weight = steps_of(16).exclude("number"), world.network.weights[0]
        one, other = (
            torch.autograd.grad(world.loss(torch.stack(batch))[0], weight)[0]
            for batch in ([data[:8], data[8:]], [data[:8], data[:8]])
        )
        assert torch.equal(one[0], other[0])
        assert not torch.equal(one[1], other[1])


class TestChoices:
    def test_predictions_are_drawn_with_the_standard_deviation(self):
        # Outputs: means 0, variances 4 and 1/4, and the outcome's.
        two = math.log(4)
        world = saying(0.0, 0.0, two, -two, 0.0, 0.0, 0.0, 0.0)
        parts = torch.zeros(20_000, 2), torch.zeros(20_000, 1)
        found = world.predict(*parts, torch.Generator().manual_seed(0)).next_obs
        assert found.std(0).tolist() == pytest.approx([2.0, 0.5], rel=0.02)

    def test_each_member_is_kept_as_it_was_best(self):
        """It waits after less than one percent; the best predict."""
        world = world_of(members=2, elites=1)
        weight = world.network.weights[0]
        said = [[1.0, 1.0], [0.5, 2.0], [0.6, 0.999], [0.6, 1.0]]
        errors = map(torch.tensor, said)
        world.errors = lambda _: next(errors)
        with torch.no_grad():
            weight.fill_(1.0)

        def step(_):
            weight.data += 1
            return {}

        sizes = {"batch_size": 64, "patience": 2, "max_epochs": 9}
        logs = fit(world, steps_of(8), step, **sizes, generator=torch.Generator())
        assert logs == {"model_error": 0.5, "model_steps": 3.0}
        assert (weight[0] == 2).all()
        assert (weight[1] == 3).all()
        assert world.elite.tolist() == [0]

    def test_validation_is_of_steps_that_were_never_learned_from(self):
        early, late = steps_of(50), steps_of(80)
        train, _ = split(early)
        _, validation = split(late)
        assert len(validation) == 16
        assert not set(train["number"].tolist()) & set(validation["number"].tolist())
        for few in (early[:4], early[4:5]):  # where one part would be empty
            assert [len(part) for part in split(few)] == [len(few)] * 2


class TestSpaces:
    def test_predictions_stay_in_the_space(self):
        world = EnsembleModel(Box(-1, 1, (2,)), PUSHES, hidden_sizes=())
        world.change_std.fill_(1e3)
        obs = torch.tensor([[0.9, -0.9]])
        assert world.predict(obs, torch.zeros(1, 1)).next_obs.abs().max() == 1

    def test_actions_that_are_choices(self):
        world = EnsembleModel(STATES, Discrete(3, start=-1), hidden_sizes=())
        action = torch.tensor([0, 1, 2])  # as in a buffer
        obs = torch.zeros(3, 2)
        found = world.predict(obs, action).next_obs
        for i, a in enumerate(action):
            alone = world.predict(obs[:1], a.view(1)).next_obs[0]
            torch.testing.assert_close(found[i], alone)
        assert len({tuple(row.tolist()) for row in found}) == 3

    def test_what_does_not_fit_is_refused(self):
        with pytest.raises(TypeError, match="imagines vectors"):
            EnsembleModel(Dict(a=STATES), PUSHES)
