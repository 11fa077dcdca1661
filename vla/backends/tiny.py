"""A whole vision-language model with random weights, for tests and the course."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Annotated, Any

import gymnasium
import torch
from gymnasium.spaces import Dict
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import nn

from yieldrl.core import spaces
from yieldrl.core.checked import Checked
from yieldrl.core.fields import MAX_WIDTH
from yieldrl.vla.actions import action_layout
from yieldrl.vla.backends.decoder import SentenceTokenizer
from yieldrl.vla.backends.prismatic import (
    IMAGENET,
    FusedVision,
    PrismaticBackbone,
    VisionConfig,
)
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import require

_WORDS = """
a above and arm at back ball behind below between black block blue bottom bowl box
brown center circle close corner cube cup cyan diamond disk door down drawer far find
finger first for forward from front get go goal gray green grey grip hand in into it
key lamp left lift line move near next object of off on one open orange out over pick
pink place plate purple push put reach red right robot second slide square stack star
stop take the then thing tip to top touch toward triangle turn two under up wait wall
white with yellow
"""

WORDS = tuple(_WORDS.split())
"""Words that are one token each for the tiny model; others are spelled in pieces."""

MOST_PATCHES = 5  # along a side
CAMERAS = ("rgb", "depth")
Size = Annotated[int, Field(ge=1, le=MAX_WIDTH)]


@dataclass(frozen=True, kw_only=True)
class TinyConfig(Checked):
    """Sizes of the tiny model: options in `model_config` for the backend `tiny`."""

    width: Size = 64  # of the language model
    layers: Size = 2
    heads: Size = 4
    vision_width: Size = 32  # of two encoders, which have one block with two heads
    patch_contrast: Annotated[float, Field(gt=0, le=100)] | None = None

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise self.error("heads", f"choose one that divides {self.width}")
        if self.vision_width % 2:
            raise self.error("vision_width", "choose an even one")


def tiny_backbone(
    config: VLAConfig, observed: Dict, acted: gymnasium.Space[Any]
) -> PrismaticBackbone:
    """SigLIP, DINOv2, a projector and Llama, drawn from PyTorch's global generator.

    The last entries of the vocabulary become actions. ValueError if `model_config` has
    other options or sizes than `TinyConfig`.
    """
    sizes = TinyConfig.from_dict(dict(config.model_config))
    tokenizer = tiny_tokenizer()
    counts = action_layout(acted, config.chunk_length).counts
    vocab_size = tokenizer.vocab_size + max(counts or (config.action_bins,))
    side, patch = _image_sizes(observed)
    siglip = VisionConfig(
        image_size=side,
        patch_size=patch,
        width=sizes.vision_width,
        depth=1,
        heads=2,
        hidden=2 * sizes.vision_width,
    )
    more = {"class_token": True, "layer_scale": True, **IMAGENET}
    vision = FusedVision(dataclasses.replace(siglip, **more), siglip)
    if sizes.patch_contrast is not None:
        contrasting(vision, sizes.patch_contrast)
    proprio = observed.spaces.get("proprio")
    return PrismaticBackbone(
        vision,
        _language_model(sizes, vocab_size),
        tokenizer,
        vocab_size=vocab_size,
        proprio_size=0 if proprio is None else math.prod(proprio.shape or ()),
    )


@torch.no_grad()
def contrasting(vision: FusedVision, contrast: float) -> None:
    """Draw new filters for patches that respond to edges more than to brightness.

    Usual random filters respond to a patch's brightness: the part that all images share
    is many times larger than their differences, and a small network does not learn in
    thousands of steps where a ball lies. Here a patch of one colour gives a fifth of
    that. `contrast` is the standard deviation of a response to noise of variance 1.
    """
    for module in vision.modules():
        if isinstance(module, nn.Conv2d):
            weight = nn.init.normal_(module.weight)
            weight -= 0.8 * weight.mean(dim=(2, 3), keepdim=True)
            weight *= contrast * weight[0].numel() ** -0.5
            assert module.bias is not None
            nn.init.zeros_(module.bias)


def _language_model(sizes: TinyConfig, vocab_size: int) -> Any:
    transformers = require("transformers")
    config = transformers.LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=sizes.width,
        intermediate_size=4 * sizes.width,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.heads,
        initializer_range=sizes.width**-0.5,  # so narrow a network needs larger weights
        use_cache=False,
        bos_token_id=0,
        eos_token_id=None,
    )
    model = transformers.LlamaForCausalLM(config)
    model.lm_head.weight.data.mul_(0.1)  # nearly uniform actions at the start
    return model


def _image_sizes(observed: Dict) -> tuple[int, int]:
    """Side of the images and of their patches, in pixels: a few patches along a side,
    for which images are enlarged where none fit, as for a prime."""
    leaves = [leaf for path, leaf in spaces.leaves(observed) if path[0] in CAMERAS]
    side = max((max(spaces.shape_of(leaf)[:2]) for leaf in leaves), default=1)
    fitting = (p for p in range(1, side + 1) if side % p == 0)
    patch = next(p for p in fitting if side // p <= MOST_PATCHES)
    if side // patch < MOST_PATCHES // 2:
        patch = -(-side // MOST_PATCHES)
        return MOST_PATCHES * patch, patch
    return side, patch


def tiny_tokenizer(words: Sequence[str] = WORDS) -> SentenceTokenizer:
    """A byte-level tokenizer, which can encode any sentence; each word is one token
    (byte pair encoding: Sennrich et al. 2016, arXiv:1508.07909)."""
    library = require("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE())
    byte_level = library.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.pre_tokenizer = byte_level
    tokenizer.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=8192,  # more than the words need
        min_frequency=1,
        show_progress=False,
        special_tokens=["<s>"],
        initial_alphabet=byte_level.alphabet(),
    )
    tokenizer.train_from_iterator([*words], trainer)
    return SentenceTokenizer(tokenizer, first=0)
