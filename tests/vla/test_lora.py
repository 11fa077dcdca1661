"""Adapters are trained in place of the weights, and saved alone."""

import copy
import json
import warnings

import pytest
import torch
from torch import nn
from vla_folders import CHUNKS, OBSERVED, load_file, peft, seen, transformers

from yieldrl.core import CheckpointError
from yieldrl.vla import (
    VLAConfig,
    VLAPolicy,
    add_lora,
    load_adapters,
    load_vla_model,
    merged,
    save_adapters,
)
from yieldrl.vla.lora import adapters

ACTION = torch.tensor([[[0.5, 1.0], [-0.5, 3.0]]] * 3)


def load(seed=1, **fields):
    config = VLAConfig(chunk_length=2, action_bins=16, **fields)
    return load_vla_model(config, OBSERVED, CHUNKS, seed=seed)


def loss_of(model):
    output = model.evaluate(seen(), ACTION)
    return output.value.square().mean() - output.log_prob.mean()


def trained(model, steps=3):
    """The model after some steps on one batch."""
    model.train()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    return model.eval()


def answers(model):
    with torch.no_grad():
        output = model.evaluate(seen(), ACTION)
    return torch.cat([output.log_prob.flatten(), output.value])


def test_adapters_are_where_they_are_asked_for_and_change_nothing_yet():
    model = load(lora_rank=3, lora_targets=("q_proj", "down_proj"))
    names = dict(adapters(model))
    assert len(names) == 2 * 2 * 2  # layers, targets, A and B
    start = "backbone.language_model.model.layers.1"
    assert names[f"{start}.self_attn.q_proj.lora_A.default.weight"].shape == (3, 64)
    assert names[f"{start}.mlp.down_proj.lora_B.default.weight"].shape == (64, 3)
    layer = model.get_submodule(f"{start}.mlp.down_proj")
    assert layer.scaling["default"] == 2  # alpha is twice the rank
    assert torch.equal(answers(model), answers(load()))
    # Layers of vision encoders have such names too, and get none.
    names = [name for name, _ in adapters(load(lora_rank=2, lora_targets=("fc1",)))]
    assert {name.partition(".lora_")[0] for name in names} == {"backbone.projector.fc1"}


def test_the_linear_layers_of_gpt2_get_adapters_too():
    """The document's language model has its weights transposed."""
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 10}
    ends = {"bos_token_id": None, "eos_token_id": None}
    model = nn.Module()
    model.backbone = transformers.GPT2Model(
        transformers.GPT2Config(**sizes, **ends)
    ).eval()
    tokens = torch.arange(5).unsqueeze(0)
    before = model.backbone(tokens).last_hidden_state
    targets = ("c_attn", "c_fc")
    add_lora(model, VLAConfig(lora_rank=2, lora_targets=targets))
    assert torch.equal(model.backbone(tokens).last_hidden_state, before)
    shapes = {k.split(".")[-4]: p.shape for k, p in adapters(model) if "lora_B" in k}
    assert shapes == {"c_attn": (24, 2), "c_fc": (32, 2)}
    for name, parameter in adapters(model):
        if "lora_B" in name:
            nn.init.normal_(parameter)
    adapted = model.backbone(tokens).last_hidden_state
    assert not torch.allclose(adapted, before, atol=1e-2)
    alone = merged(model).backbone(tokens).last_hidden_state
    assert torch.allclose(alone, adapted, atol=1e-5)


def test_the_pretrained_weights_stay_bitwise_as_they_were():
    model = load(lora_rank=4)
    before = copy.deepcopy(model)
    trained(model)
    same = {
        name: torch.equal(parameter, dict(before.named_parameters())[name])
        for name, parameter in model.named_parameters()
    }
    for name, unchanged in same.items():
        new = not name.startswith("backbone.") or "proprio" in name or "lora" in name
        assert unchanged is not new, name


def test_adapters_are_saved_alone_and_loaded(tmp_path):
    model = trained(load(lora_rank=4, lora_alpha=6.0))
    save_adapters(model, tmp_path / "here")
    saved = load_file(tmp_path / "here" / "adapter_model.safetensors")
    names = [name.replace(".default", "") for name, _ in adapters(model.backbone)]
    assert saved.keys() == {f"base_model.model.{name}" for name in names}
    heads = load_file(tmp_path / "here" / "heads.safetensors")
    pretrained = [k for k in heads if k.startswith("backbone.") and "proprio" not in k]
    assert not pretrained
    settings = json.loads((tmp_path / "here" / "adapter_config.json").read_text())
    assert (settings["r"], settings["lora_alpha"]) == (4, 6.0)
    state = torch.get_rng_state()
    for other in (load(), load(lora_rank=4, lora_alpha=6.0)):
        loaded = load_adapters(other, tmp_path / "here")
        assert torch.equal(answers(loaded), answers(model))
    assert torch.equal(torch.get_rng_state(), state)


def test_peft_reads_what_is_saved(tmp_path):
    model, other = trained(load(lora_rank=4, lora_alpha=6.0)), load()
    save_adapters(model, tmp_path)
    other.backbone.proprio_projector = model.backbone.proprio_projector  # not of peft's
    for name in ("head", "decoding", "value_head"):
        setattr(other, name, getattr(model, name))
    wrapped = peft.PeftModel.from_pretrained(other.backbone, tmp_path).eval()
    assert torch.equal(answers(other), answers(model))
    wrapped.merge_and_unload()
    assert torch.allclose(answers(other), answers(merged(model)), atol=1e-6)


OF_PEFT = [
    {"target_modules": ["q_proj", "fc2"]},
    {"target_modules": "all-linear"},
    {"target_modules": r".*layers\.1\..*_proj.*", "use_rslora": True, "r": 2},
    {"target_modules": ["q_proj"], "use_dora": True, "rank_pattern": {"0.*q_proj": 3}},
]


@pytest.mark.parametrize("fields", OF_PEFT)
def test_what_peft_saves_is_read(tmp_path, fields):
    model = load()
    with warnings.catch_warnings(action="ignore"):  # about the output head's layer
        wrapped = peft.get_peft_model(model.backbone, peft.LoraConfig(**fields)).eval()
    for name, parameter in adapters(model):
        if "lora_B" in name:
            nn.init.normal_(parameter, std=0.1)
    wrapped.save_pretrained(tmp_path, save_embedding_layers=False)
    expected = answers(model)
    assert not torch.allclose(expected, answers(load()), atol=1e-3)
    loaded = load_adapters(load(), tmp_path)
    assert torch.equal(answers(loaded), expected)
    still = [p for n, p in loaded.backbone.named_parameters() if "base_layer" in n]
    assert not all(p.requires_grad for p in still)
    again = load_adapters(loaded, tmp_path)  # over those that it has
    assert torch.equal(answers(again), expected)
    model.backbone = wrapped.merge_and_unload()
    assert torch.allclose(answers(merged(loaded)), answers(model), atol=1e-6)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_adapters_of_peft_that_do_not_fit_are_refused(tmp_path):
    inner = load().backbone.language_model
    config = peft.LoraConfig(target_modules=["q_proj"])
    peft.get_peft_model(inner, config).save_pretrained(tmp_path)
    model = load()
    names, before = list(model.state_dict()), answers(model)
    trained_now = [p.requires_grad for p in model.parameters()]
    with pytest.raises(CheckpointError, match=r"for model\.lay.* has language_model"):
        load_adapters(model, tmp_path)
    assert list(model.state_dict()) == names
    assert torch.equal(answers(model), before)
    assert [p.requires_grad for p in model.parameters()] == trained_now
    settings = json.loads((tmp_path / "adapter_config.json").read_text())
    settings["target_modules"] = ["query"]
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match="the network has no such layer"):
        load_adapters(model, tmp_path)
    deeper = load(model_config={"layers": 3})
    wrapped = peft.get_peft_model(deeper.backbone, config)
    wrapped.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match=r"no .*layers\.2\.self_attn.* leaves out"):
        load_adapters(load(), tmp_path)


def test_a_policy_stands_for_the_model_inside(tmp_path):
    policies = [VLAPolicy(OBSERVED, CHUNKS, load()) for _ in range(2)]
    config = VLAConfig(lora_rank=4)
    assert add_lora(policies[0], config) is policies[0]
    model = trained(policies[0].model)
    assert model.value_head.query.requires_grad
    save_adapters(policies[0], tmp_path)
    assert load_adapters(policies[1], tmp_path) is policies[1]
    assert torch.equal(answers(policies[1].model), answers(model))
    again = load_adapters(load(), tmp_path)
    assert torch.equal(answers(again), answers(model))
    alone = merged(policies[1]).model
    assert torch.allclose(answers(alone), answers(model), atol=1e-5)
    plain = {name for name, _ in load().named_parameters()}
    assert {name for name, _ in alone.named_parameters()} == plain
    assert list(adapters(policies[1]))  # which is as it was


def test_adapters_of_another_model_and_what_cannot_be_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no layer has such a name; .*q_proj"):
        load(lora_rank=4, lora_targets=("query",))
    with pytest.raises(ValueError, match="the model has no adapters"):
        save_adapters(load(), tmp_path)
    with pytest.raises(ValueError, match="has adapters already"):
        add_lora(load(lora_rank=4), VLAConfig(lora_rank=4))
    save_adapters(load(lora_rank=4), tmp_path)
    for fields, message in (
        ({"lora_rank": 2}, "of rank 4, .* the model's are of rank 2"),
        ({"lora_rank": 4, "lora_alpha": 1.0}, "scale 8, .* scale 1"),
        ({"lora_rank": 4, "lora_targets": ("q_proj",)}, "on k_proj, .* on q_proj:"),
    ):
        other = load(**fields)
        before = answers(other)
        with pytest.raises(CheckpointError, match=message):
            load_adapters(other, tmp_path)
        assert torch.equal(answers(other), before)
    with pytest.raises(CheckpointError, match=r"heads\.safetensors: not the heads of"):
        load_adapters(load(action_head="gaussian"), tmp_path)
    with pytest.raises(FileNotFoundError, match=r"adapter_config\.json: no such file"):
        load_adapters(load(), tmp_path / "nowhere")
    (tmp_path / "heads.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"heads\.safetensors"):
        load_adapters(load(), tmp_path)


def test_adapters_of_other_weights_are_refused_and_the_model_stays(tmp_path):
    """By what they are, not by where they came from: not a number may differ."""
    save_adapters(trained(load(lora_rank=4)), tmp_path)
    one = load()
    with torch.no_grad():
        one.backbone.language_model.model.layers[1].mlp.up_proj.weight[3, 5] += 0.01
    for other in (load(seed=2), one, load(seed=2, lora_rank=4)):
        names, before = list(other.state_dict()), answers(other)
        with pytest.raises(CheckpointError, match="trained on other weights than this"):
            load_adapters(other, tmp_path)
        assert list(other.state_dict()) == names
        assert torch.equal(answers(other), before)
    heads = load()
    with torch.no_grad():
        heads.value_head.query.fill_(1.0)  # which the folder holds itself
    load_adapters(heads, tmp_path)


def test_adapters_stay_float32_beside_bfloat16():
    model = load(lora_rank=4, dtype="bfloat16")
    assert {p.dtype for _, p in adapters(model)} == {torch.float32}
    layers = model.backbone.language_model.model.layers
    assert layers[0].self_attn.q_proj.base_layer.weight.dtype == torch.bfloat16
    before = loss_of(model).item()
    assert loss_of(trained(model)).item() < before


def test_gradient_checkpointing_computes_layers_twice():
    """For the loss, and again for gradients, instead of keeping what they made."""
    model = load(gradient_checkpointing=True).train()
    calls = []
    blocks = [
        model.backbone.language_model.model.layers[0].mlp,
        model.backbone.vision_backbone.featurizer.blocks[0].mlp,
    ]
    for block in blocks:
        block.register_forward_pre_hook(lambda block, _: calls.append(block))
    loss_of(model).backward()
    assert [calls.count(block) for block in blocks] == [2, 2]
