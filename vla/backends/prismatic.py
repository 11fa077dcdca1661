"""SigLIP and DINOv2, a projector, and Llama: the network of OpenVLA and of `tiny`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from yieldrl.vla.backends.cameras import has_images
from yieldrl.vla.backends.decoder import (
    key_value_cache,
    last_hidden,
    recompute_layers,
)
from yieldrl.vla.backends.vision import FusedVision
from yieldrl.vla.tokenizer import SentenceTokenizer


class PrismaticBackbone(nn.Module):
    """A language model that reads patches of images as if they were words.

    The prompt is: the first token, the patches of all cameras, proprioception as one
    token, the sentence. Kim et al. 2024, "OpenVLA", arXiv:2406.09246, section 3.1;
    proprioception as in Kim et al. 2025, "OpenVLA-OFT", arXiv:2502.19645.

    Args:
        vision: Encoders of the images.
        language_model: A causal language model of transformers.
        tokenizer: Whose sentences have a first token of their own.
        vocab_size: Entries of the vocabulary, the last of which become actions.
        proprio_size: Numbers of proprioception; 0 if there is none.

    Attributes:
        untrained: Submodules that no checkpoint holds weights for; they are trained
            even where adapters train in place of the rest.
    """

    untrained = ("proprio_projector",)

    def __init__(
        self,
        vision: FusedVision,
        language_model: Any,  # transformers builds its classes when it runs
        tokenizer: SentenceTokenizer,
        *,
        vocab_size: int,
        proprio_size: int = 0,
    ) -> None:
        super().__init__()
        self.recomputes = False
        self.width = int(language_model.config.hidden_size)
        self.vocab_size, self.tokenizer = vocab_size, tokenizer
        self.vision_backbone = vision
        self.projector = Projector(
            vision.width, self.width, fused=vision.fused_featurizer is not None
        )
        self.language_model: Any = language_model
        self.proprio_projector: ProprioProjector | None = None
        if proprio_size:
            self.add_proprio(proprio_size)

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights and of the embeddings."""
        return self._embedding.weight.dtype

    def add_proprio(self, size: int) -> None:
        """Read proprioception of `size` numbers from now on, with new weights."""
        self.proprio_projector = ProprioProjector(size, self.width)

    def embed(self, observations: Any) -> tuple[Tensor, Tensor]:
        """The prompt as `[B, S, W]`, and where it is no padding, `[B, S]` bool."""
        ids, mask = self.tokenizer(observations["language"])
        text = self.token_embeddings(ids)
        parts = [text[:, :1]]
        if has_images(observations):
            parts.append(self.projector(self.vision_backbone(observations)))
        if self.proprio_projector is not None:
            parts.append(self.proprio_projector(observations["proprio"].to(self.dtype)))
        seen = sum(part.shape[1] for part in parts)
        embeddings = torch.cat([*parts, text[:, 1:]], dim=1)
        shown = mask.new_ones(len(mask), seen)
        return embeddings, torch.cat([shown, mask[:, 1:]], dim=1)

    def hidden(
        self,
        embeddings: Tensor,
        mask: Tensor,
        bidirectional_from: int | None,
        cache: Any = None,
    ) -> Tensor:
        """Hidden states `[B, S, W]`, float32: see `Backbone`."""
        network, embeddings = self.language_model.model, embeddings.to(self.dtype)
        return last_hidden(network, embeddings, mask, bidirectional_from, cache)

    def new_cache(self) -> Any:
        """Something to keep keys and values in; None while layers are recomputed."""
        return None if self.training and self.recomputes else key_value_cache()

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits `[..., V]`, float32, of hidden states `[..., W]`."""
        head: Any = self.language_model.lm_head
        return head(hidden.to(self.dtype)).float()

    def token_embeddings(self, ids: Tensor) -> Tensor:
        """Embeddings `[..., W]` of tokens `[...]`."""
        return self._embedding(ids)

    def vision_parameters(self) -> Iterable[nn.Parameter]:
        """The parameters of the vision encoders."""
        return self.vision_backbone.parameters()

    def enable_gradient_checkpointing(self) -> None:
        """Compute hidden states anew for gradients, layer by layer, while training."""
        recompute_layers(self.language_model)
        self.recomputes = True
        self.vision_backbone.featurizer.gradient_checkpointing = True
        if self.vision_backbone.fused_featurizer is not None:
            self.vision_backbone.fused_featurizer.gradient_checkpointing = True

    @property
    def _embedding(self) -> nn.Embedding:
        return self.language_model.model.embed_tokens


class Projector(nn.Module):
    """From features of patches to embeddings; of fused features with a layer more."""

    def __init__(self, vision_width: int, width: int, *, fused: bool) -> None:
        super().__init__()
        inner = 4 * vision_width if fused else width
        self.fc1 = nn.Linear(vision_width, inner)
        self.fc2 = nn.Linear(inner, width)
        self.fc3 = nn.Linear(width, width) if fused else None

    def forward(self, features: Tensor) -> Tensor:
        """`[B, N, vision_width]` to `[B, N, width]`."""
        hidden = self.fc2(functional.gelu(self.fc1(features)))
        return hidden if self.fc3 is None else self.fc3(functional.gelu(hidden))


class ProprioProjector(nn.Module):
    """From proprioception `[B, P]` to one embedding `[B, 1, width]`."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(size, width), nn.Linear(width, width)

    def forward(self, proprio: Tensor) -> Tensor:
        """Of normalised proprioception."""
        return self.fc2(functional.gelu(self.fc1(proprio))).unsqueeze(1)
