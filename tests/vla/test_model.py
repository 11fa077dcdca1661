"""A backbone with two heads: what acting, evaluating and values agree on."""

import itertools
import math

import numpy as np
import pytest
import torch
from fake_vla import SPACE, make_model, observe
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from yieldrl.vla import VLAModelInterface
from yieldrl.vla.heads import TokenGaussian

NUMBERS, CHUNK = Box(-2, 6, (2,)), Box(-2, 6, (3, 2))
CHOICES, MANY = Discrete(5), MultiDiscrete([5] * 3)
UNEVEN = MultiDiscrete([[2, 5]] * 3)
PARALLEL = {"action_bins": 16, "temperature": 1.7}
AUTO = {"action_bins": 16, "decoding": "autoregressive"}
GAUSSIAN = {"action_head": "gaussian"}
KINDS = [
    (CHOICES, AUTO),
    (CHUNK, PARALLEL),
    (CHUNK, AUTO),
    (UNEVEN, PARALLEL),
    (UNEVEN, AUTO),
    (CHUNK, GAUSSIAN),
]


def make(space, options, **more):
    length = space.shape[0] if space in (CHUNK, MANY, UNEVEN) else 1
    return make_model(space, chunk_length=length, **options, **more)


@pytest.mark.parametrize(("space", "options"), KINDS)
class TestEveryKind:
    def test_shapes_dtypes_and_bounds(self, space, options):
        model, obs = make(space, options), observe(4)
        output = model.act(obs)
        chunk = (4, model.layout.length, model.layout.size)
        told = output.action, output.log_prob, output.entropy
        assert {part.shape for part in told} == {chunk}
        assert output.value.shape == (4,)
        assert model(obs).shape == chunk
        assert model.get_value(obs).shape == (4, 1)
        told = output[1:]
        assert all(part.dtype == torch.float32 for part in told)
        for action in model.layout.outside(output.action).numpy():
            if "action_head" not in options:
                assert space.contains(action.astype(space.dtype))
        assert isinstance(model, VLAModelInterface)

    def test_evaluating_agrees_with_acting_and_reaches_every_part(self, space, options):
        model, obs = make(space, options), observe(4)
        acted = model.act(obs)
        said = model.evaluate(obs, acted.action)
        torch.testing.assert_close([*acted], [*said], rtol=1e-5, atol=1e-5)
        log_prob, entropy = model.evaluate_actions(obs, acted.action)
        assert torch.equal(log_prob, said.log_prob)
        assert torch.equal(entropy, said.entropy)
        values = model.get_value(obs).squeeze(1)
        torch.testing.assert_close(values, acted.value, rtol=1e-5, atol=1e-5)
        (said.log_prob.sum() + said.value.sum()).backward()
        for name, parameter in model.named_parameters():
            if "lm_head" not in name or not hasattr(model.head, "log_std"):
                assert parameter.grad is not None, name
                assert parameter.grad.any(), name

    def test_a_batch_of_unequal_instructions_is_each_alone(self, space, options):
        left = {"pad_left": space is CHUNK}
        model = make(space, options, backbone=left)
        obs, actions = observe(3), make(space, options).act(observe(3)).action
        together = model.evaluate(obs, actions)
        for i in range(3):
            row = {name: leaf[i : i + 1] for name, leaf in obs.items()}
            alone = model.evaluate(row, actions[i : i + 1])
            for one, other in zip(alone, together, strict=True):
                torch.testing.assert_close(one[0], other[i], rtol=1e-5, atol=1e-5)

    def test_the_generator_decides_and_the_mode_needs_none(self, space, options):
        model, obs = make(space, options), observe(4)
        seeds = [torch.Generator().manual_seed(seed) for seed in (0, 0, 1)]
        one, same, other = (model(obs, generator=seed) for seed in seeds)
        assert torch.equal(one, same)
        assert not torch.equal(one, other)
        modes = [model(obs, deterministic=True) for _ in range(2)]
        assert torch.equal(*modes)


class TestProbabilities:
    @pytest.mark.parametrize("options", [PARALLEL, AUTO])
    def test_of_all_possible_chunks_they_sum_to_one(self, options):
        space = MultiDiscrete([[2, 3]] * 2)
        model = make_model(space, chunk_length=2, **options)
        chunks = torch.tensor(list(itertools.product(range(2), range(3), repeat=2)))
        row = observe(1)
        obs = {name: leaf.repeat_interleave(36, 0) for name, leaf in row.items()}
        said = model.evaluate(obs, chunks.view(36, 2, 2))
        total = said.log_prob.flatten(1).sum(1).exp().sum()
        assert total.item() == pytest.approx(1, abs=1e-5)

    def test_only_autoregressive_tokens_know_those_before(self):
        obs = observe(1)
        chunks = torch.tensor([[[0], [1], [2]], [[4], [1], [2]]])
        for options, knows in ((PARALLEL, False), (AUTO, True)):
            said = [
                make(MANY, options).evaluate(obs, chunk.unsqueeze(0)).log_prob
                for chunk in chunks
            ]
            assert torch.equal(*(one[:, 1:] for one in said)) != knows

    def test_the_value_sees_no_action(self):
        model, obs = make(CHUNK, AUTO), observe(3)
        actions = model.act(obs).action
        one, other = (model.evaluate(obs, a).value for a in (actions, -actions))
        torch.testing.assert_close(one, other, rtol=0, atol=0)

    def test_the_entropy_of_each_number_of_a_gaussian_is_that_of_its_log_std(self):
        """log sigma + (1 + log(2 pi)) / 2; log sigma is -1 at first."""
        model = make(CHUNK, GAUSSIAN)
        assert model.metrics()["policy_std"].item() == pytest.approx(math.exp(-1))
        assert make(CHUNK, PARALLEL).metrics() == {}
        with torch.no_grad():
            model.head.log_std.copy_(torch.tensor([0.0, 2.0]))
        entropy = model.act(observe(1)).entropy[0]  # of three actions
        apart = entropy - 0.5 * (1 + math.log(2 * math.pi))
        torch.testing.assert_close(apart, torch.tensor([[0.0, 2.0]] * 3))

    def test_a_gaussians_draws_and_density_are_those_of_its_deviation(self):
        mean, log_std = torch.ones(20_000, 1), torch.tensor([math.log(0.5)])
        policy = TokenGaussian(mean, log_std)
        drawn = policy.sample(torch.Generator().manual_seed(0))
        assert drawn.std().item() == pytest.approx(0.5, rel=0.03)
        wanted = torch.distributions.Normal(mean, 0.5).log_prob(drawn)
        torch.testing.assert_close(policy.log_prob(drawn), wanted)

    def test_a_gaussians_density_is_in_units_of_half_the_range(self):
        narrow = make_model(Box(-1, 1, (1,)), action_head="gaussian")
        wide = make_model(Box(-8, 8, (1,)), action_head="gaussian")
        obs, action = observe(2), torch.tensor([0.5, -0.25]).view(2, 1, 1)
        said = narrow.evaluate(obs, action), wide.evaluate(obs, 8 * action)
        torch.testing.assert_close(said[0].log_prob, said[1].log_prob)


def test_numbers_are_centres_of_bins_in_the_environments_units():
    actions = make(CHUNK, {"action_bins": 4}).act(observe(64)).action
    assert set(actions.unique().tolist()) <= {-1.0, 1.0, 3.0, 5.0}


def test_the_first_data_decide_what_is_not_known():
    free = Box(-np.inf, np.inf, (2,), np.float32)
    observed = Dict({**SPACE.spaces, "proprio": Box(-np.inf, np.inf, (3,))})
    model = make_model(free, observed, action_bins=16)
    obs = observe(2)
    with pytest.raises(RuntimeError, match="no finite bounds"):
        model.act(obs)
    first = torch.rand(10, 3), torch.rand(10, 1, 2)
    model.update_normalization(*first)
    ranges = [part.clone() for part in model.buffers() if part.is_floating_point()]
    model.update_normalization(9 * first[0], 9 * first[1])
    now = [part for part in model.buffers() if part.is_floating_point()]
    assert all(map(torch.equal, ranges, now))
    assert model.act(obs).action.abs().max() <= 1


def test_log_probs_and_values_of_a_bfloat16_backbone_are_float32():
    for options in (PARALLEL, AUTO, GAUSSIAN):
        model = make(CHUNK, options)
        model.backbone.bfloat16()
        model.backbone.patch.float()  # takes images as they are
        model.backbone.proprio.float()
        acted = model.act(observe(2))
        assert {part.dtype for part in acted} == {torch.float32}
        said = model.evaluate(observe(2), acted.action)
        assert torch.isfinite(said.log_prob).all()
