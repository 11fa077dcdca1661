"""Vision-language models that transformers knows by itself: LLaVA, PaliGemma ..."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.vla.backends.decoder import Backbone, SentenceTokenizer, pretrained
from yieldrl.vla.files import read_json, require
from yieldrl.vla.observations import camera_images


class NativeBackbone(Backbone):
    """A model for images and text that is built into transformers.

    The prompt is: the first token, the patches of all cameras, the sentence; every
    position attends to those before it. Differs from PaliGemma (Beyer et al. 2024,
    arXiv:2407.07726), whose prompt attends to itself in both directions.

    Args:
        network: Of a class that `AutoModelForImageTextToText` makes.
        tokenizer: Its sentences begin with a first token of their own.
        pixels: `image_mean` and `image_std` by channel, of pixels in 0-1, if known.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        network: nn.Module,
        tokenizer: SentenceTokenizer,
        pixels: Mapping[str, Any],
    ) -> None:
        super().__init__(network, tokenizer)
        sizes = self.language_model.config
        self.width = sizes.text_config.hidden_size
        self.vocab_size = sizes.text_config.vocab_size
        self.side = sizes.vision_config.image_size
        for name in ("mean", "std"):
            values = torch.tensor(pixels.get(f"image_{name}", [0.5] * 3))
            self.register_buffer(name, values.view(3, 1, 1), persistent=False)

    def look(self, observations: Any) -> list[Tensor]:
        return [self._features(one) for one in camera_images(observations, self.side)]

    def vision_parameters(self) -> Iterable[nn.Parameter]:
        return self.language_model.get_encoder("image").parameters()

    def _features(self, images: Tensor) -> Tensor:
        """Embeddings `[B, N, W]` of images `[B, 3, side, side]`, float32 in 0-1."""
        pixels = ((images - self.mean) / self.std).to(self.dtype)
        features = self.language_model.get_image_features(pixel_values=pixels)
        features = features.pooler_output
        if isinstance(features, (tuple, list)):  # one tensor per image
            features = torch.stack(tuple(features))
        return features


def load_native(folder: Path, dtype: str) -> NativeBackbone:
    """A backbone of a folder that `save_pretrained` wrote, tokenizer included."""
    network_class = require("transformers").AutoModelForImageTextToText
    network = pretrained(network_class, folder, dtype)
    first = network.config.text_config.bos_token_id
    path = folder / "tokenizer.json"
    tokenizer = SentenceTokenizer.from_file(path, first=first)
    pixels = read_json(folder / "preprocessor_config.json")
    pixels = pixels or read_json(folder / "processor_config.json")
    pixels = pixels.get("image_processor", pixels)
    return NativeBackbone(network, tokenizer, pixels)
