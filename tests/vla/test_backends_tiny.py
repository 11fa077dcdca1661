"""The tiny model: seeded, and a real one in all its parts."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict
from vla_folders import (
    ACTED,
    OBSERVED,
    SENTENCES,
    TEXT,
    randomize,
    seen,
    transformers,
)

from yieldrl.vla import VLAConfig, VLAPolicy, load_vla_model
from yieldrl.vla.backends.decoder import SentenceTokenizer, visible
from yieldrl.vla.backends.prismatic import VisionConfig, VisionTransformer
from yieldrl.vla.backends.tiny import tiny_tokenizer

TOKENIZER = tiny_tokenizer()
SMALL = {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}


def small(observed=OBSERVED, acted=ACTED, seed=1, **sizes):
    config = VLAConfig(action_bins=16, model_config={**SMALL, **sizes})
    return load_vla_model(config, observed, acted, seed=seed)


def test_a_seed_decides_every_weight_and_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    models = [small(seed=3), small(seed=3), small(seed=4)]
    assert torch.equal(torch.get_rng_state(), before)
    first, second, third = (model.state_dict() for model in models)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(
        first["backbone.projector.fc1.weight"], third["backbone.projector.fc1.weight"]
    )
    backbone = models[0].backbone  # actions are the last entries of the vocabulary
    text = backbone.tokenizer.vocab_size
    assert backbone.vocab_size == len(backbone.language_model.lm_head.weight)
    assert backbone.vocab_size == text + 16
    assert small(acted=Discrete(5)).backbone.vocab_size == text + 5


@pytest.mark.parametrize(
    ("shape", "patch", "patches"),
    [
        ((30, 30, 3), 6, 25),
        ((37, 37, 3), 8, 25),  # a prime: enlarged to 40
        ((24, 36, 3), 9, 16),  # stretched to a square
    ],
)
def test_patches_follow_the_image(shape, patch, patches):
    observed = Dict(rgb=Box(0, 255, shape, np.uint8), language=TEXT)
    model = small(observed)
    config = model.backbone.vision_backbone.featurizer.config
    assert config.patch_size == patch
    rgb = torch.zeros(2, *shape, dtype=torch.uint8)
    obs = seen(2).select("language").set("rgb", rgb)
    embeddings, mask = model.backbone.embed(obs)
    longest = model.backbone.tokenizer(obs["language"])[0].shape[1]
    assert embeddings.shape == (2, patches + longest, 16)
    assert mask.sum(1).tolist() == [patches + 6, patches + 2]


def test_contrasting_patches_hear_differences_more_than_light():
    """A picture of one colour says a fifth; noise of variance 1 is answered by 6."""
    model = small(patch_contrast=6.0, vision_width=64)
    for name, module in model.backbone.vision_backbone.named_modules():
        if not name.endswith("patch_embed"):
            continue
        generator = torch.Generator().manual_seed(0)
        size = module.proj.kernel_size[0]
        noise = torch.randn(256, 3, size, size, generator=generator)
        centred = noise - noise.mean((2, 3), keepdim=True)
        assert module(centred).std().item() == pytest.approx(6.0, rel=0.2)
        flat = torch.randn(256, 3, 1, 1, generator=generator).expand_as(noise)
        assert module(flat).std().item() == pytest.approx(0.2 * 6.0, rel=0.2)


def test_what_is_no_size_is_refused():
    wrong = {"depth": 3, "heads": 3, "layers": 0, "vision_width": 7}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=name):
            small(**{name: value})


def test_the_sentence_the_image_and_what_is_felt_matter():
    model, obs = small(), seen()
    value = model.get_value(obs)
    for name in ("language", "rgb", "proprio"):
        changed = obs.clone()
        changed[name] = changed[name].flip(0)
        assert not torch.allclose(model.get_value(changed)[0], value[0], atol=1e-6)


def test_several_cameras_and_depth():
    image = Box(0, 255, (30, 30, 3), np.uint8)
    observed = Dict(
        rgb=Dict(hand=image, head=image),
        depth=Box(0, np.inf, (30, 30, 1), np.float32),
        language=TEXT,
    )
    rgb = seen()["rgb"][:, :30, :30]
    obs = seen(rgb={"head": rgb, "hand": rgb.flip(0)}, depth=torch.rand(3, 30, 30, 1))
    model = small(observed)
    embeddings, _ = model.backbone.embed(obs)
    assert embeddings.shape[1] == 3 * 25 + 6
    single = model.backbone.vision_backbone({"rgb": rgb})
    every = model.backbone.vision_backbone(obs)
    assert torch.allclose(every[:, 25:50], single, atol=1e-6)  # hand, head, depth
    assert torch.allclose(every[:, :25], single.flip(0), atol=1e-6)


def test_who_sees_whom():
    mask = torch.tensor([[True, True, False, True, True]])
    rows = visible(mask, 3)[0, 0].int().tolist()
    assert rows == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],  # padding sees itself, and nobody sees it
        [1, 1, 0, 1, 1],
        [1, 1, 0, 1, 1],
    ]


def test_hidden_states_do_not_depend_on_what_comes_later():
    model = small()
    embeddings, mask = model.backbone.embed(seen())
    hidden = model.backbone.hidden(embeddings, mask, None)
    later = embeddings.clone()
    later[:, 15:] += 1
    changed = model.backbone.hidden(later, mask, None)
    assert torch.allclose(changed[:, :15], hidden[:, :15], atol=1e-6)
    assert not torch.allclose(changed[:, 15:], hidden[:, 15:], atol=1e-2)
    both = model.backbone.hidden(later, mask, 10) - model.backbone.hidden(
        embeddings, mask, 10
    )
    assert both[:, :10].abs().max() < 1e-6
    assert (both[:, 10:15].abs().amax(-1) > 1e-4).all()


@settings(max_examples=50)
@given(st.text(max_size=20))
def test_every_sentence_has_tokens_and_is_not_lost(sentence):
    ids = TOKENIZER.encode(sentence)
    assert ids[0] == 0
    assert max(ids) < TOKENIZER.vocab_size
    spelled = TOKENIZER.tokenizer.decode(ids[1:])
    assert spelled.removeprefix(" ") == sentence.removeprefix(" ")


def encoder(**options):
    sizes = {"image_size": 24, "patch_size": 6, "width": 16, "depth": 2, "heads": 4}
    return randomize(VisionTransformer(VisionConfig(**sizes, **options)))


THEIRS = {"image_size": 24, "patch_size": 6, "hidden_size": 16}
THEIRS |= {"num_hidden_layers": 2, "num_attention_heads": 4}


def test_siglip_is_that_of_transformers():
    ours = encoder(hidden=24)
    options = {"intermediate_size": 24, "hidden_act": "gelu", "vision_use_head": False}
    theirs = transformers.SiglipVisionModel(
        transformers.SiglipVisionConfig(**THEIRS, **options)
    )
    state = {
        "embeddings.patch_embedding.weight": ours.patch_embed.proj.weight,
        "embeddings.patch_embedding.bias": ours.patch_embed.proj.bias,
        "embeddings.position_embedding.weight": ours.pos_embed[0],
        "post_layernorm.weight": torch.ones(16),
        "post_layernorm.bias": torch.zeros(16),
    }
    for i, block in enumerate(ours.blocks):
        start = f"encoder.layers.{i}."
        state |= attention(block, f"{start}self_attn.", "out_proj")
        state |= layers(block, start, "layer_norm")
    assert_equal_to(theirs, state, ours, skip=0)


def test_dinov2_is_that_of_transformers():
    ours = encoder(hidden=32, registers=3, class_token=True, layer_scale=True)
    theirs = transformers.Dinov2WithRegistersModel(
        transformers.Dinov2WithRegistersConfig(
            **THEIRS, mlp_ratio=2, num_register_tokens=3
        )
    )
    positions = torch.cat([torch.zeros(1, 1, 16), ours.pos_embed], dim=1)
    state = {
        "embeddings.cls_token": ours.cls_token,
        "embeddings.mask_token": torch.zeros(1, 16),
        "embeddings.register_tokens": ours.reg_token,
        "embeddings.position_embeddings": positions,
        "embeddings.patch_embeddings.projection.weight": ours.patch_embed.proj.weight,
        "embeddings.patch_embeddings.projection.bias": ours.patch_embed.proj.bias,
        "layernorm.weight": torch.ones(16),
        "layernorm.bias": torch.zeros(16),
    }
    for i, block in enumerate(ours.blocks):
        start = f"encoder.layer.{i}."
        state |= attention(block, f"{start}attention.", "o_proj")
        state[f"{start}layer_scale1.lambda1"] = block.ls1.scale_factor
        state[f"{start}layer_scale2.lambda1"] = block.ls2.scale_factor
        state |= layers(block, start, "norm")
    assert_equal_to(theirs, state, ours, skip=4)


def layers(block, start, norm):
    parts = {f"{norm}1": block.norm1, f"{norm}2": block.norm2}
    parts |= {"mlp.fc1": block.mlp.fc1, "mlp.fc2": block.mlp.fc2}
    found = [linear(f"{start}{name}", part) for name, part in parts.items()]
    return {key: tensor for state in found for key, tensor in state.items()}


def attention(block, start, out):
    state = linear(f"{start}{out}", block.attn.proj)
    qkv = block.attn.qkv.weight.chunk(3), block.attn.qkv.bias.chunk(3)
    for name, weight, bias in zip(("q_proj", "k_proj", "v_proj"), *qkv, strict=True):
        state |= {f"{start}{name}.weight": weight, f"{start}{name}.bias": bias}
    return state


def linear(name, layer):
    return {f"{name}.weight": layer.weight, f"{name}.bias": layer.bias}


@torch.no_grad()
def assert_equal_to(theirs, state, ours, skip):
    """After the last norm, which ours leaves out."""
    theirs.eval().load_state_dict(state)
    images = torch.rand(2, 3, 24, 24)
    expected = theirs((images - 0.5) / 0.5).last_hidden_state[:, skip:]
    normed = torch.nn.functional.layer_norm(ours(images), (16,), eps=1e-6)
    assert torch.allclose(normed, expected, atol=1e-5)


def test_tokens_of_a_rollout_are_made_once(monkeypatch):
    policy = VLAPolicy(OBSERVED, ACTED, small())
    rows = TensorDict({"obs": seen(3), "next_obs": seen(3).flip(0)}, [3])
    rollout = torch.stack([rows, rows[[2, 0, 1]]])
    data = rollout.clone(recurse=False)
    policy.prepare_inputs(data)
    assert "tokens" not in rollout["obs"]  # the buffer's
    for name in ("obs", "next_obs"):
        obs = rollout[name].flatten()
        action = policy.predict(obs)
        expected = policy.evaluate_actions(obs, action)
        with monkeypatch.context() as patch:
            patch.setattr(SentenceTokenizer, "__call__", pytest.fail)
            policy.prepare_inputs(data)  # as in another round on the rollout
            said = policy.evaluate_actions(data[name].flatten(), action)
        torch.testing.assert_close(said, expected, rtol=1e-5, atol=1e-5)


def test_tokens_of_a_fixed_instruction_are_made_with_the_policy(monkeypatch):
    space = Dict({name: OBSERVED[name] for name in ("rgb", "proprio")})
    model, obs = small(), seen(3)
    policy = VLAPolicy(space, ACTED, model, instruction=SENTENCES[1])
    told = VLAPolicy(OBSERVED, ACTED, model).get_value(obs)
    monkeypatch.setattr(SentenceTokenizer, "__call__", pytest.fail)
    value = policy.get_value(obs.exclude("language"))
    torch.testing.assert_close(value[1], told[1], rtol=1e-5, atol=1e-5)
