"""A class of one's own, by `model_class`, `model_path` and `model_config`."""

import pickle
import sys
from pathlib import Path

import pytest
import torch
from founding_document import VLA_CONFIG
from torch import nn
from vla_folders import ACTED, OBSERVED, save_file, seen

from yieldrl.core import CheckpointError
from yieldrl.vla import (
    VLAConfig,
    VLAPolicy,
    load_adapters,
    load_vla_model,
    save_adapters,
)
from yieldrl.vla.files import load_strictly

LORA = {"lora_rank": 2, "lora_targets": ("layer",)}
STILL = "backbone.stem", "backbone.layer.base_layer"

SOURCE = """
import torch
from torch import nn


class GPTVLAModel(nn.Module):
    def __init__(self, vision_encoder, language_model, freeze_vision_encoder):
        super().__init__()
        self.parts = vision_encoder, language_model, freeze_vision_encoder
        self.layer = nn.Linear(3, 2)

    def forward(self, observations):
        return self.layer(observations["proprio"])

    def get_value(self, observations):
        return self.forward(observations)[:, :1]

    def evaluate_actions(self, observations, actions):
        error = (actions - self.forward(observations)).square().sum(-1)
        return -error, torch.zeros_like(error)


class WithSpaces(GPTVLAModel):
    def __init__(self, action_space, chunk_length=None):
        super().__init__("", "", False)
        self.given = action_space, chunk_length


class Network(nn.Module):
    untrained = ("scale",)

    def __init__(self):
        super().__init__()
        self.stem, self.layer = nn.Linear(3, 4), nn.Linear(4, 4)
        self.scale = nn.Linear(4, 4)

    def forward(self, x):
        return self.scale(self.layer(torch.tanh(self.stem(x))))


class Headed(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Network()
        self.mean, self.value_head = nn.Linear(4, 2), nn.Linear(4, 1)
        self.log_std = nn.Parameter(torch.zeros(2))

    def hidden(self, observations):
        return self.backbone(observations["proprio"])

    def forward(self, observations):
        return self.mean(self.hidden(observations))

    def get_value(self, observations):
        return self.value_head(self.hidden(observations))

    def evaluate_actions(self, observations, actions):
        scale = self.log_std.exp()
        policy = torch.distributions.Normal(self.forward(observations), scale)
        return policy.log_prob(actions).sum(-1), policy.entropy().sum(-1)


class NoBackbone(GPTVLAModel):
    backbone = "resnet50"

    def __init__(self):
        super().__init__("", "", False)


class NoValue(nn.Module):
    def forward(self, observations): ...
    def evaluate_actions(self, observations, actions): ...

"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the document's module, where the program runs."""
    (tmp_path / "vla_models.py").write_text(SOURCE)
    (tmp_path / "checkpoints").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("vla_models", None)
    weights = nn.Linear(3, 2).state_dict()
    torch.save({f"layer.{k}": v for k, v in weights.items()}, VLA_CONFIG["model_path"])
    yield tmp_path
    sys.modules.pop("vla_models", None)  # others have one of that name too


def load(**fields):
    return load_vla_model(VLAConfig(**fields), OBSERVED, ACTED)


def test_the_json_of_the_document_and_a_class_that_asks_for_the_spaces(here):
    model = load(**VLA_CONFIG)
    assert type(model).__name__ == "GPTVLAModel"
    assert model.parts == ("resnet50", "gpt2-medium", False)
    saved = torch.load(VLA_CONFIG["model_path"], weights_only=True)
    assert torch.equal(model.layer.weight, saved["layer.weight"])
    model = load(model_class="vla_models:WithSpaces")
    assert model.given == (ACTED, 1)
    model = load(model_class="vla_models:WithSpaces", model_config={"chunk_length": 7})
    assert model.given == (ACTED, 7)  # model_config comes first


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        (None, "module."),
        ("model", "_orig_mod."),
        ("model_state_dict", "module._orig_mod."),
        ("state_dict", "module.model."),
    ],
)
def test_checkpoints_as_training_scripts_write_them(here, key, prefix):
    named = {prefix + name: tensor for name, tensor in LAYER.items()}
    optimizer = {"state": {}, "param_groups": [{"lr": 0.1}]}
    beside = {"optimizer": optimizer, "epoch": 3, "config": {"depth": 1}}
    for suffix in (".pt", ".pth", ".bin", ".ckpt"):
        torch.save(named if key is None else {key: named, **beside}, f"some{suffix}")
        model = load(**{**VLA_CONFIG, "model_path": f"some{suffix}"})
        assert all((p == 1).all() for p in model.parameters())
    save_file(named, "named.safetensors")
    # A config may stand under the key of a model.
    torch.save({"model": {"name": "a"}, "state_dict": LAYER}, "config.pt")
    for file in ("named.safetensors", "config.pt"):
        model = load(**{**VLA_CONFIG, "model_path": file})
        assert all((p == 1).all() for p in model.parameters())


def test_a_module_that_is_called_so_keeps_its_name():
    own = nn.ModuleDict({"module": nn.Linear(1, 1), "other": nn.Linear(1, 1)})
    state = {k: torch.ones_like(v) for k, v in own.state_dict().items()}
    load_strictly(own, state, "here")
    load_strictly(own, {f"module.{k}": 2 * v for k, v in state.items()}, "here")
    assert all((p == 2).all() for p in own.parameters())


class Danger:
    """Pickled, it would run code when it is loaded."""

    def __reduce__(self):
        return print, ("code of the file ran",)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_a_pickled_checkpoint_is_refused_and_not_run(here, capsys):
    torch.save({"layer.weight": Danger()}, "danger.pth")
    with open("danger.pkl", "wb") as file:
        pickle.dump(Danger(), file)
    torch.save(nn.Linear(3, 2), "module.pth")
    for path in ("danger.pth", "danger.pkl", "module.pth"):
        with pytest.raises(
            CheckpointError, match=r"torch\.save\(model\.state"
        ) as error:
            load(**{**VLA_CONFIG, "model_path": path})
        assert "\n" not in str(error.value)
        assert "weights_only" not in str(error.value)  # which is no remedy
    assert capsys.readouterr().out == ""


LAYER = {"layer.weight": torch.ones(2, 3), "layer.bias": torch.ones(2)}


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"layer.weight": torch.ones(2, 3)}, r"Missing key.*layer\.bias"),
        ({**LAYER, "other": torch.ones(1)}, "Unexpected key.*other"),
        (
            {**LAYER, "layer.bias": torch.ones(3)},
            r"layer\.bias: .*\[3\].*model is .*\[2\]",
        ),
        ({"layer.weight": 3}, "something other than tensors"),
        ({"net": LAYER}, "at once or under state_dict, model_state_dict"),
    ],
)
def test_weights_that_do_not_fit_are_named(here, state, message):
    torch.save(state, "weights.pth")
    with pytest.raises(CheckpointError, match=message):
        load(**{**VLA_CONFIG, "model_path": "weights.pth"})


@pytest.mark.parametrize(
    ("name", "fields", "error", "message"),
    [
        ("vla_models:NoValue", {}, TypeError, "NoValue lacks get_value"),
        ("nowhere_at_all:Model", {}, ImportError, "No module named 'nowhere_at_all'"),
        ("vla_models:NoBackbone", LORA, ValueError, "no module in an attr"),
    ],
)
def test_classes_that_do_not_fit_are_named(here, name, fields, error, message):
    with pytest.raises(error, match=message):
        load(model_class=name, **fields)


def test_damaged_and_missing_files_are_named(here):
    torch.save({"layer.weight": torch.ones(2, 3)}, "whole.pth")
    half = Path("whole.pth").read_bytes()[:300]
    for content in (b"no tensors", b"", half):
        for name in ("broken.safetensors", "broken.pth"):
            (here / name).write_bytes(content)
            with pytest.raises(CheckpointError, match=name):
                load(**{**VLA_CONFIG, "model_path": name})
    with pytest.raises(FileNotFoundError, match=r"gone\.pth: no such file"):
        load(**{**VLA_CONFIG, "model_path": "gone.pth"})


def test_beside_adapters_heads_train_in_full_and_are_saved(here):
    model = load(model_class="vla_models:Headed", **LORA)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    own = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(own, lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        log_prob, entropy = model.evaluate_actions(seen(), torch.ones(3, 2))
        value = model.get_value(seen())
        (value.square().mean() - (log_prob + entropy).mean()).backward()
        optimizer.step()
    still = {k for k, v in model.state_dict().items() if torch.equal(v, before[k])}
    frozen = {f"{part}.{p}" for part in STILL for p in ("weight", "bias")}
    assert still == frozen
    save_adapters(model, here / "adapters")
    fresh = load(model_class="vla_models:Headed")
    load_adapters(fresh, here / "adapters")
    for key, tensor in model.state_dict().items():
        assert torch.equal(fresh.state_dict()[key], tensor), key
    groups = VLAPolicy(OBSERVED, ACTED, model).parameter_groups()
    sizes = {name: len(group) for name, group in groups.items()}
    assert sizes == {"policy": 5, "value": 2, "adapters": 2}  # with log_std
