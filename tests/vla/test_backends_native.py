"""Vision-language models that transformers knows by itself."""

import pytest
import torch
from vla_folders import (
    ACTED,
    OBSERVED,
    SENTENCES,
    llava,
    load_file,
    paligemma,
    save_file,
    seen,
    write_json,
)

from yieldrl.core import CheckpointError
from yieldrl.vla import VLAConfig, load_vla_model
from yieldrl.vla.backends.tiny import tiny_tokenizer


@pytest.fixture(params=[llava, paligemma])
def folder(tmp_path, request):
    tokenizer = tiny_tokenizer(["go", "to"])
    tokenizer.tokenizer.save(str(tmp_path / "tokenizer.json"))
    torch.manual_seed(0)
    network = request.param(tokenizer.vocab_size + 32)
    network.save_pretrained(tmp_path)
    return tmp_path


def load(folder, **fields):
    config = VLAConfig(model_path=str(folder), action_bins=16, **fields)
    return load_vla_model(config, OBSERVED, ACTED)


def test_pixels_are_normalized_as_the_folder_says(folder):
    assert load(folder).backbone.mean.flatten().tolist() == [0.5, 0.5, 0.5]
    pixels = {"image_mean": [0.25, 0.5, 0.75], "image_std": [1, 2, 4]}
    write_json(folder / "processor_config.json", {"image_processor": pixels})
    backbone = load(folder).backbone
    assert backbone.mean.flatten().tolist() == [0.25, 0.5, 0.75]
    write_json(folder / "preprocessor_config.json", pixels)
    model = load(folder)
    assert model.backbone.std.flatten().tolist() == [1, 2, 4]
    alone = model.get_value(seen()[1:2])  # padding changes nothing
    assert torch.allclose(alone, model.get_value(seen())[1:2], atol=1e-5)


def test_a_weight_that_is_missing_is_not_drawn_at_random(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    [name] = [name for name in weights if name.endswith("layers.1.mlp.up_proj.weight")]
    del weights[name]
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(
        CheckpointError, match=r"lacks .*layers\.1\.mlp\.up_proj\.weight"
    ):
        load(folder)


def test_text_alone_gives_the_logits_of_the_model_itself(folder):
    model = load(folder)
    ids = torch.tensor([model.backbone.tokenizer.encode(SENTENCES[0])])
    embeddings = model.backbone.token_embeddings(ids)
    mask = torch.ones_like(ids, dtype=torch.bool)
    network = model.backbone.language_model
    # PaliGemma attends to a prompt in both directions when it is by itself.
    both = getattr(network.config.text_config, "use_bidirectional_attention", False)
    hidden = model.backbone.hidden(embeddings, mask, 0 if both else None)
    inner = network.model.language_model(inputs_embeds=embeddings, use_cache=False)
    expected = network.lm_head(inner.last_hidden_state)
    assert torch.allclose(model.backbone.logits(hidden), expected, atol=1e-5)


def test_it_trains_with_adapters_and_a_frozen_eye(folder):
    model = load(folder, lora_rank=2, freeze_vision=True, gradient_checkpointing=True)
    model.train()
    output = model.evaluate(seen(), torch.ones(3, 1, 2))
    (output.log_prob.mean() + output.value.mean()).backward()
    names = {k for k, p in model.named_parameters() if p.grad is not None}
    assert any(".lora_B" in name for name in names)
    assert not any("vision_tower" in name for name in names)
