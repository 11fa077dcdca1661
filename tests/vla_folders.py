"""Observations of a small robot, and folders of small models as the hub has them."""

import json

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict
from tensordict import TensorDict

from yieldrl.core import Utf8Text
from yieldrl.vla.backends.decoder import SentenceTokenizer
from yieldrl.vla.backends.openvla import PROMPT
from yieldrl.vla.backends.prismatic import (
    IMAGENET,
    FusedVision,
    PrismaticBackbone,
    VisionConfig,
)
from yieldrl.vla.backends.tiny import tiny_tokenizer

reason = "models of vision and language need the packages of yieldrl[vla]"
transformers = pytest.importorskip("transformers", reason=reason)
peft = pytest.importorskip("peft", reason=reason)
safetensors = pytest.importorskip("safetensors.torch", reason=reason)
load_file, save_file = safetensors.load_file, safetensors.save_file

TEXT = Utf8Text(40)
OBSERVED = Dict(
    rgb=Box(0, 255, (36, 36, 3), np.uint8),
    proprio=Box(-2, 2, (3,), np.float32),
    language=TEXT,
)
ACTED = Box(np.float32([-1, 0]), np.float32([1, 4]))
CHUNKS = Box(np.float32([[-1, 0]] * 2), np.float32([[1, 4]] * 2))
"""Two actions of two numbers each."""

SENTENCES = ["go to the red square", "stop", "find it"]


def seen(batch=3, **more):
    """A batch of observations; `more` replaces or adds entries."""
    generator = torch.Generator().manual_seed(0)
    shape = (batch, 36, 36, 3)
    rgb = torch.randint(256, shape, generator=generator).to(torch.uint8)
    text = [SENTENCES[i % len(SENTENCES)] for i in range(batch)]
    entries = {
        "rgb": rgb,
        "proprio": torch.rand(batch, 3, generator=generator),
        "language": torch.from_numpy(TEXT.encode(text)),
        **more,
    }
    return TensorDict(entries, batch_size=[batch])


def randomize(module):
    """Give every parameter, biases too, numbers that show where they are."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.2, generator=generator)
    return module


def openvla_backbone(fused=True):
    """A small network of OpenVLA's kind."""
    sizes = {"image_size": 28, "patch_size": 14, "depth": 1, "heads": 2}
    siglip = VisionConfig(width=12, hidden=20, **sizes)
    more = {"registers": 4, "class_token": True, "layer_scale": True, **IMAGENET}
    dinov2 = VisionConfig(width=16, hidden=24, **sizes, **more)
    words = tiny_tokenizer(["go", "to"])
    entries = words.vocab_size + 64
    tokenizer = SentenceTokenizer(words.tokenizer, first=0, template=PROMPT)
    config = transformers.LlamaConfig(**text_config(entries + 64))
    language_model = transformers.LlamaForCausalLM(config)
    vision = FusedVision(dinov2, siglip if fused else None)
    parts = vision, language_model, tokenizer
    return randomize(PrismaticBackbone(*parts, vocab_size=entries))


def text_config(vocab_size):
    sizes = {"vocab_size": vocab_size, "hidden_size": 32, "intermediate_size": 48}
    sizes |= {"num_hidden_layers": 2, "num_attention_heads": 2}
    ends = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": None}
    return {**sizes, **ends, "num_key_value_heads": 2}


def write_openvla(folder, backbone, *, drop=None):
    """A folder in the layout of `openvla/openvla-7b`, in two shards."""
    weights = dict(backbone.state_dict())
    for name in ("featurizer", "fused_featurizer"):  # it keeps what it does not use
        start = f"vision_backbone.{name}."
        last = {k: v for k, v in weights.items() if k.startswith(f"{start}blocks.0.")}
        for key, tensor in last.items():
            weights[key.replace("blocks.0.", "blocks.1.")] = torch.zeros_like(tensor)
        if last:
            weights[f"{start}norm.weight"] = torch.zeros(3)
    weights["vision_backbone.fused_featurizer.attn_pool.latent"] = torch.zeros(3)
    if drop:
        del weights[drop]
    names = sorted(weights)
    files = {
        name: f"model-0000{1 + i % 2}-of-00002.safetensors"
        for i, name in enumerate(names)
    }
    for file in set(files.values()):
        shard = {k: weights[k].contiguous() for k in names if files[k] == file}
        save_file(shard, folder / file)
    index = {"metadata": {}, "weight_map": files}
    write_json(folder / "model.safetensors.index.json", index)
    backbone.tokenizer.tokenizer.save(str(folder / "tokenizer.json"))
    fused = backbone.vision_backbone.fused_featurizer is not None
    text = {"model_type": "llama", "torch_dtype": "float32"}
    action = {"q01": [-2.0, 1.0], "q99": [2.0, 3.0], "mask": [True, True]}
    values = {
        "architectures": ["OpenVLAForActionPrediction"],
        "model_type": "openvla",
        "use_fused_vision_backbone": fused,
        "image_sizes": [28, 28],
        "vision_num_heads": [2, 2],
        "pad_to_multiple_of": 64,
        "n_action_bins": 33,
        "text_config": {**text, **text_config(backbone.vocab_size + 64)},
        "norm_stats": {"robot": {"action": action}},
    }
    write_json(folder / "config.json", values)
    return folder


def write_pi0(folder, state_dim=5, action_dim=6):
    """A folder of a tiny PI0, as `save_pretrained` writes it."""
    tokenizer = tiny_tokenizer(["go", "to"])
    tokenizer.tokenizer.save(str(folder / "tokenizer.json"))
    size = tokenizer.vocab_size
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    gemma = {"num_key_value_heads": 1, "head_dim": 8, "vocab_size": size + 1, **layers}
    gemma |= {"model_type": "gemma", "hidden_size": 16, "pad_token_id": None}
    vision = {"hidden_size": 12, "patch_size": 14, "image_size": 28, **layers}
    vision |= {"model_type": "siglip_vision_model", "vision_use_head": False}
    vlm = {"model_type": "paligemma", "projection_dim": 16, "image_token_id": size}
    vlm |= {"text_config": {**gemma, "bos_token_id": 0}, "vision_config": vision}
    sizes = {"max_state_dim": state_dim, "max_action_dim": action_dim}
    sizes |= {"chunk_size": 4, "num_inference_steps": 3}
    config = transformers.PI0Config(vlm_config=vlm, dit_config=gemma, **sizes)
    torch.manual_seed(0)
    transformers.PI0ForConditionalGeneration(config).save_pretrained(folder)
    return folder


VISION = {"hidden_size": 12, "intermediate_size": 24, "num_hidden_layers": 2}
VISION |= {"num_attention_heads": 2, "patch_size": 14, "image_size": 28}


def llava(size):
    return transformers.LlavaForConditionalGeneration(
        transformers.LlavaConfig(
            text_config={"model_type": "llama", **text_config(size)},
            vision_config={"model_type": "clip_vision_model", **VISION},
            image_token_index=size - 1,
        )
    )


def paligemma(size):
    text = {**text_config(size), "num_key_value_heads": 1, "head_dim": 8}
    return transformers.PaliGemmaForConditionalGeneration(
        transformers.PaliGemmaConfig(
            text_config={"model_type": "gemma", **text},
            vision_config={"model_type": "siglip_vision_model", **VISION},
            projection_dim=32,
            image_token_index=size - 1,
        )
    )


def write_json(path, values):
    path.write_text(json.dumps(values))
