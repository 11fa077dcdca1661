"""Policies of LeRobot are known by what they can do."""

from types import SimpleNamespace

import pytest
import torch
from gymnasium.spaces import Box, Dict
from torch import nn
from vla_folders import CHUNKS, OBSERVED, SENTENCES, Scale, seen, write_json

from yieldrl.core import CheckpointError
from yieldrl.vla import VLAConfig, add_lora, load_vla_model
from yieldrl.vla.backends.lerobot import LeRobotVLA


def load(acted=CHUNKS, path="4", name="vla_folders:Scale", **fields):
    config = VLAConfig(
        backend="lerobot", model_path=path, model_class=name, chunk_length=2, **fields
    )
    return load_vla_model(config, OBSERVED, acted)


def test_the_mean_is_the_chunk_that_the_policy_predicts():
    model = load()
    action = model(seen(), deterministic=True)
    felt = seen()["proprio"][:, None, :2].expand(-1, 2, -1)
    assert torch.allclose(action, felt * torch.tensor([0.5, 2.0]), atol=1e-6)
    output = model.act(seen())
    again = model.evaluate(seen(), output.action)
    assert torch.allclose(again.log_prob, output.log_prob, atol=1e-5)
    assert torch.equal(model.get_value(seen()).squeeze(1), output.value)


def test_observations_go_by_its_names():
    model = load()
    model.act(seen())
    (batch,) = model.backbone.batches
    assert batch.keys() == {"task", "observation.state", "observation.image"}
    assert batch["task"] == SENTENCES
    image = batch["observation.image"]
    assert torch.equal(image, seen()["rgb"].movedim(-1, 1).float() / 255)
    rgb = {"wrist": seen()["rgb"], "top": seen()["rgb"]}
    named = model._batch(seen(rgb=rgb))
    assert {"observation.images.top", "observation.images.wrist"} <= named.keys()


class Told(Scale):
    """Does the same whatever it feels, and names its cameras."""

    config = SimpleNamespace(image_features={"observation.images.base": None})

    @torch.no_grad()
    def predict_action_chunk(self, batch):
        self.batches.append(batch)
        return self.weight.expand(len(batch["task"]), self.length, -1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("rgb", "observation.images.base"), ("proprio", "observation.state")],
)
def test_a_policy_is_given_what_there_is_under_its_own_names(name, expected):
    given = "language", name
    observed = Dict({key: OBSERVED[key] for key in given})
    model = LeRobotVLA(Told(), observed, CHUNKS, VLAConfig(chunk_length=2))
    model.act(seen().select(*given))
    assert model.backbone.batches[0].keys() == {"task", expected}


def test_gradients_pass_its_no_grad():
    model = load()
    model.evaluate(seen(), torch.ones(3, 2, 2)).log_prob.mean().backward()
    assert model.backbone.weight.grad.abs().min() > 0


class Deaf(Scale):
    """Its prediction is cut off from its weights."""

    @torch.no_grad()
    def predict_action_chunk(self, batch):
        return super().predict_action_chunk(batch)


def test_one_that_computes_no_gradients_is_found_out_and_can_be_frozen():
    config = VLAConfig(chunk_length=2)
    model = LeRobotVLA(Deaf(), OBSERVED, CHUNKS, config)
    with pytest.raises(RuntimeError, match="computes no gradients"):
        model.evaluate(seen(), torch.ones(3, 2, 2))
    config = VLAConfig(chunk_length=2, model_config={"frozen": True})
    model = LeRobotVLA(Deaf(), OBSERVED, CHUNKS, config)
    output = model.evaluate(seen(), torch.ones(3, 2, 2))
    (output.log_prob.mean() + output.value.mean()).backward()
    assert model.backbone.weight.grad is None
    assert model.head.log_std.grad is not None


class NoChunks(nn.Module):
    def select_action(self, batch): ...


def test_what_is_no_such_policy_is_refused(monkeypatch):
    monkeypatch.setattr("vla_folders.NoChunks", NoChunks, raising=False)
    with pytest.raises(TypeError, match=r"NoChunks has no predict_action_chunk"):
        load(name="vla_folders:NoChunks")
    monkeypatch.setattr("vla_folders.Deaf", Deaf, raising=False)
    monkeypatch.setattr(Deaf, "from_pretrained", None)
    with pytest.raises(TypeError, match=r"Deaf has no from_pretrained"):
        load(name="vla_folders:Deaf")
    with pytest.raises(ValueError, match="chunks of 1 actions"):
        load(path="1").act(seen())
    with pytest.raises(ValueError, match="chunks of 4 actions of 2 numbers"):
        load(acted=Box(-1, 1, (2, 3))).act(seen())


def test_units_that_it_keeps_beside_its_weights_are_not_left_out(tmp_path, monkeypatch):
    """As versions from 0.4 on do; a class of one's own may read them."""
    write_json(tmp_path / "policy_postprocessor.json", {})
    monkeypatch.setattr(Scale, "from_pretrained", lambda path: Scale())
    load(path=str(tmp_path))
    monkeypatch.setattr(Scale, "__module__", "lerobot.policies.act.modeling_act")
    with pytest.raises(CheckpointError, match="calls both of LeRobot's processors"):
        load(path=str(tmp_path))


class Reach(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2 * 2)

    @torch.no_grad()
    def predict_action_chunk(self, batch):
        return self.layer(batch["observation.state"]).view(-1, 2, 2)


def test_beside_adapters_all_that_is_new_is_trained():
    config = VLAConfig(chunk_length=2, lora_rank=1, lora_targets=("layer",))
    model = add_lora(LeRobotVLA(Reach(), OBSERVED, CHUNKS, config), config)
    still = {name for name, p in model.named_parameters() if not p.requires_grad}
    assert still == {f"backbone.layer.base_layer.{name}" for name in ("weight", "bias")}
    output = model.evaluate(seen(), torch.ones(3, 2, 2))
    (output.log_prob.mean() + output.value.mean()).backward()
    assert all(p.grad is not None for p in model.parameters() if p.requires_grad)
