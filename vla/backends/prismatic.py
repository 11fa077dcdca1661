"""SigLIP and DINOv2, a projector, and Llama: the network of OpenVLA and of `tiny`."""

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from yieldrl.vla.backends.decoder import DecoderBackbone
from yieldrl.vla.backends.vision import FusedVision, gelu_mlp, has_images
from yieldrl.vla.tokenizer import SentenceTokenizer


class PrismaticBackbone(DecoderBackbone):
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
        for encoder in self.vision_backbone.encoders:
            encoder.gradient_checkpointing = True
