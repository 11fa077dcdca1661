"""PI0: a Gaussian around the chunk that it makes of zero noise."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from vla_folders import (
    ACTED,
    CHUNKS,
    OBSERVED,
    seen,
    transformers,
    write_json,
    write_pi0,
)

from yieldrl.vla import VLAConfig, load_vla_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny PI0, as `save_pretrained` writes it."""
    return write_pi0(tmp_path_factory.mktemp("pi0"))


def load(folder, acted=CHUNKS, **fields):
    config = VLAConfig(model_path=str(folder), chunk_length=2, **fields)
    return load_vla_model(config, OBSERVED, acted)


def test_the_mean_is_what_its_own_sampling_makes_of_zero_noise(folder):
    model, obs = load(folder), seen()
    network = transformers.PI0ForConditionalGeneration.from_pretrained(folder)
    ids, mask = model.tokenizer(obs["language"])
    image = torch.full((3, 4), network.config.vlm_config.image_token_id)
    pixels = torch.nn.functional.interpolate(
        obs["rgb"].movedim(-1, 1).float() / 255,
        (28, 28),
        mode="bicubic",
        antialias=True,
    ).clamp(0, 1)
    state = torch.zeros(3, 5)
    state[:, :3] = obs["proprio"] / 2  # its bounds are -2 and 2
    expected = network.sample_actions(
        state=state,
        input_ids=torch.cat([image, ids], dim=1),
        pixel_values=2 * pixels[:, None] - 1,
        pixel_attention_mask=torch.ones(3, 1, dtype=torch.bool),
        attention_mask=torch.cat([torch.ones_like(image), mask.long()], dim=1),
        noise=torch.zeros(3, 4, 6),
    )
    with torch.no_grad():
        mean = model.look(obs)[0]
    assert torch.allclose(mean, expected[:, :2, :2], atol=1e-5)
    action = model(obs, deterministic=True)
    units = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 2.0])
    assert torch.allclose(action, mean * units[0] + units[1], atol=1e-5)
    output = model.act(obs, generator=torch.Generator().manual_seed(1))
    again = model.evaluate(obs, output.action)
    assert torch.allclose(again.log_prob, output.log_prob, atol=1e-5)
    assert output.log_prob.shape == (3, 2, 2)
    value = model.get_value(obs)
    assert torch.allclose(value.squeeze(1), output.value, atol=1e-6)


def test_an_image_that_is_no_square_keeps_its_ratio(folder):
    """As transformers' processor has it: grey below or beside it."""
    observed = Dict(**{**OBSERVED.spaces, "rgb": Box(0, 255, (9, 36, 3), np.uint8)})
    config = VLAConfig(model_path=str(folder), chunk_length=2)
    model, seen_by = load_vla_model(config, observed, CHUNKS), []
    embed = model.backbone.model.embed_prefix
    model.backbone.model.embed_prefix = lambda *x: seen_by.append(x[1]) or embed(*x)
    model.act(seen(rgb=seen()["rgb"][:, :9]))
    (pixels,) = seen_by
    assert pixels.shape == (3, 1, 3, 28, 28)
    rgb = seen()["rgb"][:, :9].movedim(-1, 1).float() / 255
    options = {"mode": "bicubic", "antialias": True}
    expected = torch.nn.functional.interpolate(rgb, (7, 28), **options).clamp(0, 1)
    torch.testing.assert_close(pixels[:, 0, :, :7], 2 * expected - 1)
    assert not pixels[:, 0, :, 7:].any()


def test_gradients_reach_the_expert_through_all_steps(folder):
    model = load(folder, freeze_vision=True).train()
    output = model.evaluate(seen(), torch.ones(3, 2, 2))
    (output.log_prob.mean() + output.value.mean()).backward()
    network = model.backbone
    assert network.model.dit.layers[0].mlp.up_proj.weight.grad.abs().sum() > 0
    assert network.action_out_proj.weight.grad.abs().sum() > 0
    assert all(p.grad is None for p in network.model.vlm.vision_tower.parameters())


def test_adapters_go_to_both_experts(folder):
    model = load(folder, lora_rank=2, model_config={"num_inference_steps": 1})
    names = [name for name, p in model.named_parameters() if ".lora_" in name]
    assert model.steps == 1
    assert len(names) == 2 * 2 * 4 * 2  # experts, layers, projections, A and B
    assert not any("vision_tower" in name for name in names)


def test_what_is_not_felt_is_zero(folder):
    deaf = Dict({k: v for k, v in OBSERVED.items() if k != "proprio"})
    config = VLAConfig(model_path=str(folder), chunk_length=2)
    alone = load_vla_model(config, deaf, CHUNKS)(seen().exclude("proprio"), True)
    felt = load(folder)(seen(proprio=torch.zeros(3, 3)), True)  # of [-2, 2]
    torch.testing.assert_close(alone, felt)


def test_units_come_from_its_processor(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    write_json(
        tmp_path / "processor_config.json",
        {"actions_mean": [1.0, 2.0, 3.0], "actions_std": [0.5, 1.0, 1.0]},
    )
    statistics = load(tmp_path).action_statistics
    assert statistics.denormalize(torch.zeros(2)).tolist() == [1, 2]
    assert statistics.denormalize(torch.ones(2)).tolist() == [1.5, 3]


def test_what_does_not_fit_is_said(folder, tmp_path):
    with pytest.raises(ValueError, match="makes numbers: take a model with tokens"):
        load_vla_model(VLAConfig(model_path=str(folder)), OBSERVED, Discrete(3))
    wide = Box(-1, 1, (2, 7))
    with pytest.raises(ValueError, match="chunks of 4 actions of 6 numbers"):
        load(folder, acted=wide).act(seen())
    observed = Dict(**{**OBSERVED.spaces, "proprio": Box(-1, 1, (6,))})
    config = VLAConfig(model_path=str(folder))
    with pytest.raises(ValueError, match="proprio has 6 numbers"):
        load_vla_model(config, observed, ACTED)
