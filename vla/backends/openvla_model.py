"""Load a folder in OpenVLA's layout, with the heads that it was trained with."""

import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Dict
from torch import nn

from yieldrl.vla.actions import action_layout
from yieldrl.vla.backends import check_options, oft, openvla
from yieldrl.vla.backends.prismatic import PrismaticBackbone
from yieldrl.vla.bins import ActionBins
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.conventions import GRIPPER
from yieldrl.vla.decoding import AutoregressiveDecoding, Decoding
from yieldrl.vla.files import read_state_dict
from yieldrl.vla.heads import GaussianHead
from yieldrl.vla.model import VLAModel
from yieldrl.vla.parallel import ZeroDecoding
from yieldrl.vla.weights import load_strictly

OPTIONS = ("dataset", "gripper", "proprio")
"""Options in `model_config`: the data set of the actions' units; the numbers that open
and close the environment's gripper, by default -1 and 1; and whether a new projector
reads proprioception, where the checkpoint has none."""


def load_openvla(
    folder: Path,
    values: Mapping[str, Any],
    observation_space: Dict,
    action_space: gymnasium.Space[Any],
    config: VLAConfig,
    device: str,
) -> VLAModel:
    """OpenVLA, or OpenVLA-OFT, with its bins, heads and statistics.

    No part that chooses actions has random weights, except a projector by option.
    OpenVLA was trained without proprioception, so it does not read any. A Gaussian
    head in place of trained bins begins in the middle of the range. `values` are
    those of `config.json`.
    """
    check_options(config.model_config, OPTIONS, "OpenVLA")
    spaces = dict(observation_space.spaces)
    parts = oft.find_parts(folder)
    layout = action_layout(action_space, config.chunk_length)
    numbers = layout.counts is None
    oft.check_parts(parts, config, numbers=numbers, proprio="proprio" in spaces)
    dtype = getattr(torch, config.dtype)
    backbone = openvla.load_backbone(folder, values, dtype=dtype, device=device)
    if "proprio" in spaces:
        _add_proprio(backbone, parts, spaces["proprio"], config)
    if backbone.proprio_projector is None:
        spaces.pop("proprio", None)
    in_one_pass = numbers and config.action_head == "gaussian"
    in_one_pass |= oft.is_oft(parts, values, config.model_path or "")
    if not in_one_pass:
        _warn_of_cameras(sorted(getattr(spaces.get("rgb"), "spaces", ())))
    decoding = _decoding(config, layout.tokens, values, in_one_pass)
    bins = ActionBins(openvla.action_bins(values), descending=True, edges=True)
    model = VLAModel(
        backbone, Dict(spaces), action_space, config, bins=bins, decoding=decoding
    )
    if isinstance(model.head, GaussianHead):
        if "action_head" in parts:
            path, size = parts["action_head"], layout.size
            model.head.mean = oft.load_head(path, backbone.width, size)
        else:
            assert isinstance(model.head.mean, nn.Linear)
            nn.init.zeros_(model.head.mean.weight)
    _take_statistics(model, openvla.statistics(folder, values), config)
    if parts and model.proprio_statistics is not None:
        model.proprio_statistics.limit = 1.0  # the limit in training
    return model.to(device)


def _decoding(
    config: VLAConfig, tokens: int, values: Mapping[str, Any], in_one_pass: bool
) -> Decoding:
    """The decoding of the checkpoint's training, unless the config names another."""
    auto = config.decoding == "auto"
    if config.decoding == "parallel" or (auto and in_one_pass):
        return ZeroDecoding(tokens, values["text_config"].get("eos_token_id", 2))
    return AutoregressiveDecoding()


def _warn_of_cameras(names: list[str]) -> None:
    if len(names) > 1:
        warnings.warn(
            f"OpenVLA was trained to see one image, and there are {names}: name the"
            f" one, as in observation_keys={{'rgb': 'rgb.{names[0]}'}}",
            stacklevel=3,
        )


def _add_proprio(
    backbone: PrismaticBackbone,
    parts: Mapping[str, Path],
    space: gymnasium.Space[Any],
    config: VLAConfig,
) -> None:
    """Let a backbone read proprioception, if it was trained to or by option."""
    if "proprio_projector" in parts or config.model_config.get("proprio", False):
        backbone.add_proprio(math.prod(space.shape or ()))
        assert backbone.proprio_projector is not None
        if "proprio_projector" in parts:
            path = parts["proprio_projector"]
            state = read_state_dict(path)
            load_strictly(backbone.proprio_projector, state, str(path))
        backbone.proprio_projector.to(backbone.dtype)


def _take_statistics(
    model: VLAModel, known: Mapping[str, Any], config: VLAConfig
) -> None:
    """Load the units of the data set that `model_config` names."""
    dataset = config.model_config.get("dataset")
    if model.action_statistics is None:
        return
    if not known:
        warnings.warn(
            f"{config.model_path} has no statistics: if it was trained for actions,"
            " theirs are lost, and those of the action space's bounds stand in; lay its"
            " dataset_statistics.json beside the weights",
            stacklevel=3,
        )
        return
    gripper = config.model_config.get("gripper", GRIPPER)
    model.action_statistics.from_openvla(known, dataset, "action", gripper)
    entries = known.get(dataset or next(iter(known)), {})
    if model.proprio_statistics is not None and "proprio" in entries:
        model.proprio_statistics.from_openvla(known, dataset, "proprio")
