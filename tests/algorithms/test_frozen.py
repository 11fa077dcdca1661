"""What a user freezes stays to the bit in every algorithm, statistics and all."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from tensordict import TensorDict
from torch import nn

from yieldrl.algorithms import ppo, ppo_lstm, ppo_roa
from yieldrl.cli import catalog
from yieldrl.networks import MLP

from .test_contract import ROOTS, config_of, moody


@pytest.mark.parametrize("name", sorted({*ROOTS, "dpo", "ppo_lstm"} - {"q_learning"}))
@pytest.mark.filterwarnings("ignore:.*compute something else in train mode")
def test_frozen_layers_with_statistics_stay_as_they_are(name: str) -> None:
    if name == "vla_ppo":
        pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")
    module = importlib.import_module(f"{catalog.PACKAGE}.{name}")

    class Trainer(module.Trainer):
        model_class = moody(module.Model)

    trainer = Trainer(config_of(module, eval_every=0))
    mlps = [part for part in trainer.model.modules() if type(part) is MLP]
    layers: Any = mlps[0].layers
    frozen: nn.Module = layers[0].requires_grad_(False)
    assert type(frozen).__name__ == "Moody"
    before = copy.deepcopy(frozen.state_dict())
    others = copy.deepcopy(trainer.model.state_dict())
    for log in trainer():
        if log["learn_step"] >= 4:
            break
    after = frozen.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    state = trainer.model.state_dict()
    assert any(not torch.equal(others[key], state[key]) for key in others)


def statistics_of(model: Any, space: Any) -> list[torch.Tensor]:
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
    def test_it_goes_by_who_reads(self, module: Any, space: Any) -> None:
        config = module.Config(normalize_observation=True)
        counts = {None: 4, "actor": 0, "critic": 0, "encoder": 4}
        for frozen, counted in counts.items():
            model = module.Model(space, Discrete(2), config)
            if frozen is not None:
                model.get_submodule(frozen).requires_grad_(False)
            assert statistics_of(model, space) == [counted]

    def test_an_encoder_of_numbers_that_is_frozen_sees_as_it_saw(self) -> None:
        model = ppo.Model(NUMBERS, Discrete(2), ppo.Config(normalize_observation=True))
        encoder: Any = nn.Sequential(nn.Linear(2, 2))
        model.encoder = encoder
        assert statistics_of(model, NUMBERS) == [4]
        encoder.requires_grad_(False)
        assert statistics_of(model, NUMBERS) == [4]
        encoder.requires_grad_(True)
        assert statistics_of(model, NUMBERS) == [8]

    def test_a_fixed_standard_deviation_reads_nothing(self) -> None:
        config = ppo.Config(normalize_observation=True)
        model = ppo.Model(NUMBERS, Box(-1, 1, (1,)), config)
        assert model.log_std is not None
        model.log_std.requires_grad_(False)
        assert statistics_of(model, NUMBERS) == [4]

    def test_a_moving_average_without_gradients_is_not_frozen(self) -> None:
        trainer = ppo_roa.Trainer(config_of(ppo_roa, normalize_observation=True))
        trainer.model.adapt_ema.requires_grad_(False)
        rollout = trainer.collector.collect(8)
        trainer.algorithm.update_normalization(rollout)
        assert trainer.model.normalizer is not None
        counts = [int(m.count) for m in trainer.model.normalizer.moments]
        assert counts == [16] * len(counts)
