"""SigLIP and DINOv2, a projector, and Llama: the network of OpenVLA and of `tiny`."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from yieldrl.vla.backends.decoder import Backbone, SentenceTokenizer
from yieldrl.vla.observations import camera_images, has_images, scaled


@dataclass(frozen=True, kw_only=True)
class VisionConfig:
    """Sizes of one vision transformer.

    SigLIP (Zhai et al. 2023, arXiv:2303.15343) has patches alone. DINOv2 (Oquab et al.
    2023, arXiv:2304.07193; registers: Darcet et al. 2023, arXiv:2309.16588) has a class
    token, registers and layer scales beside them.
    """

    image_size: int  # pixels of a side
    patch_size: int  # pixels of a side
    width: int
    depth: int  # blocks
    heads: int
    hidden: int  # width inside the MLP of a block
    registers: int = 0
    class_token: bool = False
    layer_scale: bool = False
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)  # of pixels in 0-1, by channel
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)


IMAGENET: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
"""Mean and standard deviation of the pixels that DINOv2 was trained on."""


def gelu_mlp(*sizes: int) -> nn.Sequential:
    """Linear layers `fc1`, `fc2` ... as checkpoints name them, and GELU between."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for i, (inputs, outputs) in enumerate(pairwise(sizes), start=1):
        if i > 1:
            layers[f"gelu{i - 1}"] = nn.GELU()
        layers[f"fc{i}"] = nn.Linear(inputs, outputs)
    return nn.Sequential(layers)


class VisionTransformer(nn.Module):
    """A network from images to features of their patches.

    With equal weights, features equal those of transformers' `SiglipVisionModel` and
    `Dinov2WithRegistersModel` after their last block, before the norm.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.config, self.gradient_checkpointing = config, False
        width, patches = config.width, (config.image_size // config.patch_size) ** 2
        if config.class_token:
            self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        if config.registers:
            self.reg_token = nn.Parameter(torch.zeros(1, config.registers, width))
        # As large as patch embeddings, so that a new network uses positions too.
        self.pos_embed = nn.Parameter(0.5 * torch.randn(1, patches, width))
        size = config.patch_size
        projection = nn.Conv2d(3, width, kernel_size=size, stride=size)
        self.patch_embed = nn.Sequential(OrderedDict(proj=projection))
        self.blocks = nn.ModuleList([_Block(config) for _ in range(config.depth)])
        for name in ("mean", "std"):
            values = torch.tensor(getattr(config, name)).view(1, 3, 1, 1)
            self.register_buffer(name, values, persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Features `[B, N, W]` of images `[B, 3, H, W]`, float32 in 0-1."""
        pixels = (images - self.mean) / self.std
        patches = self.patch_embed(pixels.to(self.pos_embed.dtype))
        hidden = patches.flatten(2).transpose(1, 2) + self.pos_embed
        before = []
        if self.config.class_token:
            before.append(self.cls_token.expand(len(hidden), -1, -1))
        if self.config.registers:
            before.append(self.reg_token.expand(len(hidden), -1, -1))
        hidden = torch.cat([*before, hidden], dim=1)
        recompute = self.gradient_checkpointing and torch.is_grad_enabled()
        for block in self.blocks:
            if recompute:
                hidden = checkpoint(block, hidden, use_reentrant=False)
            else:
                hidden = block(hidden)
        return hidden[:, self.config.registers + self.config.class_token :]


class _Block(nn.Module):
    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        width = config.width
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = _Attention(width, config.heads)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = gelu_mlp(width, config.hidden, width)
        self.ls1 = _LayerScale(width) if config.layer_scale else nn.Identity()
        self.ls2 = _LayerScale(width) if config.layer_scale else nn.Identity()

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.ls1(self.attn(self.norm1(hidden)))
        return hidden + self.ls2(self.mlp(self.norm2(hidden)))


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        split = self.qkv(hidden).unflatten(-1, (3, self.heads, -1))  # [B, N, 3, H, d]
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.proj(mixed.transpose(1, 2).flatten(2))


class _LayerScale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale_factor = nn.Parameter(torch.ones(width))

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden * self.scale_factor


class FusedVision(nn.Module):
    """One or two vision transformers side by side: their features are concatenated.

    DINOv2 sees where things are, SigLIP what they are: Karamcheti et al. 2024,
    "Prismatic VLMs", arXiv:2402.07865, section 4.2.
    """

    def __init__(
        self, featurizer: VisionConfig, fused: VisionConfig | None = None
    ) -> None:
        super().__init__()
        self.featurizer = VisionTransformer(featurizer)
        self.fused_featurizer = None if fused is None else VisionTransformer(fused)
        self.width = featurizer.width + (0 if fused is None else fused.width)

    def forward(self, observations: Any) -> Tensor:
        """Features `[B, C * N, width]` of all `C` cameras, in the order of their names,
        of observations with `rgb`, `depth` or both."""
        size = self.featurizer.config.image_size
        cameras = camera_images(observations, size)
        images = torch.cat(cameras)  # [C * B, 3, size, size]
        features = self.featurizer(images)
        if self.fused_featurizer is not None:
            images = scaled(images, self.fused_featurizer.config.image_size)
            features = torch.cat([features, self.fused_featurizer(images)], dim=-1)
        by_camera = features.unflatten(0, (len(cameras), -1)).transpose(0, 1)
        return by_camera.flatten(1, 2)


class PrismaticBackbone(Backbone):
    """A language model that reads patches of images as if they were words.

    The prompt is: the first token, the patches of all cameras, proprioception as one
    token, the sentence. Kim et al. 2024, "OpenVLA", arXiv:2406.09246, section 3.1;
    proprioception as in Kim et al. 2025, "OpenVLA-OFT", arXiv:2502.19645. The tokenizer
    gives sentences a first token of their own.
    """

    untrained = ("proprio_projector",)  # see `VLAModelInterface`

    def __init__(
        self,
        vision: FusedVision,
        language_model: Any,  # transformers has no static types for it
        tokenizer: SentenceTokenizer,
        *,
        vocab_size: int,
        proprio_size: int = 0,
    ) -> None:
        super().__init__(language_model, tokenizer)
        self.width = int(language_model.config.hidden_size)
        self.vocab_size = vocab_size
        self.vision_backbone = vision
        fused = vision.fused_featurizer is not None
        inner = (4 * vision.width, self.width) if fused else (self.width,)
        self.projector = gelu_mlp(vision.width, *inner, self.width)
        self.proprio_projector: nn.Module | None = None
        if proprio_size:
            self.add_proprio(proprio_size)

    def add_proprio(self, size: int) -> nn.Module:
        """Add a new projector for proprioception of `size` numbers, and return it."""
        self.proprio_projector = gelu_mlp(size, self.width, self.width)
        return self.proprio_projector

    @property
    def image_size(self) -> int:
        """Side in pixels of the images that the first encoder sees."""
        return self.vision_backbone.featurizer.config.image_size

    def look(self, observations: Any) -> list[Tensor]:
        parts: list[Tensor] = []
        if has_images(observations):
            parts.append(self.projector(self.vision_backbone(observations)))
        if self.proprio_projector is not None:
            proprio = self.proprio_projector(observations["proprio"].to(self.dtype))
            parts.append(proprio.unsqueeze(1))
        return parts

    def vision_parameters(self) -> Iterable[nn.Parameter]:
        return self.vision_backbone.parameters()

    def enable_gradient_checkpointing(self) -> None:
        super().enable_gradient_checkpointing()
        encoders: Any = self.vision_backbone.children()
        for encoder in encoders:
            encoder.gradient_checkpointing = True
