"""Every algorithm keeps acting and learning apart, whatever its networks hold."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from small import config_of
from torch import Tensor, nn

import yieldrl
from yieldrl.cli import catalog
from yieldrl.collectors import AsyncCollector
from yieldrl.networks import MLP

ALL = list(catalog.folders())
EVALUATED = [
    "a2c",
    "appo",
    "dapo",
    "dr_grpo",
    "gipo",
    "grpo",
    "grpo_imagined",
    "gspo",
    "ppo",
    "ppo_imagined",
    "ppo_lstm",
    "ppo_masked",
    "ppo_roa",
    "reinforce_pp",
    "rloo",
    "vla_grpo",
    "vla_ppo",
    "vla_ppo_steady",
]
IN_FLOAT32 = {"q_learning", "sarsa", "vla_grpo", "vla_ppo", "vla_ppo_steady"}
IN_FLOAT32 |= {"grpo_imagined", "ppo_imagined"}
SAMPLED = ["dpo"]
"""They write down log-probabilities only where another thread acts, and need none."""

OFFLINE = ["behavior_cloning"]
"""Nothing is collected after learning has begun."""

TARGETS = [
    name
    for name in ALL
    if name not in (*EVALUATED, *OFFLINE, "q_learning", "reinforce", "sarsa")
]


class Moody(nn.Module):
    """A layer's features `[..., F]`, of which the mode decides what becomes of them."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.norm = nn.BatchNorm1d(layer.out_features)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(x)
        return self.dropout(self.norm(x.flatten(0, -2))).view(x.shape)


def moody(model_class: Any) -> Any:
    """A model whose layers have batch norm and dropout."""

    class Model(model_class):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            for part in list(self.modules()):
                if type(part) is MLP:
                    layers: Any = part.layers
                    layers[0] = Moody(layers[0])

    return Model


@pytest.mark.parametrize("name", ALL)
def test_every_algorithm_keeps_the_contract(name: str) -> None:
    module = importlib.import_module(f"{catalog.PACKAGE}.{name}")
    looks = yieldrl.check_algorithm(module.Trainer(config_of(module)))
    assert (looks.pop("stored_log_prob") > 0) == (name in EVALUATED)
    assert (looks.pop("target_by_sync_alone") > 0) == (name in TARGETS)
    assert min(looks.values()) > 0


@pytest.mark.parametrize("name", sorted({*ALL} - {"q_learning", "sarsa", "rainbow"}))
@pytest.mark.filterwarnings("ignore:.*compute something else in train mode")
def test_it_does_with_dropout_and_batch_norm(name: str) -> None:
    module = importlib.import_module(f"{catalog.PACKAGE}.{name}")

    class Trainer(module.Trainer):
        model_class = moody(module.Model)

    trainer = Trainer(config_of(module))
    kinds = {type(part) for part in trainer.model.modules()}
    assert {nn.BatchNorm1d, nn.Dropout} <= kinds
    looks = yieldrl.check_algorithm(trainer)
    assert (looks["stored_log_prob"] > 0) == (name in EVALUATED)


@pytest.mark.parametrize("name", sorted({*ALL} - {*OFFLINE, "reinforce", "sarsa"}))
def test_it_does_beside_a_collector_in_the_background(name: str) -> None:
    module = importlib.import_module(f"{catalog.PACKAGE}.{name}")
    trainer = module.Trainer(config_of(module, collection="async"))
    assert isinstance(trainer.collector, AsyncCollector)
    looks = yieldrl.check_algorithm(trainer)
    assert looks["acting_copy"] > 0
    assert (looks["stored_log_prob"] > 0) == (name in (*EVALUATED, *SAMPLED))


@pytest.mark.parametrize("name", sorted({*EVALUATED} - IN_FLOAT32))
def test_it_does_with_normalized_observations(name: str) -> None:
    module = importlib.import_module(f"{catalog.PACKAGE}.{name}")
    trainer = module.Trainer(config_of(module, normalize_observation=True))
    assert trainer.model.normalizer is not None
    assert yieldrl.check_algorithm(trainer)["stored_log_prob"] > 0


@pytest.mark.parametrize("name", ["ppo", "ppo_lstm", "sac"])
def test_it_does_with_clipped_actions_on_tensor_environments(name: str) -> None:
    module = importlib.import_module(f"{catalog.PACKAGE}.{name}")
    config = config_of(module, env_id="yieldrl/Pendulum-v1")
    yieldrl.check_algorithm(module.Trainer(config))


def first_losses(module: Any, **options: Any) -> list[float]:
    """Of the first gradient steps; the weights are float32 after them."""
    with module.Trainer(config_of(module, eval_every=0, **options)) as trainer:
        logs = (log["logs"]["loss"] for log in trainer() if log["log_type"] == "train")
        losses = [float(loss) for _, loss in zip(range(4), logs, strict=False)]
        assert {p.dtype for p in trainer.model.parameters()} == {torch.float32}
    assert losses
    return losses


@pytest.mark.parametrize("name", sorted({*ALL} - IN_FLOAT32))
def test_it_learns_in_bfloat16(name: str) -> None:
    module = importlib.import_module(f"{catalog.PACKAGE}.{name}")
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


@pytest.mark.parametrize("name", ALL)
def test_it_trains_whatever_the_default_dtype_is(
    name: str, float64_by_default: None
) -> None:
    module = importlib.import_module(f"{catalog.PACKAGE}.{name}")
    cloned = {} if name in OFFLINE else {"total_steps": 128, "eval_every": 128}
    config = config_of(module, eval_episodes=1, **cloned)
    with module.Trainer(config) as trainer:
        logs = list(trainer())
        state = trainer.model.state_dict().values()
        assert {x.dtype for x in state if x.is_floating_point()} == {torch.float32}
        saved = trainer.state_dict()
    assert {"train", "evaluate"} <= {log["log_type"] for log in logs}
    with module.Trainer(config) as again:
        again.load_state_dict(saved)
