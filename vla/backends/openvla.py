"""OpenVLA's folders, as the hub has them: `config.json`, shards, statistics."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from yieldrl.core import CheckpointError
from yieldrl.vla.backends.prismatic import PrismaticBackbone
from yieldrl.vla.backends.vision import IMAGENET, FusedVision, VisionConfig
from yieldrl.vla.files import read_json, require
from yieldrl.vla.tokenizer import SentenceTokenizer
from yieldrl.vla.weights import Shards, check_names, shapes

PROMPT = "In: What action should the robot take to {}?\nOut:"
"""The prompt that OpenVLA was trained with."""

HEADS = 16
"""Attention heads of both its encoders, ViT-L (DINOv2) and SoViT-400m (SigLIP)."""

UNUSED = ("vision_backbone.",)
"""Prefix of weights that may be unused: the encoders' last blocks, norms, pools."""


def load_backbone(
    folder: Path, config: Mapping[str, Any], *, dtype: torch.dtype, device: str
) -> PrismaticBackbone:
    """The network of a folder, shard by shard onto its device.

    Kim et al. 2024, "OpenVLA", arXiv:2406.09246. Sizes of the vision encoders are read
    off the shards' headers; heads are 16 each unless `config`, which is what
    `config.json` holds, says `vision_num_heads`.
    """
    shards, text = Shards(folder), config["text_config"]
    tokenizer = SentenceTokenizer.from_file(
        folder / "tokenizer.json",
        first=text.get("bos_token_id", 1),
        last="\u2581",  # Llama's space: training prompts end with it
        template=PROMPT,
    )
    with require("accelerate").init_empty_weights():
        backbone = PrismaticBackbone(
            FusedVision(*_vision_configs(folder, config, shards)),
            _language_model(text),
            tokenizer,
            # unrounded: the last entries are actions
            vocab_size=text["vocab_size"] - config.get("pad_to_multiple_of", 64),
        )
    wanted = shapes(dict(backbone.named_parameters()))
    present = {k: v for k, v in shards.shapes.items() if k in wanted or _matters(k)}
    check_names(wanted, present, str(folder))
    shards.fill(backbone, dtype, device)
    return backbone.to(device)  # buffers too


def action_bins(config: Mapping[str, Any]) -> int:
    """The number of vocabulary entries for actions: one for each edge of a bin."""
    return config.get("n_action_bins", 256)


def statistics(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics by data set: `dataset_statistics.json` overrides `config.json`."""
    own = read_json(folder / "dataset_statistics.json", optional=True)
    return own or dict(config.get("norm_stats") or {})


def _language_model(text_config: Mapping[str, Any]) -> Any:
    transformers = require("transformers")
    values = dict(text_config)
    kind = values.pop("model_type", "llama")
    config = transformers.AutoConfig.for_model(kind, **values)
    config.use_cache = False
    return transformers.AutoModelForCausalLM.from_config(config)


def _vision_configs(
    folder: Path, config: Mapping[str, Any], shards: Shards
) -> list[VisionConfig]:
    """Configs of the first and, if there is one, of the fused encoder."""
    pixels = read_json(folder / "preprocessor_config.json", optional=True)
    names = ["featurizer"]
    if config["use_fused_vision_backbone"]:
        names.append("fused_featurizer")
    configs: list[VisionConfig] = []
    for i, name in enumerate(names):
        start = f"vision_backbone.{name}."
        part = {
            key.removeprefix(start): shape
            for key, shape in shards.shapes.items()
            if key.startswith(start)
        }
        own = {}
        if "means" in pixels and "stds" in pixels:
            own = {"mean": tuple(pixels["means"][i]), "std": tuple(pixels["stds"][i])}
        heads = config.get("vision_num_heads", [HEADS, HEADS])[i]
        configs.append(_vision_config(part, config["image_sizes"][i], heads, own))
    return configs


def _vision_config(
    shapes: Mapping[str, tuple[int, ...]],
    image_size: int,
    heads: int,
    pixels: Mapping[str, Any],
) -> VisionConfig:
    for name in ("pos_embed", "patch_embed.proj.weight", "blocks.0.mlp.fc1.weight"):
        if name not in shapes:
            raise CheckpointError(
                f"the vision encoder lacks {name}: take a folder in OpenVLA's layout,"
                " with both encoders as timm names them"
            )
    blocks = {name.split(".")[1] for name in shapes if name.startswith("blocks.")}
    class_token = "cls_token" in shapes
    return VisionConfig(
        image_size=image_size,
        patch_size=shapes["patch_embed.proj.weight"][-1],
        width=shapes["pos_embed"][-1],
        depth=len(blocks) - 1,  # features come from before the last block
        heads=heads,
        hidden=shapes["blocks.0.mlp.fc1.weight"][0],
        registers=shapes.get("reg_token", (1, 0))[1],
        class_token=class_token,
        layer_scale="blocks.0.ls1.scale_factor" in shapes,
        **(pixels or (IMAGENET if class_token else {})),
    )


def _matters(name: str) -> bool:
    """Whether a weight without a place in the model must raise an error."""
    return not (name.startswith(UNUSED) or name.endswith("inv_freq"))
