"""A latent world model remembers what it should, and its loss is that of the paper."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tensordict import TensorDict

from yieldrl.imagination import LatentConfig, LatentModel

VECTOR = Box(-np.inf, np.inf, (2,), np.float32)
SMALL = {"memory_size": 6, "groups": 3, "classes": 4, "sequence_length": 2}


def model_of(action_space=Discrete(2), **options):  # noqa: B008
    torch.manual_seed(0)
    config = LatentConfig(**{**SMALL, **options})
    return LatentModel(VECTOR, action_space, config, (8,))


def sequences(first, seed=1):
    """Random steps `[T, B]` in which episodes begin where it is said."""
    rng = torch.Generator().manual_seed(seed)
    first = torch.tensor(first)
    size = first.shape
    data = {
        "obs": torch.randn(*size, 2, generator=rng),
        "action": torch.randint(2, size, generator=rng),
        "reward": torch.randn(size, generator=rng),
        "terminated": torch.rand(size, generator=rng) < 0.3,
        "memory": torch.randn(*size, 6, generator=rng),
        "first": first,
    }
    return TensorDict(data, size)


NO, YES = False, True


class TestUnroll:
    def test_an_episode_knows_nothing_of_the_one_before(self):
        model = model_of()
        data = sequences([[NO, YES], [NO, NO], [YES, NO], [NO, NO]])
        seen = model.unroll(data)
        alone = model.unroll(data[2:, :1])
        assert torch.equal(seen.memory[2, 0], torch.zeros(6))
        assert torch.equal(seen.memory[0, 0], data["memory"][0, 0])
        assert torch.equal(seen.memory[0, 1], torch.zeros(6))
        torch.testing.assert_close(seen.state[2:, :1], alone.state)
        assert seen.state.shape == (4, 2, 6 + 12)
        assert model._log_p(torch.tensor([[1e4, 0, 0, 0] * 3])).exp().min() > 0.002

    def test_it_is_step_by_step_what_acting_does(self):
        model, data = model_of(), sequences([[YES, YES], [NO, NO], [NO, NO]])
        later = data.clone()
        later["memory"][1:] += 1  # that before the first step alone counts
        seen, memory = model.unroll(later), torch.zeros(2, 6)
        assert torch.equal(seen.state, model.unroll(data).state)
        for t, row in enumerate(data):
            state, log_p = model.see(memory, model.features(row["obs"]))
            torch.testing.assert_close(state, seen.state[t])
            torch.testing.assert_close(log_p, seen.log_p[t])
            memory = model.remember(state, row["action"])
            torch.testing.assert_close(memory, seen.after[t])


class TestStates:
    def test_choices_are_one_hot_and_gradients_are_those_of_the_probabilities(self):
        model = model_of()
        logits = torch.randn(5, 12, requires_grad=True)
        memory, weight = torch.zeros(5, 6), torch.randn(5, 12)
        rng = torch.Generator().manual_seed(3)
        state = model._state(memory, model._log_p(logits), rng)
        code = state[:, 6:].detach().unflatten(-1, (3, 4))
        torch.testing.assert_close(code.sum(-1), torch.ones(5, 3))
        torch.testing.assert_close(code.amax(-1), torch.ones(5, 3))
        (found,) = torch.autograd.grad((state[:, 6:] * weight).sum(), logits)
        p = 0.99 * logits.unflatten(-1, (3, 4)).softmax(-1) + 0.01 / 4
        (expected,) = torch.autograd.grad((p.flatten(1) * weight).sum(), logits)
        torch.testing.assert_close(found, expected)

    def test_an_action_beyond_its_bound_is_the_bound(self):
        model = model_of(Box(-2, 2, (1,), np.float32))
        state = torch.randn(3, model.size)
        beyond, bound = torch.full((3, 1), 7.0), torch.full((3, 1), 2.0)
        found, expected = model.remember(state, beyond), model.remember(state, bound)
        assert torch.equal(found, expected)

    def test_without_a_generator_it_predicts_the_likeliest(self):
        model = model_of()
        state, action = torch.randn(4, model.size), torch.zeros(4, dtype=torch.int64)
        first, again = (model.predict(state, action) for _ in range(2))
        assert torch.equal(first.next_obs, again.next_obs)
        memory = model.remember(state, action)
        best = model._log_p(model.prior(memory)).argmax(-1)
        code = first.next_obs[:, 6:].unflatten(-1, (3, 4))
        assert torch.equal(code.argmax(-1), best)
        assert torch.equal(first.next_obs[:, :6], memory)


class TestLoss:
    def test_by_its_parts(self):
        """Distributions are those of `torch.distributions`."""
        model, data = model_of(free_nats=0.0), sequences([[YES, NO], [NO, YES]])
        loss, state, logs = model.loss(data, torch.Generator().manual_seed(5))
        seen = model.unroll(data, torch.Generator().manual_seed(5))
        assert torch.equal(state, seen.state)
        assert not state.requires_grad
        q = torch.distributions.Categorical(logits=seen.log_p)
        p = torch.distributions.Categorical(
            logits=model._log_p(model.prior(seen.memory))
        )
        towards = torch.distributions.kl_divergence(q, p).sum(-1).mean()
        kl = towards.detach()
        parts = logs["picture_loss"] + logs["outcome_loss"] + 1.1 * kl
        torch.testing.assert_close(loss.detach(), parts)
        torch.testing.assert_close(logs["kl"], kl)
        # The prior moves towards the posterior with the weight 1.
        weights = list(model.prior.parameters())
        pairs = (torch.autograd.grad(x, weights) for x in (loss, towards))
        for found, expected in zip(*pairs, strict=True):
            torch.testing.assert_close(found, expected)

    def test_nats_that_are_free_have_no_gradient(self):
        """Then nothing pulls at the prior."""
        model, data = model_of(free_nats=50.0), sequences([[YES, NO], [NO, YES]])
        loss, _, logs = model.loss(data, torch.Generator().manual_seed(5))
        loss.backward()
        assert all(not p.grad.any() for p in model.prior.parameters())
        free = loss.item() - float(logs["picture_loss"] + logs["outcome_loss"])
        assert free == pytest.approx(55.0, rel=1e-5)

    def test_at_first_it_expects_no_reward(self):
        model, data = model_of(), sequences([[YES, NO]])
        found = model.predict(torch.randn(4, model.size), torch.zeros(4).long())
        outcome = model.outcome(found.outcome)
        assert outcome.reward.tolist() == pytest.approx([0.0] * 4, abs=1e-3)
        assert outcome.end.tolist() == [0.5] * 4
        _, _, logs = model.loss(data, torch.Generator())
        bins = len(model.outcome.two_hot.bins)
        expected = math.log(bins) + math.log(2)
        assert logs["outcome_loss"].item() == pytest.approx(expected, rel=1e-5)


def test_reward_and_end_as_one_question():
    model, data = model_of(outcome="three_classes"), sequences([[YES, YES], [NO, NO]])
    data["terminated"] = torch.tensor([[NO, NO], [YES, YES]])
    data["reward"] = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    _, state, logs = model.loss(data, torch.Generator())
    assert float(logs["outcome_loss"]) == pytest.approx(math.log(3))
    found = model.predict(state[0], torch.tensor([0, 1]))
    outcome = model.outcome(found.outcome)
    assert outcome.reward.tolist() == pytest.approx([1 / 3] * 2)
    assert outcome.end.tolist() == pytest.approx([2 / 3] * 2)
    data["reward"][1, 0] = 2.0
    with pytest.raises(ValueError, match="rewards of 0 and 1 alone, got 2"):
        model.loss(data, torch.Generator())
