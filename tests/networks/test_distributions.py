"""Distributions against torch.distributions; samples against densities."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text
from torch import distributions as reference

from yieldrl.networks import (
    Categorical,
    Gaussian,
    MultiCategorical,
    SquashedGaussian,
    action_size,
    make_distribution,
)

BATCH = 5
SPACES = {
    "start": Discrete(3, start=-1),
    "table": MultiDiscrete(np.array([[2, 3], [4, 5]])),
    "grid": MultiBinary((2, 3)),
    "matrix": Box(-1, 1, (2, 3)),
    "scalar": Box(-1, 1, ()),
}
SIZES = {"start": 3, "table": 14, "grid": 12, "matrix": 6, "scalar": 1}
CHOICES = {"start": [3], "table": [2, 3, 4, 5], "grid": [2] * 6}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def distribution_for(name, batch=BATCH, seed=0):
    space = SPACES[name]
    output = torch.randn(batch, SIZES[name], generator=generator(seed))
    log_std = None
    if isinstance(space, Box):
        log_std = torch.linspace(-1, 0.5, SIZES[name])
    return make_distribution(space, output, log_std), output, log_std


def reference_for(name, output, log_std):
    """What PyTorch makes of the same output: log_prob, entropy and mode."""
    if log_std is not None:
        normal = reference.Independent(reference.Normal(output, log_std.exp()), 1)

        def log_prob(action):
            return normal.log_prob(action.reshape(len(output), -1))

        return log_prob, normal.entropy(), normal.mode
    parts = [
        reference.Categorical(logits=logits)
        for logits in output.split(CHOICES[name], dim=-1)
    ]

    def log_prob(action):
        flat = action.reshape(len(output), -1)
        return sum(part.log_prob(flat[:, i]) for i, part in enumerate(parts))

    modes = torch.stack([part.mode for part in parts], dim=-1)
    return log_prob, sum(part.entropy() for part in parts), modes


@pytest.mark.parametrize("name", SPACES)
def test_equals_torch_distributions(name):
    distribution, output, log_std = distribution_for(name)
    log_prob, entropy, mode = reference_for(name, output, log_std)
    assert action_size(SPACES[name]) == SIZES[name]
    for action in (distribution.sample(generator()), distribution.mode()):
        assert action.shape == (BATCH, *SPACES[name].shape)
        assert action.dtype == (torch.int64 if log_std is None else torch.float32)
        torch.testing.assert_close(distribution.log_prob(action), log_prob(action))
        # Buffers keep float32, int64 or int8, and minibatches are slices.
        stored = action.to(torch.int8) if name == "grid" else action
        strided = torch.stack([stored, stored], dim=1)[:, 0]
        torch.testing.assert_close(distribution.log_prob(strided), log_prob(action))
    torch.testing.assert_close(distribution.entropy(), entropy)
    torch.testing.assert_close(
        distribution.mode().reshape(BATCH, -1).float(), mode.reshape(BATCH, -1).float()
    )


@pytest.mark.parametrize("name", SPACES)
def test_a_generator_makes_it_reproducible(name):
    distribution, _, _ = distribution_for(name, batch=40)
    torch.manual_seed(1)
    first = distribution.sample(generator(3))
    torch.manual_seed(2)
    assert torch.equal(distribution.sample(generator(3)), first)
    assert not torch.equal(distribution.sample(generator(4)), first)
    if name != "start":
        assert len(first.reshape(40, -1).unique(dim=0)) > 1, "rows are independent"
    before = torch.get_rng_state()
    distribution.sample(generator(3))
    assert torch.equal(torch.get_rng_state(), before), "the global one is left alone"


def standard_errors(counts, probabilities):
    """How many standard errors each count is off."""
    total = counts.sum()
    spread = (total * probabilities * (1 - probabilities)).sqrt()
    return ((counts - total * probabilities) / spread).abs()


def test_choices_are_sampled_by_their_probabilities_and_independently():
    logits = torch.tensor([2.0, 0.0, -1.0, -4.0])
    actions = Categorical(logits.expand(200_000, 4)).sample(generator())
    counts = torch.bincount(actions, minlength=4)
    assert standard_errors(counts, logits.softmax(0)).max() < 4.5
    logits = torch.tensor([1.0, 0.0, 0.0, 2.0, -1.0]).expand(100_000, 5)
    distribution = MultiCategorical(logits, [2, 3], (2,))
    first, second = distribution.sample(generator()).unbind(-1)
    together = torch.bincount(first * 3 + second, minlength=6)
    one, other = logits[0, :2].softmax(0), logits[0, 2:].softmax(0)
    assert standard_errors(together, (one[:, None] * other).flatten()).max() < 4.5


def test_what_is_masked_adds_nothing_and_learns_nothing():
    logits = torch.tensor([[0.0, -torch.inf, 1.0, -torch.inf]], requires_grad=True)
    distribution, rest = Categorical(logits), Categorical(logits.detach()[:, [0, 2]])
    torch.testing.assert_close(distribution.entropy(), rest.entropy())
    action = torch.tensor([2])
    torch.testing.assert_close(
        distribution.log_prob(action), rest.log_prob(action // 2)
    )
    (distribution.entropy() + distribution.log_prob(action)).backward()
    assert logits.grad is not None
    assert logits.grad[0, [1, 3]].tolist() == [0, 0]
    assert logits.grad[0, [0, 2]].isfinite().all()
    assert logits.grad[0, 0] != 0


def test_a_gaussian_has_its_moments():
    mean, log_std = torch.tensor([1.0, -2.0, 0.0]), torch.tensor([-1.0, 0.0, 0.7])
    distribution = Gaussian(mean.expand(200_000, 3), log_std, (3,))
    sample = distribution.sample(generator())
    error = (sample.mean(0) - mean).abs() / (log_std.exp() / 200_000**0.5)
    assert error.max() < 4.5
    torch.testing.assert_close(sample.std(0), log_std.exp(), rtol=0.01, atol=0)
    correlation = torch.corrcoef(sample.T) - torch.eye(3)
    assert correlation.abs().max() < 0.01


@pytest.mark.parametrize("name", ["start", "table", "matrix"])
def test_gradients_reach_the_output(name):
    distribution, output, log_std = distribution_for(name)
    output.requires_grad_()
    if log_std is not None:
        log_std.requires_grad_()
    distribution = make_distribution(SPACES[name], output, log_std)
    action = distribution.sample(generator())
    assert not action.is_floating_point() or action.requires_grad
    (
        distribution.log_prob(action.detach()).sum() + distribution.entropy().sum()
    ).backward()
    assert output.grad is not None
    assert output.grad.isfinite().all()
    assert output.grad.abs().sum() > 0
    assert log_std is None or (log_std.grad != 0).all()


@pytest.mark.parametrize("space", [Text(3), Dict(a=Discrete(2))])
def test_other_spaces_are_refused(space):
    with pytest.raises(TypeError, match=r"action space .* is not supported: use Disc"):
        action_size(space)


def squashed(mean, log_std, noise):
    """`sample_with_log_prob` with the noise given, in the dtype of the arguments."""
    policy = SquashedGaussian(mean, log_std, (mean.shape[-1],))
    policy._normal = lambda generator: (mean + log_std.exp() * noise, noise)
    return policy.sample_with_log_prob()


def test_its_density_follows_from_the_change_of_variables():
    size = (3, BATCH, 2)  # small numbers: differences are blind where tanh is flat
    mean, log_std, noise = torch.rand(size, generator=generator()).double() - 0.5
    action, log_prob = squashed(mean, log_std, noise)
    # p(tanh u) = p(u) / |d tanh u / du|, with the slope by finite differences.
    normal = mean + log_std.exp() * noise
    slope = (torch.tanh(normal + 1e-6) - torch.tanh(normal - 1e-6)) / 2e-6
    density = reference.Normal(mean, log_std.exp()).log_prob(normal)
    torch.testing.assert_close(action, torch.tanh(normal))
    torch.testing.assert_close(
        log_prob, (density - slope.log()).sum(-1), rtol=1e-6, atol=1e-6
    )
    original = reference.TransformedDistribution(
        reference.Independent(reference.Normal(mean, log_std.exp()), 1),
        [reference.TanhTransform()],
    )
    torch.testing.assert_close(log_prob, original.log_prob(action))


@pytest.mark.parametrize("size", [3.0, 9.0, 80.0])
def test_saturated_actions_have_exact_densities_in_float32(size):
    """tanh 9.1 is 1 in float32: `log(1 - tanh^2 u)` would be minus infinity."""
    mean = torch.tensor([[size], [-size]])
    log_std, noise = torch.full((2, 1), -1.0), torch.tensor([[0.5], [-0.3]])
    mean.requires_grad_()
    action, log_prob = squashed(mean, log_std, noise)
    exact_mean = mean.detach().double().requires_grad_()
    _, exact = squashed(exact_mean, log_std.double(), noise.double())
    # In float64, 1 - tanh^2 u = 1 / cosh^2 u, which does not round to zero here.
    normal = exact_mean.detach() + log_std.double().exp() * noise
    density = reference.Normal(exact_mean, log_std.double().exp()).log_prob(normal)
    by_hand = density + 2 * torch.cosh(normal).log()
    torch.testing.assert_close(exact.detach(), by_hand.sum(-1).detach())
    torch.testing.assert_close(log_prob.double(), exact, rtol=1e-5, atol=1e-5)
    assert action.abs().max() <= 1
    (gradient,) = torch.autograd.grad(log_prob.sum(), mean)
    (true_gradient,) = torch.autograd.grad(exact.sum(), exact_mean)
    torch.testing.assert_close(gradient.double(), true_gradient, rtol=1e-4, atol=1e-6)


def test_squashed_samples_and_mode():
    mean, log_std = torch.randn(BATCH, 6), torch.randn(BATCH, 6)
    policy = SquashedGaussian(mean, log_std, (2, 3))
    assert torch.equal(policy.mode(), torch.tanh(mean).reshape(BATCH, 2, 3))
    noise = torch.empty(BATCH, 6).normal_(generator=generator(3))
    by_hand = torch.tanh(mean + log_std.exp() * noise).reshape(BATCH, 2, 3)
    torch.testing.assert_close(policy.sample(generator(3)), by_hand)
    action, log_prob = policy.sample_with_log_prob()
    assert (action.shape, log_prob.shape) == ((BATCH, 2, 3), (BATCH,))
