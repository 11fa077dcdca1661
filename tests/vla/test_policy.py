"""A model of any kind as a policy, also beside a collector in the background."""

import sys
import types

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import train_logs, trainer_of
from fake_vla import CAMERA, SPACE, TEXT, make_model, observe
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from tensordict import TensorDict
from torch import nn

from yieldrl.algorithms import ppo
from yieldrl.core.text import decode
from yieldrl.experiments import ContractError, check_algorithm
from yieldrl.vla import VLAPolicy
from yieldrl.vla.parameter_groups import optimizer_groups

NUMBERS, CHUNK, CHOICES = Box(-1, 1, (2,)), Box(-1, 1, (3, 2)), Discrete(3)


class Mine(nn.Module):
    """A model of one's own: the three methods of the interface, and no more."""

    def __init__(self, action_dim=2):
        super().__init__()
        self.trunk = nn.Linear(8 * 8 * 3, 8)
        self.means = nn.Linear(8, action_dim)
        self.value = nn.Linear(8, 1)
        self.sentences = []

    def features(self, observations):
        self.sentences = decode(observations["language"])
        return torch.tanh(self.trunk(observations["rgb"].flatten(1) / 255.0))

    def policy(self, observations):
        return torch.distributions.Normal(self.means(self.features(observations)), 0.5)

    def forward(self, observations):
        return self.policy(observations).rsample()

    def get_value(self, observations):
        return self.value(self.features(observations))

    def evaluate_actions(self, observations, actions):
        policy = self.policy(observations)
        return policy.log_prob(actions).sum(-1), policy.entropy().sum(-1)


class World(gym.Env):
    """Reward 1 for a positive first number (or choice); four steps an episode."""

    def __init__(self, actions=NUMBERS):
        self.observation_space = Dict({"pixels": CAMERA, "task": TEXT})
        self.action_space, self.steps = actions, 0

    def _obs(self):
        image = np.full((8, 8, 3), self.steps, np.uint8)
        return {"pixels": image, "task": TEXT.encode("go")}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._obs(), {}

    def step(self, action):
        self.steps += 1
        reward = float(np.ravel(action)[0] > 0)
        return self._obs(), reward, self.steps == 4, False, {}


KEYS = {"rgb": "pixels", "language": "task"}
RENAMED = Dict({"rgb": CAMERA, "language": TEXT})


def mine(kind=Mine):
    torch.manual_seed(0)
    space = World().observation_space
    return VLAPolicy(space, NUMBERS, kind(), observation_keys=KEYS)


def worlds_obs(batch=3):
    obs = observe(batch)
    return {"pixels": obs["rgb"], "task": obs["language"]}


class TestShapes:
    @pytest.mark.parametrize("per", ["token", "chunk"])
    @pytest.mark.parametrize(
        ("space", "length", "chunk"),
        [(CHUNK, 3, (3, 2)), (CHOICES, 1, (1, 1)), (MultiDiscrete([3] * 4), 4, (4, 1))],
    )
    def test_outside_they_are_the_action_spaces(self, space, length, chunk, per):
        model = make_model(space, chunk_length=length, action_bins=8)
        policy, obs = VLAPolicy(SPACE, space, model, log_prob_per=per), observe(4)
        action, log_prob, value = policy(obs)
        assert action.shape == (4, *space.shape)
        assert log_prob.shape == ((4, *chunk) if per == "token" else (4,))
        assert value.shape == policy.get_value(obs).shape == (4,)
        said, entropy, again = policy.evaluate_actions(obs, action)
        torch.testing.assert_close(said, log_prob, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(again, value, rtol=1e-5, atol=1e-5)
        assert entropy.shape == log_prob.shape
        chosen, extras = policy.sample(obs, torch.Generator().manual_seed(0))
        assert chosen.shape == action.shape
        assert set(extras) == {"log_prob", "value"}
        assert extras["log_prob"].shape == log_prob.shape
        whole = VLAPolicy(SPACE, space, model, log_prob_per="chunk")
        total = said.flatten(1).sum(1) if per == "token" else said
        torch.testing.assert_close(total, whole.evaluate_actions(obs, action)[0])


class TestOneOfYourOwn:
    def test_three_methods_are_enough(self):
        policy, obs = mine(), worlds_obs()
        action, log_prob, value = policy(obs)
        assert (action.shape, log_prob.shape, value.shape) == ((3, 2), (3,), (3,))
        # Through a reparameterised action the gradient of its log_prob cancels.
        assert (action.requires_grad, log_prob.requires_grad) == (False, True)
        said, entropy, again = policy.evaluate_actions(obs, action)
        torch.testing.assert_close(said, log_prob)
        torch.testing.assert_close(again, value)
        assert entropy.shape == (3,)
        assert policy.model.sentences == ["go", "to the left", "stop"]
        nested = TensorDict(obs, batch_size=[3])
        assert torch.equal(policy.get_value(nested), value)

    def test_a_generator_decides_whether_a_model_takes_it_or_draws_globally(self):
        class Both(Mine):
            def forward(self, observations, deterministic=False, generator=None):
                means = self.means(self.features(observations))
                noise = torch.empty_like(means).normal_(generator=generator)
                return means if deterministic else means + 0.5 * noise

        class Passing(Both):
            def forward(self, observations, **options):
                return super().forward(observations, **options)

        obs = observe(2)
        for model in (Both(), Passing()):
            policy = VLAPolicy(RENAMED, NUMBERS, model)
            assert not policy.concerns()
            assert torch.equal(policy(obs, True)[0], policy(obs, True)[0])
        assert VLAPolicy(RENAMED, NUMBERS, Mine()).concerns()
        for kind in (Both, Mine):
            policy = VLAPolicy(RENAMED, NUMBERS, kind())
            generators = [torch.Generator().manual_seed(3) for _ in "ab"]
            one, other = ([policy.sample(obs, g)[0] for _ in "ab"] for g in generators)
            assert torch.equal(torch.stack(one), torch.stack(other))
            assert not torch.equal(*one)

    def test_answers_of_a_wrong_shape_are_named(self):
        class Wrong(Mine):
            def get_value(self, observations):
                return self.features(observations)

        for model, said in (
            (Wrong(), r"value has the shape \(3, 8\)"),
            (Mine(action_dim=6), r"action has the shape \(3, 6\)"),  # or 9 actions
        ):
            with pytest.raises(ValueError, match=said):
                VLAPolicy(RENAMED, NUMBERS, model)(observe())

    def test_a_mean_that_depends_on_new_noise_is_found_out(self):
        """As that of a flow policy which denoises from something else each time."""

        class Flow(Mine):
            def policy(self, observations):
                mean = self.means(self.features(observations))
                return torch.distributions.Normal(mean + torch.randn_like(mean), 2.0)

            def forward(self, observations, deterministic=False):
                policy = self.policy(observations)
                return policy.mean if deterministic else policy.sample()

        trainer = trainer_of(ppo, envs=World, model=mine(Flow), total_steps=256)
        with pytest.raises(ContractError, match="stored_log_prob: 8 of 8"):
            check_algorithm(trainer)

    def test_what_is_no_model_is_refused(self):
        class Half(nn.Module):
            def get_value(self, observations): ...

        with pytest.raises(TypeError, match="Half lacks evaluate_actions, forward"):
            VLAPolicy(SPACE, NUMBERS, Half())
        with pytest.raises(TypeError, match=r"is no torch\.nn\.Module"):
            VLAPolicy(SPACE, NUMBERS, 3)


def train(envs, model, **options):
    options |= {"num_steps": 4, "num_epochs": 1, "total_steps": 16}
    return trainer_of(ppo, envs=envs, model=model, **options)


def policy_of(actions=NUMBERS, **options):
    model = make_model(actions, RENAMED, **options)
    spaces = World().observation_space, actions
    return VLAPolicy(*spaces, model, observation_keys=KEYS, log_prob_per="chunk")


class TestInTraining:
    @pytest.mark.parametrize(
        ("collection", "options"),
        [("sync", {"action_bins": 8}), ("async", {"action_head": "gaussian"})],
    )
    def test_ppo_trains_a_model_with_heads(self, collection, options):
        trainer = train(World, policy_of(**options), collection=collection)
        logs = [log["logs"] for log in train_logs(trainer)]
        assert len(logs) == 4
        assert all(np.isfinite(x) for log in logs for x in log.values())
        assert ("policy_std" in logs[0]) == ("action_head" in options)

    def test_demonstrated_actions_are_single_ones(self):
        """A policy of chunks is cloned from steps, of which there may be any number."""
        free = Box(-np.inf, np.inf, (3, 2), np.float32)
        model = make_model(free, chunk_length=3)
        policy = VLAPolicy(SPACE, free, model)
        action = torch.stack([torch.ones(4), torch.arange(4.0)], 1)  # [T, D]
        data = {"obs": {"proprio": torch.rand(4, 1, 3)}, "action": action.unsqueeze(1)}
        policy.update_normalization(TensorDict(data, batch_size=[4, 1]))
        statistics = model.action_statistics
        assert statistics is not None
        torch.testing.assert_close(statistics.low, torch.tensor([0.999, 0.03]))
        torch.testing.assert_close(statistics.high, torch.tensor([1.001, 2.97]))

    def test_steps_that_only_reset_are_no_data(self):
        free = Box(-np.inf, np.inf, (1,), np.float32)
        observed = Dict({**SPACE.spaces, "proprio": Box(-np.inf, np.inf, (3,))})
        policy = VLAPolicy(observed, free, make_model(free, observed))
        felt = torch.tensor([[0.0, 9e9], [1.0, 1.0], [0.5, 9e9]])
        data = {
            "obs": {"proprio": felt.unsqueeze(-1).expand(3, 2, 3)},
            "action": torch.tensor([[0.0, 9e9], [1.0, 1.0], [0.5, 9e9]]).unsqueeze(-1),
            "valid": torch.tensor([[True, False], [True, True], [True, False]]),
        }
        policy.update_normalization(TensorDict(data, batch_size=[3, 2]))
        assert policy.model.action_statistics.high.item() <= 1
        assert policy.model.proprio_statistics.high.max() <= 1


class TestParameterGroups:
    def test_every_trainable_parameter_is_in_one(self):
        policy = VLAPolicy(SPACE, NUMBERS, make_model(NUMBERS))
        backbone = policy.model.backbone
        backbone.lora_A = nn.Linear(2, 2, bias=False)
        backbone.lm_head.requires_grad_(False)
        groups = policy.parameter_groups()
        assert list(groups) == ["policy", "value", "adapters"]
        grouped = [id(p) for group in groups.values() for p in group]
        trained = [id(p) for p in policy.parameters() if p.requires_grad]
        assert len(grouped) == len(set(grouped))
        assert set(grouped) == set(trained)
        assert groups["adapters"] == [backbone.lora_A.weight]
        assert {id(p) for p in groups["value"]} == {
            id(p) for p in policy.model.value_head.parameters()
        }

    def test_each_has_its_learning_rate(self):
        policy = mine()
        policy.model.trunk.lora_A = nn.Linear(2, 2, bias=False)
        rates = {"adapter_learning_rate": 0.2, "value_learning_rate": 0.3}
        config = types.SimpleNamespace(learning_rate=0.1, **rates)
        found = optimizer_groups(policy, config)
        groups = policy.parameter_groups()
        rates = {id(p): group["lr"] for group in found for p in group["params"]}
        for name, rate in ("policy", 0.1), ("adapters", 0.2), ("value", 0.3):
            assert {rates.pop(id(p)) for p in groups[name]} == {rate}
        assert not rates


def test_from_the_blocks_of_a_file(monkeypatch):
    """With a loader that only says what it was asked for."""
    asked = []

    def load(config, *_, seed):
        asked.append((config, seed))
        return make_model(NUMBERS)

    loading = types.SimpleNamespace(load_vla_model=load)
    monkeypatch.setitem(sys.modules, "yieldrl.vla.loading", loading)
    block = {"model_path": "x.pth", "model_class": "a.B", "model_config": {"n": 1}}
    spaces = SPACE, NUMBERS, ppo.Config(seed=7)
    policy = VLAPolicy.from_config(*spaces, vla_config=block)
    [(given, seed)] = asked
    assert (given.model_class, given.model_config, seed) == ("a.B", {"n": 1}, 7)
    assert policy(observe())[1].shape == (3,), "one number for a chunk"
    with pytest.raises(ValueError, match=r"action_dim = 7.* has 2"):
        VLAPolicy.from_config(*spaces, action_dim=7)
