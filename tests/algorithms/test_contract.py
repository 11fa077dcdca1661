"""Every algorithm keeps acting and learning apart, whatever its networks hold."""

import copy
import random
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import config_of, module_of
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import FlattenObservation
from tensordict import TensorDict
from torch import nn

import yieldrl
from yieldrl.algorithms import ppo, ppo_lstm
from yieldrl.collectors import AsyncCollector
from yieldrl.core import spaces
from yieldrl.networks import MLP

ROOTS = ["ddpg", "dqn", "dreamer", "grpo", "ppo", "q_learning", "reinforce", "sac"]
ROOTS += ["behavior_cloning", "vla_ppo"]
OWN_PARTS = ["mbpo", "ppo_lstm", "ppo_roa", "rainbow"]
"""Networks, noise or memories of their own, beside those of a root."""

OTHERS = ["a2c", "appo", "dapo", "dpo", "gipo", "ppo_masked", "sac_discrete", "sarsa"]
OTHERS += ["td3", "c51"]
SLOW = ["grpo_imagined", "ppo_imagined", "vla_grpo", "vla_ppo_steady"]
ON_POLICY = {"a2c", "appo", "dapo", "gipo", "ppo_masked", "ppo", "ppo_lstm", "ppo_roa"}
ON_POLICY |= {"grpo", "vla_ppo", *SLOW}
NO_TARGETS = {*ON_POLICY, "behavior_cloning", "q_learning", "reinforce", "sarsa"}

CHOICES = {
    "one": Discrete(3, start=-1, dtype=np.int32),
    "several": MultiDiscrete([2, 3], start=[-1, 4], dtype=np.int8),
}


@pytest.fixture(autouse=True)
def _packages_of_models(request):
    spec = getattr(request.node, "callspec", None)
    name = spec.params.get("name", "") if spec else ""
    if name.startswith("vla_") or name.endswith("_imagined"):
        pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")


class Strict(gym.Env):
    """Takes nothing but elements of its action space; episodes of eight steps."""

    def __init__(self, action_space, *, numbered=False):
        numbers = Box(-1, 1, (3,), np.float32)
        states = Dict(obs=numbers, privileged=numbers, proprio=numbers)
        self.observation_space = Discrete(8, start=3) if numbered else states
        self.action_space = action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 8
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), f"{action!r}"
        self.left -= 1
        reward = float(np.sum(action))
        return self.observation_space.sample(), reward, self.left == 0, False, {}

    def expert(self):
        return self.action_space.sample()

    def action_masks(self):
        counts = spaces.choices(self.action_space)
        return np.ones(sum(counts), bool)


class Moody(nn.Module):
    """A layer's features `[..., F]`, of which the mode decides what becomes of them."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.norm = nn.BatchNorm1d(layer.out_features)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x):
        x = self.layer(x)
        return self.dropout(self.norm(x.flatten(0, -2))).view(x.shape)


def moody(model_class):
    """A model whose layers have batch norm and dropout."""

    class Model(model_class):
        def __init__(self, *args):
            super().__init__(*args)
            for part in list(self.modules()):
                if type(part) is MLP:
                    layers = part.layers
                    layers[0] = Moody(layers[0])

    return Model


@pytest.mark.parametrize(
    "name",
    [
        *(ROOTS + OWN_PARTS + OTHERS),
        *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
    ],
)
def test_every_algorithm_keeps_the_contract(name):
    module = module_of(name)
    looks = yieldrl.check_algorithm(module.Trainer(config_of(module)))
    assert (looks.pop("stored_log_prob") > 0) == (name in {*ON_POLICY, "dpo"})
    assert (looks.pop("target_by_sync_alone") > 0) == (name not in NO_TARGETS)
    assert min(looks.values()) > 0


@pytest.mark.parametrize("name", sorted({*ROOTS, "ppo_roa"} - {"q_learning"}))
@pytest.mark.filterwarnings("ignore:.*compute something else in train mode")
def test_it_does_with_dropout_and_batch_norm(name):
    module = module_of(name)

    class Trainer(module.Trainer):
        model_class = moody(module.Model)

    trainer = Trainer(config_of(module))
    kinds = {type(part) for part in trainer.model.modules()}
    assert {nn.BatchNorm1d, nn.Dropout} <= kinds
    looks = yieldrl.check_algorithm(trainer)
    assert (looks["stored_log_prob"] > 0) == (name in ON_POLICY)


def short_config(name, steps, **options):
    """Of a run of so many steps, in which nothing depends on threads."""
    options |= {} if name == "behavior_cloning" else {"total_steps": steps}
    return config_of(module_of(name), **options)


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize(
    "name", ["dqn", "dreamer", "grpo", "ppo_lstm", "ppo_masked", "q_learning", "sarsa"]
)
def test_choices_count_from_their_space_s_start_and_have_its_dtype(name, kind):
    module = module_of(name)
    config = short_config(name, 64, env_kwargs={}, eval_episodes=1)
    numbered = name in ("q_learning", "sarsa")

    def make():
        return Strict(CHOICES[kind], numbered=numbered)

    if kind != "one" and name in ("dqn", "q_learning", "sarsa"):
        with pytest.raises(TypeError, match="Discrete"):
            module.Trainer(config, envs=make)
        return
    with module.Trainer(config, envs=make) as trainer:
        logs = [log["log_type"] for log in trainer()]
        assert {"train", "evaluate"} <= {*logs}


def with_wrong_resets(add, transition):
    """Add a row, after other values were put where environments only reset."""
    valid = np.asarray(transition.get("valid", True))
    if valid.all():
        return add(transition)
    wrong = copy.deepcopy(dict(transition))
    for name in ("obs", "next_obs"):
        entry = wrong[name]
        for leaf in entry.values() if isinstance(entry, dict) else [entry]:
            leaf[~valid] = leaf.max()
    wrong["reward"][~valid] = 9.0
    return add(wrong)


@pytest.mark.parametrize(
    "name", [*ROOTS, "a2c", "dpo", "mbpo", "n_step_dqn", "ppo_lstm", "ppo_roa", "sarsa"]
)
def test_what_a_step_that_only_resets_holds_is_not_learned(name):
    module = module_of(name)
    space = Box(-1, 1, (2,)) if name in ("ddpg", "mbpo", "sac") else Discrete(3)
    numbered, found = name in ("q_learning", "sarsa"), []
    config = short_config(name, 64, env_kwargs={}, eval_every=0)

    def make():
        env = Strict(space, numbered=numbered)
        env.observation_space.seed(3)
        return FlattenObservation(env) if name == "mbpo" else env

    for wrong in (False, True):
        space.seed(4)
        with module.Trainer(config, envs=SyncVectorEnv([make] * 2)) as trainer:
            if wrong:
                trainer.buffer.add = partial(with_wrong_resets, trainer.buffer.add)
            list(trainer())
            assert trainer.agent.learn_step > 0
            found.append(trainer.algorithm.state_dict()["model"])
    for key, weight in found[0].items():  # Adam's steps are larger than the tolerance
        torch.testing.assert_close(weight, found[1][key], msg=key)


def disturb():
    """Draw from all global generators."""
    torch.rand(1)
    np.random.rand()
    random.random()


def weights_of(name, *, disturbed):
    """Those that training with dropout arrives at, while others draw globally too."""
    module = module_of(name)
    model_class = moody(module.Model)
    config = short_config(name, 96 if name == "reinforce" else 40, eval_every=0)
    if disturbed:
        disturb()
    with module.Trainer(config, model=model_class) as trainer:
        for number, _ in enumerate(trainer()):
            if disturbed:
                disturb()
            if disturbed and number % 16 == 0:
                module.Trainer(config).close()
        assert trainer.agent.learn_step > 0
        return trainer.model.state_dict()


@pytest.mark.parametrize("name", [*ROOTS, *OWN_PARTS])
@pytest.mark.filterwarnings("ignore:.*compute something else in train mode")
def test_others_that_draw_from_global_generators_change_nothing(name):
    alone = weights_of(name, disturbed=False)
    among_others = weights_of(name, disturbed=True)
    for key, weight in alone.items():  # a busy machine may round otherwise
        torch.testing.assert_close(weight, among_others[key], msg=key)


@pytest.mark.parametrize(
    "name", ["appo", "dpo", "dqn", "dreamer", "grpo", "ppo_lstm", "rainbow", "sac"]
)
def test_it_does_beside_a_collector_in_the_background(name):
    module = module_of(name)
    trainer = module.Trainer(config_of(module, collection="async"))
    assert isinstance(trainer.collector, AsyncCollector)
    looks = yieldrl.check_algorithm(trainer)
    assert looks["acting_copy"] > 0
    assert (looks["stored_log_prob"] > 0) == (name in {*ON_POLICY, "dpo"})


@pytest.mark.parametrize("name", ["ppo", "ppo_lstm", "ppo_roa"])
def test_it_does_with_normalized_observations(name):
    module = module_of(name)
    trainer = module.Trainer(config_of(module, normalize_observation=True))
    assert trainer.model.normalizer is not None
    assert yieldrl.check_algorithm(trainer)["stored_log_prob"] > 0


@pytest.mark.parametrize("name", ["ppo", "ppo_lstm", "sac"])
def test_it_does_with_clipped_actions_on_tensor_environments(name):
    module = module_of(name)
    config = config_of(module, env_id="yieldrl/Pendulum-v1")
    yieldrl.check_algorithm(module.Trainer(config))


def first_losses(module, **options):
    """Of the first gradient steps; the weights are float32 after them."""
    with module.Trainer(config_of(module, eval_every=0, **options)) as trainer:
        logs = (log["logs"]["loss"] for log in trainer() if log["log_type"] == "train")
        losses = [float(loss) for _, loss in zip(range(4), logs, strict=False)]
        assert {p.dtype for p in trainer.model.parameters()} == {torch.float32}
    assert losses
    return losses


@pytest.mark.parametrize(
    "name", sorted({*ROOTS, "ppo_lstm"} - {"q_learning", "vla_ppo"})
)
def test_it_learns_in_bfloat16(name):
    module = module_of(name)
    precise = first_losses(module)
    rounded = first_losses(module, precision="bfloat16")
    assert precise != rounded
    assert precise[0] == pytest.approx(rounded[0], rel=0.05, abs=0.01)


@pytest.fixture
def float64_by_default():
    """PyTorch's default dtype is the user's."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", [*ROOTS, "mbpo", "ppo_lstm"])
def test_it_trains_whatever_the_default_dtype_is(name, float64_by_default):
    module = module_of(name)
    offline = name == "behavior_cloning"
    cloned = {} if offline else {"total_steps": 128, "eval_every": 128}
    config = config_of(module, eval_episodes=1, **cloned)
    with module.Trainer(config) as trainer:
        logs = list(trainer())
        state = trainer.model.state_dict().values()
        assert {x.dtype for x in state if x.is_floating_point()} == {torch.float32}
        saved = trainer.state_dict()
    assert {"train", "evaluate"} <= {log["log_type"] for log in logs}
    with module.Trainer(config) as again:
        again.load_state_dict(saved)


@pytest.mark.parametrize("name", sorted({*ROOTS, "dpo", "ppo_lstm"} - {"q_learning"}))
@pytest.mark.filterwarnings("ignore:.*compute something else in train mode")
def test_frozen_layers_with_statistics_stay_as_they_are(name):
    module = module_of(name)
    model_class = moody(module.Model)
    trainer = module.Trainer(config_of(module, eval_every=0), model=model_class)
    mlps = [part for part in trainer.model.modules() if type(part) is MLP]
    layers = mlps[0].layers
    frozen = layers[0].requires_grad_(False)
    assert type(frozen).__name__ == "Moody"
    before = copy.deepcopy(frozen.state_dict())
    others = copy.deepcopy(trainer.model.state_dict())
    next(log for log in trainer() if log["learn_step"] >= 4)
    after = frozen.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    state = trainer.model.state_dict()
    assert any(not torch.equal(others[key], state[key]) for key in others)


def statistics_of(model, space):
    """Counts after a batch of observations."""
    obs = {
        "picture": torch.zeros(4, 8, 8, 3, dtype=torch.uint8),
        "numbers": torch.randn(4, 2),
    }
    given = obs if isinstance(space, Dict) else obs["numbers"]
    model.update_normalization(TensorDict({"obs": given}, [4]))
    return [moments.count for moments in model.normalizer.moments]


NUMBERS = Box(-np.inf, np.inf, (2,))
BOTH = Dict(picture=Box(0, 255, (8, 8, 3), np.uint8), numbers=NUMBERS)


class TestNormalization:
    """Statistics stand still for those who are frozen and read by them."""

    @pytest.mark.parametrize(
        ("module", "space"), [(ppo, NUMBERS), (ppo, BOTH), (ppo_lstm, BOTH)]
    )
    def test_it_goes_by_who_reads(self, module, space):
        config = module.Config(normalize_observation=True)
        counts = {None: 4, "actor": 0, "critic": 0, "encoder": 4}
        for frozen, counted in counts.items():
            model = module.Model(space, Discrete(2), config)
            if frozen is not None:
                model.get_submodule(frozen).requires_grad_(False)
            assert statistics_of(model, space) == [counted]

    def test_an_encoder_of_numbers_that_is_frozen_sees_as_it_saw(self):
        model = ppo.Model(NUMBERS, Discrete(2), ppo.Config(normalize_observation=True))
        encoder = nn.Sequential(nn.Linear(2, 2))
        model.encoder = encoder
        assert statistics_of(model, NUMBERS) == [4]
        encoder.requires_grad_(False)
        assert statistics_of(model, NUMBERS) == [4]
        encoder.requires_grad_(True)
        assert statistics_of(model, NUMBERS) == [8]
