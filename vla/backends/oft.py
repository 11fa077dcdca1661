"""OpenVLA-OFT's files beside a checkpoint: its action head, its projector.

Kim et al. 2025, "Fine-Tuning Vision-Language-Action Models", arXiv:2502.19645.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from yieldrl.core import CheckpointError
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import read_state_dict
from yieldrl.vla.weights import load_strictly, unwrapped

UNKNOWN = {
    "noisy_action_projector": "denoises actions",
    "vision_backbone": "modulates vision by the instruction (FiLM)",
}
"""Unsupported parts of networks, and their purpose."""


def find_parts(folder: Path) -> dict[str, Path]:
    """The files of a folder, such as `action_head--1_checkpoint.pt`, by their part."""
    found: dict[str, Path] = {}
    for name in ("action_head", "proprio_projector", *UNKNOWN):
        files = sorted(folder.glob(f"{name}--*.pt"))
        if len(files) > 1:
            raise CheckpointError(
                f"{folder} has {len(files)} files {name}--*.pt: leave that of one step"
            )
        if files:
            found[name] = files[0]
    return found


def is_oft(
    parts: Mapping[str, Path], config_json: Mapping[str, Any], model_path: str
) -> bool:
    """Whether a checkpoint is of OpenVLA-OFT, which decodes in parallel.

    Its `config.json` is that of OpenVLA. It is known by what lies beside it; or by its
    name, `openvla-7b-oft-finetuned` say, where it has discrete actions.
    """
    kinds = [config_json.get("model_type", ""), *config_json.get("architectures", [])]
    words = re.split(r"[^a-z0-9]+", Path(model_path).name.lower())
    return bool(parts) or "oft" in words or any("oft" in k.lower() for k in kinds)


def check_parts(
    parts: dict[str, Path], config: VLAConfig, *, numbers: bool, proprio: bool
) -> None:
    """Refuse unsupported parts, and configs that would not use the trained ones.

    `numbers` says whether actions are no choices, `proprio` whether it is observed.
    """
    for name, what in UNKNOWN.items():
        if name in parts:
            raise CheckpointError(
                f"{parts[name]}: this checkpoint {what}, which is not built here: take"
                " one of OpenVLA-OFT without, or a class of your own"
            )
    if "action_head" in parts:
        head = parts["action_head"].name
        if not numbers:
            raise ValueError(
                f"{head} regresses numbers, and actions are choices: take an"
                " environment whose actions are a Box"
            )
        if config.action_head == "bins":
            raise config.error(
                "action_head",
                f"{head} regresses actions, and tokens were not trained: choose"
                " 'gaussian', around what that head says, or a checkpoint with"
                " discrete actions",
            )
        if config.decoding == "autoregressive":
            raise config.error("decoding", f"{head} reads all of a chunk in one pass")
    if "proprio_projector" in parts and not proprio:
        raise ValueError(
            f"{parts['proprio_projector'].name}: this checkpoint reads proprioception,"
            " and observations have none: map it with observation_keys"
        )


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


def load_head(path: Path, width: int, size: int) -> RegressionHead:
    """The head of a file `action_head--*.pt`."""
    first = "model.fc1.weight"
    state = unwrapped(read_state_dict(path), [first])
    if first not in state:
        raise CheckpointError(
            f"{path}: not the head that OpenVLA-OFT regresses actions with (no"
            f" {first}): take a checkpoint with that, or a class of your own"
        )
    blocks = [n for n in state if n.endswith(".ffn.1.weight")]
    head = RegressionHead(width, size, len(state[first]), len(blocks))
    load_strictly(head, state, str(path))
    return head
