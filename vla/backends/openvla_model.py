"""A folder in OpenVLA's layout as a model that acts by what it was trained for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Dict
from torch import nn

from yieldrl.vla.actions import ActionLayout, action_layout
from yieldrl.vla.backends import oft, openvla
from yieldrl.vla.backends.options import check_options
from yieldrl.vla.backends.prismatic import PrismaticBackbone
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.decoding import AutoregressiveDecoding, Decoding
from yieldrl.vla.heads import GaussianHead
from yieldrl.vla.model import VLAModel
from yieldrl.vla.parallel import ZeroDecoding

OPTIONS = ("dataset", "proprio")
"""What `model_config` may say: whose units actions have; and whether proprioception is
read by a new projector, where the checkpoint has none."""


def load_openvla(
    folder: Path,
    values: Mapping[str, Any],
    observation_space: Dict,
    action_space: gymnasium.Space[Any],
    config: VLAConfig,
    device: str,
) -> VLAModel:
    """OpenVLA, or what OpenVLA-OFT made of it, with its bins, heads and statistics.

    Nothing that chooses actions is drawn at random, but for a projector that is asked
    for. OpenVLA was trained without proprioception, so it does not read any.

    Args:
        folder: With `config.json`, safetensors and `tokenizer.json`; that it is of
            OpenVLA-OFT is seen by files such as `action_head--150000_checkpoint.pt`, or
            by its name.
        values: What `config.json` holds.
        observation_space: Dict of what the model reads.
        action_space: Of one action, or of a chunk.
        config: Says head and decoding. A Gaussian head around bins that were trained
            begins in the middle of the range.
        device: Where the weights go.

    Raises:
        FileNotFoundError: If a file is missing.
        CheckpointError: If a weight is missing or of another size.
        ValueError: If the config, or what is observed, does not fit the checkpoint.
    """
    check_options(config.model_config, OPTIONS, "OpenVLA")
    spaces = dict(observation_space.spaces)
    parts = oft.find_parts(folder)
    layout = action_layout(action_space, config.chunk_length)
    numbers = layout.counts is None
    oft.check_parts(parts, config, numbers=numbers, proprio="proprio" in spaces)
    in_parallel = oft.is_oft(parts, values, config.model_path or "")
    dtype = getattr(torch, config.dtype)
    backbone = openvla.load_backbone(folder, values, dtype=dtype, device=device)
    if "proprio" not in spaces or not _adds_proprio(backbone, parts, spaces, config):
        spaces.pop("proprio", None)
    model = VLAModel(
        backbone,
        Dict(spaces),
        action_space,
        config,
        bins=openvla.bins(values),
        decoding=_decoding(config, layout, values, oft=in_parallel),
    )
    if isinstance(model.head, GaussianHead):
        _set_mean(model.head, parts, backbone.width, layout)
    _take_statistics(model, openvla.statistics(folder, values), config)
    if parts and model.proprio_statistics is not None:
        model.proprio_statistics.limit = 1.0  # as it was trained
    return model.to(device)


def _adds_proprio(
    backbone: PrismaticBackbone,
    parts: Mapping[str, Path],
    spaces: Mapping[str, Any],
    config: VLAConfig,
) -> bool:
    """Whether a backbone reads proprioception now."""
    size = int(torch.Size(spaces["proprio"].shape or ()).numel())
    if "proprio_projector" in parts:
        oft.load_projector(backbone, parts["proprio_projector"], size)
    elif config.model_config.get("proprio", False):
        backbone.add_proprio(size)
    if backbone.proprio_projector is None:
        return False
    backbone.proprio_projector.to(backbone.dtype)
    return True


def _decoding(
    config: VLAConfig, layout: ActionLayout, values: Mapping[str, Any], *, oft: bool
) -> Decoding:
    """That of the checkpoint's training, unless the config says another."""
    means = config.action_head == "gaussian" and layout.counts is None
    kind = config.decoding
    if kind == "autoregressive" or (kind == "auto" and not (means or oft)):
        return AutoregressiveDecoding()
    return ZeroDecoding(layout.tokens, values["text_config"].get("eos_token_id", 2))


def _set_mean(
    head: GaussianHead, parts: Mapping[str, Path], width: int, layout: ActionLayout
) -> None:
    """The mean that was trained; in the middle of the range where none was."""
    if "action_head" in parts:
        head.mean = oft.load_head(parts["action_head"], width, layout.size)
    else:
        assert isinstance(head.mean, nn.Linear)
        nn.init.zeros_(head.mean.weight)


def _take_statistics(
    model: VLAModel, known: Mapping[str, Any], config: VLAConfig
) -> None:
    """Units of the data set that `model_config` names."""
    dataset = config.model_config.get("dataset")
    if not known or model.action_statistics is None:
        return
    model.action_statistics.from_openvla(known, dataset, "action")
    entries = known.get(dataset or next(iter(known)), {})
    if model.proprio_statistics is not None and "proprio" in entries:
        model.proprio_statistics.from_openvla(known, dataset, "proprio")
