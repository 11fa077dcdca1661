"""Corrections for actions of an older policy: numbers, gradients, and what is fresh."""

import copy
import math

import pytest
import torch
from gymnasium.spaces import Box, Discrete
from pydantic.dataclasses import dataclass
from rollouts import gradients, rollout_of
from tensordict import TensorDict

from yieldrl.algorithms import a2c, appo, gipo, ppo, ppo_lstm
from yieldrl.functional import gae, vtrace

KINDS = {"clip": None, "gipo": gipo, "vtrace": appo}
each = pytest.mark.parametrize("name", KINDS)
PLAIN = {"normalize_reward": False, "normalize_advantage": False}


def algorithm_of(name, package=ppo, **kwargs):
    """An algorithm of PPO's family with a correction: a class of both."""
    kind, config_class = KINDS[name], package.Config
    algorithm_class = package.Algorithm
    if kind is not None:
        made = type("Config", (kind.Config, package.Config), {})
        config_class = dataclass(frozen=True, kw_only=True)(made)
        algorithm_class = type("Algorithm", (kind.Algorithm, package.Algorithm), {})
    config = config_class(**{**PLAIN, **kwargs})
    torch.manual_seed(0)
    model = package.Model(Box(-1, 1, (3,)), Discrete(3), config)
    return algorithm_class(model, config)


@torch.no_grad()
def acted_by(algorithm, rollout):
    """The rollout with the log_prob that a policy of other weights recorded."""
    older = copy.deepcopy(algorithm.model)
    for parameter in older.actor.parameters():
        parameter.mul_(8)
    inputs = algorithm.model.inputs(rollout).flatten(0, 1)
    log_prob = older.evaluate_actions(inputs, rollout["action"].flatten(0, 1))[0]
    return rollout.set("log_prob", log_prob.view(rollout.batch_size))


@torch.no_grad()
def looks(algorithm, rollout):
    """log_prob and value `[T, N]` of the policy of now."""
    inputs = algorithm.model.inputs(rollout).flatten(0, 1)
    action = rollout["action"].flatten(0, 1)
    log_prob, _, value = algorithm.model.evaluate_actions(inputs, action)
    return log_prob.view(rollout.batch_size), value.view(rollout.batch_size)


def steps_of(algorithm, rollout):
    """What `gae` and `vtrace` take, with the critic asked about every next_obs."""
    with torch.no_grad():
        next_value = algorithm.model.value(rollout["next_obs"].flatten(0, 1))
    value = looks(algorithm, rollout)[1]
    ends = rollout["terminated"], rollout["truncated"]
    return rollout["reward"], value, next_value.view_as(value), *ends


def test_the_weight_needs_a_width():
    for sigma in (0.0, math.nan):
        with pytest.raises(ValueError, match="gipo_sigma"):
            gipo.Config(gipo_sigma=sigma)


class TestSurrogate:
    def test_gipo_by_hand(self):
        """Ratios 1, 1/2, 2 and e, sigma = 1/2."""
        algorithm = algorithm_of("gipo", gipo_sigma=0.5)
        ratio = torch.tensor([1.0, 0.5, 2.0, math.e])
        advantage = torch.tensor([3.0, 1.0, -1.0, 2.0])
        half = math.exp(-2 * math.log(2) ** 2)  # 1/2 and 2 are equally far off
        expected = [3.0, half * 0.5, -half * 2, math.exp(-2) * math.e * 2]
        surrogate = algorithm.surrogate(ratio, advantage)
        assert surrogate.tolist() == pytest.approx(expected)

    @each
    def test_at_ratio_one_the_gradient_is_the_policy_gradient(self, name):
        log_ratio = torch.zeros(5, dtype=torch.float64, requires_grad=True)
        advantage = torch.linspace(-2, 2, 5, dtype=torch.float64)
        algorithm = algorithm_of(name)
        algorithm.surrogate(log_ratio.exp(), advantage).sum().backward()
        assert log_ratio.grad is not None
        torch.testing.assert_close(log_ratio.grad, advantage)

    def test_gipos_gradient_holds_its_weight_fixed(self):
        x = torch.linspace(-2, 2, 9, dtype=torch.float64, requires_grad=True)
        advantage = torch.linspace(-1, 3, 9, dtype=torch.float64)
        gain = algorithm_of("gipo", gipo_sigma=0.7).surrogate(x.exp(), advantage)
        (gradient,) = torch.autograd.grad(gain.sum(), x)
        weight = (-0.5 * (x.detach() / 0.7) ** 2).exp()
        torch.testing.assert_close(gradient, weight * x.detach().exp() * advantage)


class TestPrepare:
    def test_vtrace_has_the_ratio_of_both_policies_in_its_targets(self):
        algorithm = algorithm_of("vtrace")
        rollout = acted_by(algorithm, rollout_of(ends=0.1))
        recorded = rollout["log_prob"].clone()
        prepared, now = algorithm.prepare(rollout), looks(algorithm, rollout)[0]
        steps = steps_of(algorithm, rollout)
        advantage, returns = vtrace(now - recorded, *steps, 0.99, 0.95)
        torch.testing.assert_close(prepared["advantage"], advantage)
        torch.testing.assert_close(prepared["returns"], returns)
        assert torch.equal(prepared["log_prob"], now)
        assert torch.equal(rollout["log_prob"], recorded), "the record stays"
        clipped = algorithm_of("clip").prepare(rollout.clone())
        assert not torch.allclose(clipped["returns"], returns)

    def test_steps_that_only_reset_get_nothing(self):
        algorithm = algorithm_of("vtrace")
        rollout = acted_by(algorithm, rollout_of(ends=0.1))
        rollout["valid"] = torch.rand(6, 4) < 0.7
        prepared = algorithm.prepare(rollout)
        assert (prepared["advantage"][~rollout["valid"]] == 0).all()
        passes, logs = algorithm.begin(rollout)
        assert len(passes.data) == rollout["valid"].sum()
        assert logs["explained_variance"].isfinite()


@pytest.mark.parametrize(
    ("name", "recorded"), [("gipo", True), ("vtrace", False), ("vtrace", True)]
)
def test_the_first_gradient_is_the_same(name, recorded):
    clip, algorithm = algorithm_of("clip"), algorithm_of(name)
    plain = rollout_of(ends=0.1)
    plain["log_prob"], value = looks(clip, plain)
    if not recorded:  # but annotated afterwards, values too
        plain["value"] = value
    expected = clip.prepare(plain.clone()).flatten(0, 1)
    data = algorithm.prepare(plain).flatten(0, 1)
    for key in ("log_prob", "value", "advantage", "returns"):
        torch.testing.assert_close(data[key], expected[key])
    pairs = zip(gradients(algorithm, data), gradients(clip, expected), strict=True)
    for mine, its in pairs:
        assert its.abs().sum() > 0
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-6)


class TestA2C:
    def test_clip_truncates_the_importance_weight(self):
        """The factor of the policy gradient of one action, for some ratios pi / mu."""
        algorithm = algorithm_of("clip", package=a2c, entropy_coef=0.0)
        factors = []
        for ratio in (0.5, 1.0, 2.0, 30.0):
            log_prob = torch.zeros(1, requires_grad=True)
            data = TensorDict({"advantage": torch.full((1,), 3.0)}, [1])
            data["log_prob"] = torch.full((1,), -math.log(ratio))
            loss = algorithm.policy_loss(log_prob, data)
            factors.append(-torch.autograd.grad(loss, log_prob)[0].item() / 3)
        assert factors == pytest.approx([0.5, 1, 1, 1])

    def test_the_gradient_of_stale_actions(self):
        """Every action's `grad log pi`, times its advantage, times its weight."""
        algorithm = algorithm_of("clip", package=a2c, entropy_coef=0.0, value_coef=0.0)
        rollout = acted_by(algorithm, rollout_of(ends=0.1))
        stale = looks(algorithm, rollout)[0] - rollout["log_prob"]
        steps = steps_of(algorithm, rollout)
        weighed = stale.exp().clamp(max=1) * gae(*steps, 0.99, 1.0)
        model = algorithm.model
        flat = rollout.flatten(0, 1)
        log_prob = model.evaluate_actions(flat["obs"], flat["action"])[0]
        by_hand = -(log_prob * weighed.flatten()).mean()
        wanted = torch.autograd.grad(by_hand, list(model.actor.parameters()))
        loss, _ = algorithm.loss(algorithm.prepare(rollout).flatten(0, 1))
        got = torch.autograd.grad(loss, list(model.actor.parameters()))
        torch.testing.assert_close([*got], [*wanted], rtol=1e-4, atol=1e-6)


def test_recurrent_policies_look_from_the_memories_that_acting_recorded():
    algorithm = algorithm_of("vtrace", package=ppo_lstm, lstm_size=8)
    rollout = rollout_of(ends=0.1)
    rollout["memory"] = torch.randn(6, 4, algorithm.model.memory_size)
    rollout["first"] = torch.rand(6, 4) < 0.3
    recorded = acted_by(algorithm, rollout)["log_prob"].clone()
    prepared, (now, value) = algorithm.prepare(rollout), looks(algorithm, rollout)
    torch.testing.assert_close(prepared["log_prob"], now)
    with torch.no_grad():
        next_inputs = algorithm.model.next_inputs(rollout.flatten(0, 1))
        next_value = algorithm.model.get_value(next_inputs).view(6, 4)
    within = ~(rollout["truncated"] | rollout["terminated"])
    within[-1] = False  # there the following row has the value, of its own memory
    next_value = torch.where(within, value.roll(-1, 0), next_value)
    ends = rollout["terminated"], rollout["truncated"]
    steps = (rollout["reward"], value, next_value, *ends, 0.99, 0.95)
    advantage, returns = vtrace(now - recorded, *steps)
    torch.testing.assert_close(prepared["advantage"], advantage)
    torch.testing.assert_close(prepared["returns"], returns)
    minibatches, _ = algorithm.begin(rollout)
    logs = next(algorithm.update(minibatches))
    assert all(math.isfinite(metric) for metric in logs.values())
