"""Models are loaded by backend, which configs name; what is missing is said."""

import sys

import pytest
import torch
from pydantic.dataclasses import dataclass
from torch import nn
from vla_folders import ACTED, OBSERVED, save_file, seen, write_json

from yieldrl.algorithms import ppo
from yieldrl.core import CheckpointError
from yieldrl.vla import VLAConfig, load_vla_model
from yieldrl.vla.config import vla_config_of
from yieldrl.vla.files import load_strictly

SIZES = {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}


def load(observed=OBSERVED, acted=ACTED, seed=1, **fields):
    config = VLAConfig(**{"model_config": SIZES, **fields})
    return load_vla_model(config, observed, acted, seed=seed)


@pytest.mark.parametrize("name", ["transformers", "peft"])
def test_a_missing_package_is_named_and_what_no_model_reads(monkeypatch, name):
    with pytest.raises(ValueError, match=r"reads a Dict .* make one with"):
        load(OBSERVED["proprio"])
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install"):
        load(lora_rank=2)


def test_a_tiny_model_takes_the_weights_of_another(tmp_path):
    """A cloned one, say, before adapters are put on it."""
    path, model = tmp_path / "weights.safetensors", load(seed=5)
    save_file(model.state_dict(), path)
    loaded = load(backend="tiny", model_path=str(path), lora_rank=2)
    assert torch.equal(loaded.get_value(seen()), model.get_value(seen()))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight


def test_weights_that_are_apart_are_not_loaded_into_a_model_that_ties_them():
    """The head's would be dropped without a word."""
    model, own = Tied(), torch.ones(5, 4)
    apart = {"embed.weight": own, "head.weight": 2 * own}
    with pytest.raises(CheckpointError, match=r"has embed\.weight apart from head"):
        load_strictly(model, apart, "a.pt")
    for state in ({"head.weight": own}, {"embed.weight": own, "head.weight": own}):
        load_strictly(model, state, "a.pt")
        assert model.embed.weight.equal(own)


def test_a_repository_is_downloaded_without_what_runs(tmp_path, monkeypatch):
    asked = []

    def download(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    write_json(tmp_path / "config.json", {"model_type": "unheard_of"})
    save_file({"a": torch.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="model type `unheard_of`"):
        load(model_path="someone/something", model_config={})
    patterns = ["*.json", "*.safetensors", "*--*_checkpoint.pt"]
    assert asked == [("someone/something", patterns)]


def test_bfloat16_is_for_the_backbone_alone():
    model = load(dtype="bfloat16")
    kinds = {p.dtype for p in model.backbone.parameters()}
    assert kinds == {torch.bfloat16}
    assert model.value_head.query.dtype == torch.float32
    exact = load().get_value(seen())
    assert torch.allclose(model.get_value(seen()), exact, atol=0.1)


@dataclass(frozen=True, kw_only=True)
class Both(VLAConfig, ppo.Config):
    """Of an algorithm that trains such a model."""


WRONG = [
    ({"chunk_length": 4, "execute_steps": 5}, "execute_steps = 5.* at most 4"),
    ({"action_head": "gaussian", "decoding": "autoregressive"}, "decoding"),
    ({"backend": "transformers"}, "model_path = None"),
    ({"temperature": 0.0}, "temperature = 0"),
    ({"model_class": "Alone"}, "model_class = 'Alone'"),
    ({"observation_keys": {"proprio.hand": "x"}}, "'proprio.hand' is nothing"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG)
def test_values_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Both.from_dict(fields)


def test_beside_an_algorithms_config_both_check():
    with pytest.raises(ValueError, match="num_steps = 0"):
        Both.from_dict({"num_steps": 0})
    config = Both(chunk_length=8, num_envs=2)
    assert (config.chunk_length, config.batch_size) == (8, 256)
    assert Both.from_dict(config.to_dict()) == config


def test_fields_of_blocks_come_first_and_an_algorithm_without_tokens_gets_chunks():
    merged = vla_config_of(Both(chunk_length=4, num_steps=16), {"action_bins": 32})
    assert isinstance(merged, Both)
    assert (merged.chunk_length, merged.action_bins) == (4, 32)
    assert vla_config_of(ppo.Config(), {}).log_prob_per == "chunk"
    said = {"log_prob_per": "token", "lora_targets": ["q_proj"]}
    assert vla_config_of(ppo.Config(), said).log_prob_per == "token"
    assert vla_config_of(ppo.Config(), said).lora_targets == ("q_proj",)
    with pytest.raises(ValueError, match="did you mean 'model_path'"):
        vla_config_of(ppo.Config(), {"model_pth": "x"})
