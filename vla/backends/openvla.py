"""OpenVLA's folders, and OpenVLA-OFT's, as the hub has them.

Kim et al. 2024, "OpenVLA", arXiv:2406.09246; Kim et al. 2025, "Fine-Tuning
Vision-Language-Action Models", arXiv:2502.19645.
"""

import math
import re
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Dict
from torch import Tensor, nn

from yieldrl.core import CheckpointError
from yieldrl.core.text import listed
from yieldrl.vla.actions import ActionBins, action_layout
from yieldrl.vla.backends.decoder import SentenceTokenizer
from yieldrl.vla.backends.prismatic import (
    IMAGENET,
    FusedVision,
    PrismaticBackbone,
    VisionConfig,
)
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.decoding import AutoregressiveDecoding, ZeroDecoding
from yieldrl.vla.files import (
    check_options,
    load_strictly,
    read_json,
    read_state_dict,
    require,
    unwrapped,
    with_safetensors,
)
from yieldrl.vla.heads import GaussianHead
from yieldrl.vla.model import VLAModel
from yieldrl.vla.statistics import GRIPPER

OPTIONS = ("dataset", "gripper", "proprio")
"""Options in `model_config`: the data set of the actions' units; the numbers that open
and close the environment's gripper, by default -1 and 1; and whether a new projector
reads proprioception, where the checkpoint has none."""

PROMPT = "In: What action should the robot take to {}?\nOut:"
"""The prompt that OpenVLA was trained with."""

HEADS = 16
"""Attention heads of both its encoders, ViT-L (DINOv2) and SoViT-400m (SigLIP)."""

UNKNOWN = {
    "noisy_action_projector": "denoises actions",
    "vision_backbone": "modulates vision by the instruction (FiLM)",
}
"""Parts of OpenVLA-OFT that are not built here, and what they do."""


def load_openvla(
    folder: Path,
    values: Mapping[str, Any],
    observation_space: Dict,
    action_space: gymnasium.Space[Any],
    config: VLAConfig,
) -> VLAModel:
    """OpenVLA, or OpenVLA-OFT, with its bins, heads and statistics.

    No part that chooses actions has random weights, except a projector by option.
    OpenVLA was trained without proprioception, so it does not read any. A Gaussian
    head in place of trained bins begins in the middle of the range. `values` are
    those of `config.json`.
    """
    check_options(config.model_config, OPTIONS, "OpenVLA")
    spaces, parts = dict(observation_space.spaces), _oft_parts(folder)
    layout = action_layout(action_space, config.chunk_length)
    gaussian = config.action_head == "gaussian" and layout.counts is None
    if "action_head" in parts and not gaussian:
        raise config.error(
            "action_head",
            f"{parts['action_head'].name} regresses numbers, and tokens were not"
            " trained: choose 'gaussian', around what that head says, in an environment"
            " of numbers, or a checkpoint with discrete actions",
        )
    reads = "proprio_projector" in parts or config.model_config.get("proprio", False)
    if reads and "proprio" not in spaces:
        raise ValueError(
            f"{folder} reads proprioception, and observations have none: map it with"
            " observation_keys"
        )
    backbone = load_backbone(folder, values, getattr(torch, config.dtype))
    if reads:
        _add_proprio(backbone, spaces["proprio"], parts.get("proprio_projector"))
    else:
        spaces.pop("proprio", None)
    in_one_pass = gaussian or parts or _is_oft(values, config.model_path or "")
    if not in_one_pass:
        _warn_of_cameras(sorted(getattr(spaces.get("rgb"), "spaces", ())))
    decoding = AutoregressiveDecoding()
    if config.decoding == "parallel" or (config.decoding == "auto" and in_one_pass):
        stop = values["text_config"].get("eos_token_id", 2)
        decoding = ZeroDecoding(layout.tokens, stop)
    count = values.get("n_action_bins", 256)  # of the vocabulary, one for each edge
    bins = ActionBins(count, descending=True, edges=True)
    model = VLAModel(
        backbone, Dict(spaces), action_space, config, bins=bins, decoding=decoding
    )
    if isinstance(model.head, GaussianHead):
        nn.init.zeros_(model.head.mean.get_parameter("weight"))
        if path := parts.get("action_head"):
            model.head.mean = _regression_head(path, backbone.width, layout.size)
    _take_statistics(model, folder, values, config)
    if parts and model.proprio_statistics is not None:
        model.proprio_statistics.limit = 1.0  # the limit in training
    return model


def _add_proprio(backbone: PrismaticBackbone, space: Any, path: Path | None) -> None:
    """Let a backbone read proprioception, by trained weights if there are any."""
    projector = backbone.add_proprio(math.prod(space.shape))
    if path is not None:
        load_strictly(projector, read_state_dict(path), str(path))
    projector.to(backbone.dtype)


def _warn_of_cameras(names: list[str]) -> None:
    if len(names) > 1:
        warnings.warn(
            f"OpenVLA was trained to see one image, and there are {names}: name the"
            f" one, as in observation_keys={{'rgb': 'rgb.{names[0]}'}}",
            stacklevel=3,
        )


def load_backbone(
    folder: Path, config: Mapping[str, Any], dtype: torch.dtype
) -> PrismaticBackbone:
    """The network of a folder, shard by shard.

    Sizes of the vision encoders are read off the shards' headers; heads are 16 each
    unless `config`, which is what `config.json` holds, says `vision_num_heads`.
    """
    shapes, text = stored_shapes(folder), dict(config["text_config"])
    tokenizer = SentenceTokenizer.from_file(
        folder / "tokenizer.json",
        first=text.get("bos_token_id", 1),
        last="\u2581",  # Llama's space: training prompts end with it
        template=PROMPT,
    )
    transformers, accelerate = require("transformers"), require("accelerate")
    with accelerate.init_empty_weights():
        kind = text.pop("model_type", "llama")
        language = transformers.AutoConfig.for_model(kind, **text, use_cache=False)
        backbone = PrismaticBackbone(
            FusedVision(*_vision_configs(folder, config, shapes)),
            transformers.AutoModelForCausalLM.from_config(language),
            tokenizer,
            # unrounded: the last entries are actions
            vocab_size=text["vocab_size"] - config.get("pad_to_multiple_of", 64),
        )
    wanted = {name: tuple(p.shape) for name, p in backbone.named_parameters()}
    if wrong := [name for name, shape in wanted.items() if shapes.get(name) != shape]:
        raise CheckpointError(
            f"{folder} lacks {listed(wrong)}, or has other shapes: take a whole folder"
            " in OpenVLA's layout"
        )
    accelerate.load_checkpoint_in_model(
        backbone, str(folder), device_map={"": "cpu"}, dtype=dtype
    )
    return backbone


def stored_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of a folder's tensors by name, from the headers of its safetensors."""
    metadata = require("huggingface_hub").get_local_safetensors_metadata(
        with_safetensors(folder)
    )
    files = metadata.files_metadata.values()
    tensors = (item for file in files for item in file.tensors.items())
    return {name: tuple(tensor.shape) for name, tensor in tensors}


def _vision_configs(
    folder: Path, config: Mapping[str, Any], stored: Mapping[str, tuple[int, ...]]
) -> list[VisionConfig]:
    """Configs of the first and, if there is one, of the fused encoder."""
    pixels = read_json(folder / "preprocessor_config.json")
    names = ["featurizer", "fused_featurizer"]
    configs: list[VisionConfig] = []
    for i, name in enumerate(names[: 1 + config["use_fused_vision_backbone"]]):
        start = f"vision_backbone.{name}."
        inside = {k: shape for k, shape in stored.items() if k.startswith(start)}
        shapes = {key.removeprefix(start): shape for key, shape in inside.items()}
        class_token = "cls_token" in shapes
        normal = IMAGENET if class_token else {}
        if pixels:
            normal = {key: tuple(pixels[f"{key}s"][i]) for key in ("mean", "std")}
        blocks = {key.split(".")[1] for key in shapes if key.startswith("blocks.")}
        sizes = VisionConfig(
            image_size=config["image_sizes"][i],
            patch_size=shapes["patch_embed.proj.weight"][-1],
            width=shapes["pos_embed"][-1],
            depth=len(blocks) - 1,  # features come from before the last block
            heads=config.get("vision_num_heads", [HEADS, HEADS])[i],
            hidden=shapes["blocks.0.mlp.fc1.weight"][0],
            registers=shapes.get("reg_token", (1, 0))[1],
            class_token=class_token,
            layer_scale="blocks.0.ls1.scale_factor" in shapes,
            **normal,
        )
        configs.append(sizes)
    return configs


def _take_statistics(
    model: VLAModel, folder: Path, values: Mapping[str, Any], config: VLAConfig
) -> None:
    """Load the units of the data set that `model_config` names: those in
    `dataset_statistics.json` override those in `config.json`."""
    statistics = read_json(folder / "dataset_statistics.json")
    statistics = statistics or values.get("norm_stats")
    if model.action_statistics is None:
        return
    if not statistics:
        warnings.warn(
            f"{folder} has no statistics: if it was trained for actions, theirs are"
            " lost, and those of the action space's bounds stand in; lay its"
            " dataset_statistics.json beside the weights",
            stacklevel=3,
        )
        return
    gripper = config.model_config.get("gripper", GRIPPER)
    dataset = config.model_config.get("dataset")
    model.action_statistics.from_openvla(statistics, dataset, "action", gripper)
    of_dataset = statistics[dataset or next(iter(statistics))]
    if model.proprio_statistics is not None and "proprio" in of_dataset:
        model.proprio_statistics.from_openvla(statistics, dataset, "proprio")


def _oft_parts(folder: Path) -> dict[str, Path]:
    """OpenVLA-OFT's files, such as `action_head--1_checkpoint.pt`, by their part."""
    parts: dict[str, Path] = {}
    for name in ("action_head", "proprio_projector", *UNKNOWN):
        for file in folder.glob(f"{name}--*.pt"):
            if name in UNKNOWN:
                raise CheckpointError(
                    f"{file}: this checkpoint {UNKNOWN[name]}, which is not built here:"
                    " take one of OpenVLA-OFT without, or a class of your own"
                )
            if parts.setdefault(name, file) != file:
                raise CheckpointError(f"{folder} has several {name}: leave one step's")
    return parts


def _is_oft(values: Mapping[str, Any], model_path: str) -> bool:
    """Whether a checkpoint with the `config.json` of OpenVLA is named as one of OFT,
    `openvla-7b-oft-finetuned` say."""
    names = [values["model_type"], *values.get("architectures", [])]
    words = re.split(r"[^a-z0-9]+", Path(model_path).name.lower())
    return "oft" in words or any("oft" in name.lower() for name in names)


class RegressionHead(nn.Module):
    """From the hidden states of a chunk's tokens to its normalised actions."""

    def __init__(self, width: int, size: int, inner: int, blocks: int) -> None:
        super().__init__()
        self.size = size
        # Attribute names match the checkpoint files.
        self.model = nn.Sequential(
            OrderedDict(
                layer_norm1=nn.LayerNorm(size * width),
                fc1=nn.Linear(size * width, inner),
                relu=nn.ReLU(),
                mlp_resnet_blocks=nn.Sequential(
                    *[_Block(inner) for _ in range(blocks)]
                ),
                layer_norm2=nn.LayerNorm(inner),
                fc2=nn.Linear(inner, size),
            )
        )

    def forward(self, hidden: Tensor) -> Tensor:
        """Hidden states `[B, L * D, W]` to numbers `[B, L * D, 1]`."""
        actions = hidden.unflatten(1, (-1, self.size)).flatten(2)  # [B, L, D * W]
        return self.model(actions).flatten(1).unsqueeze(-1)


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        layers = nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU()
        self.ffn = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.ffn(x)


def _regression_head(path: Path, width: int, size: int) -> RegressionHead:
    """The head of a file `action_head--*.pt`."""
    first = "model.fc1.weight"
    state = unwrapped(read_state_dict(path), [first])
    if first not in state:
        raise CheckpointError(
            f"{path}: not the head that OpenVLA-OFT regresses actions with (no"
            f" {first}): take a checkpoint with that, or a class of your own"
        )
    blocks = sum(name.endswith(".ffn.1.weight") for name in state)
    head = RegressionHead(width, size, len(state[first]), blocks)
    load_strictly(head, state, str(path))
    return head
