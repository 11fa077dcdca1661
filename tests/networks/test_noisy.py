"""Noisy layers: the paper's formulas with exact numbers, noise that comes and goes."""

import copy

import pytest
import torch
from torch.nn.functional import linear

from yieldrl.networks import MLP, NoisyMLP, noise, noisy_layers


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def f(eps):
    return eps.sign() * eps.abs().sqrt()


class TestStart:
    def test_means_are_those_of_an_mlp_and_deviations_follow_the_inputs(self):
        torch.manual_seed(3)
        noisy = NoisyMLP([4, 8, 2], "relu")
        torch.manual_seed(3)
        plain = MLP([4, 8, 2], "relu")
        obs = torch.randn(5, 4)
        assert torch.equal(noisy(obs), plain(obs))
        # sigma_0 / sqrt(p), section 3.2: 0.5 / sqrt(4) = 0.25 and 0.5 / sqrt(16).
        sigma = [s.unique().tolist() for s in NoisyMLP([4, 16, 2]).sigma]
        assert sigma == [[0.25], [0.25], [0.125], [0.125]]
        assert NoisyMLP([4, 2], sigma=1.0).sigma[0].unique().tolist() == [0.5]


class TestNoise:
    def test_by_hand(self):
        layers = NoisyMLP([2, 1])
        with torch.no_grad():
            for parameter, value in zip(layers.parameters(), [1, 2, 3, 4], strict=True):
                parameter.fill_(value)  # mu_w, mu_b, sigma_w, sigma_b
        layers.noise.copy_(torch.tensor([2.0, -1.0, 0.5]))  # two inputs, one output
        # w = 1 + 3 * 0.5 * (2, -1) = (4, -0.5); b = 2 + 4 * 0.5 = 4
        assert layers(torch.tensor([[1.0, 10.0]])).tolist() == [[4 - 5 + 4]]

    def test_it_is_factorised_gaussian_noise_in_every_layer(self):
        layers = NoisyMLP([3, 5, 2], "tanh")
        layers.draw(generator(7))
        eps = f(torch.randn(3 + 5 + 5 + 2, generator=generator(7)))
        in_1, out_1, in_2, out_2 = eps.split([3, 5, 5, 2])
        w1, b1, w2, b2, sw1, sb1, sw2, sb2 = layers.parameters()
        obs = torch.randn(4, 3)
        hidden = linear(obs, w1 + sw1 * out_1[:, None] * in_1, b1 + sb1 * out_1)
        expected = linear(
            hidden.tanh(), w2 + sw2 * out_2[:, None] * in_2, b2 + sb2 * out_2
        )
        torch.testing.assert_close(layers(obs), expected)

    def test_its_squares_have_the_mean_of_a_half_normal(self):
        layers = NoisyMLP([200, 200])
        layers.draw(generator())
        # f(eps)^2 = |eps|, of which the mean is sqrt(2 / pi) = 0.798; f keeps the sign.
        assert layers.noise.square().mean().item() == pytest.approx(0.798, abs=0.06)
        assert layers.noise.mean().item() == pytest.approx(0.0, abs=0.1)

    def test_it_lasts_for_the_block_and_every_layer_has_its_own(self):
        layers, obs = NoisyMLP([3, 8, 2]), torch.randn(4, 3)
        quiet = layers(obs)
        with noise([layers], generator()):
            loud = layers(obs)
            assert torch.equal(layers(obs), loud), "the same for a whole batch"
        assert not torch.equal(loud, quiet)
        assert torch.equal(layers(obs), quiet)

        with pytest.raises(ZeroDivisionError), noise([layers], generator()):
            1 / 0  # noqa: B018
        assert not layers.noise.any()
        model = torch.nn.ModuleList([NoisyMLP([3, 2]), MLP([3, 2]), NoisyMLP([3, 2])])
        layers = noisy_layers(model)
        assert len(layers) == 2
        with noise(layers, generator()):
            assert not torch.equal(layers[0].noise, layers[1].noise)


def test_a_checkpoint_holds_what_was_learned_and_no_noise():
    mlp, other = NoisyMLP([4, 8, 2]), NoisyMLP([4, 8, 2], sigma=1.0)
    mlp.draw(generator())
    assert "noise" not in mlp.state_dict()
    other.load_state_dict(mlp.state_dict())
    for layers in (mlp, other, copied := copy.deepcopy(mlp)):
        layers.draw(generator(5))
    obs = torch.randn(3, 4)
    assert torch.equal(mlp(obs), other(obs))
    assert torch.equal(mlp(obs), copied(obs))
    copied.silence()
    assert mlp.noise.any(), "a copy has noise of its own"
