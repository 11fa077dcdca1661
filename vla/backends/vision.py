"""Images of all cameras to features, by vision transformers as OpenVLA names them."""

import itertools
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


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
    for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes), start=1):
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
        self.patch_embed = _PatchEmbedding(config)
        self.blocks = nn.ModuleList([_Block(config) for _ in range(config.depth)])
        for name in ("mean", "std"):
            values = torch.tensor(getattr(config, name)).view(1, 3, 1, 1)
            self.register_buffer(name, values, persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Features `[B, N, W]` of images `[B, 3, H, W]`, float32 in 0-1."""
        pixels = (images - self.mean) / self.std
        hidden = self.patch_embed(pixels) + self.pos_embed
        before = []
        if self.config.class_token:
            before.append(self.cls_token.expand(len(hidden), -1, -1))
        if self.config.registers:
            before.append(self.reg_token.expand(len(hidden), -1, -1))
        hidden = torch.cat([*before, hidden], dim=1) if before else hidden
        recompute = self.gradient_checkpointing and torch.is_grad_enabled()
        for block in self.blocks:
            if recompute:
                hidden = checkpoint(block, hidden, use_reentrant=False)
            else:
                hidden = block(hidden)
        return hidden[:, self.config.registers + self.config.class_token :]


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
        self.width = featurizer.width
        self.fused_featurizer = None
        if fused is not None:
            self.fused_featurizer = VisionTransformer(fused)
            self.width += fused.width

    @property
    def encoders(self) -> list[VisionTransformer]:
        both = self.featurizer, self.fused_featurizer
        return [encoder for encoder in both if encoder is not None]

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
        if len(cameras) == 1:
            return features
        by_camera = features.unflatten(0, (len(cameras), -1)).transpose(0, 1)
        return by_camera.flatten(1, 2)


class _PatchEmbedding(nn.Module):
    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        size = config.patch_size
        self.proj = nn.Conv2d(3, config.width, kernel_size=size, stride=size)

    def forward(self, pixels: Tensor) -> Tensor:
        patches = self.proj(pixels.to(self.proj.weight.dtype))
        return patches.flatten(2).transpose(1, 2)


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


def has_images(observations: Mapping[str, Any]) -> bool:
    """Whether observations hold an image of any camera."""
    names = observations.keys()
    return "rgb" in names or "depth" in names


def camera_images(observations: Any, size: int) -> list[Tensor]:
    """Images `[B, 3, size, size]`, float32 in 0-1, of every camera, by their names.

    A depth `d` becomes the grey `d / (1 + d)`, which is below 1 at any distance.
    """
    images, names = [], observations.keys()
    for kind in [kind for kind in ("rgb", "depth") if kind in names]:
        child = observations[kind]
        if isinstance(child, Tensor):
            cameras = [child]
        else:
            cameras = [child[name] for name in sorted(child.keys())]
        for image in map(unit_images, cameras):
            grey = image / (1 + image) if kind == "depth" else image
            images.append(scaled(grey.expand(-1, 3, -1, -1), size))
    return images


def unit_images(images: Tensor) -> Tensor:
    """Images `[B, H, W, C]` as `[B, C, H, W]`, float32: those of uint8 in 0-1."""
    channels_first = images.movedim(-1, -3).float()
    return channels_first if images.is_floating_point() else channels_first / 255


def scaled(images: Tensor, size: int) -> Tensor:
    """Images `[B, 3, H, W]` as squares of `size` pixels."""
    if images.shape[-1] == images.shape[-2] == size:
        return images
    resized = functional.interpolate(
        images, (size, size), mode="bicubic", antialias=True, align_corners=False
    )
    return resized.clamp(0, 1)  # bicubic overshoots
