"""What `VLAModel` needs of a pretrained network: embeddings, hidden states, logits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from torch import Tensor, nn


class Backbone(Protocol):
    """A vision-language model, cut where action and value heads are put on; a Module.

    Axes: `B` batch, `S` positions of the prompt, `W` width, `V` vocabulary.

    One that can keep keys and values has a method `new_cache()` besides, which returns
    something to keep them in, or None if it cannot for now; its `hidden` then takes
    that as `cache=`, gets the embeddings of new positions alone, `[B, k, W]`, with the
    `mask` of all, and returns the new ones' hidden states. Without it every token of
    autoregressive decoding is a pass over all positions.

    Attributes:
        width: `W`, of embeddings and of hidden states.
        vocab_size: Entries of the vocabulary, the last of which become actions.
            Logits may have more, which pad them to a round number.
    """

    width: int
    vocab_size: int

    def embed(self, observations: Any) -> tuple[Tensor, Tensor]:
        """The prompt: images, proprioception and instruction as `[B, S, W]`.

        Args:
            observations: As in `VLAModelInterface`, `proprio` normalised.

        Returns:
            Embeddings `[B, S, W]`, and `[B, S]` bool, False where an instruction
            shorter than others of the batch is padded, on whichever side.
        """
        ...

    def hidden(
        self, embeddings: Tensor, mask: Tensor, bidirectional_from: int | None
    ) -> Tensor:
        """The language model's last hidden states (normalised), `[B, S, W]`.

        Nobody attends to what `mask` (`[B, S]` bool) hides, and positions count what it
        shows, `mask.cumsum(1) - 1`, so that padding changes nothing. Attention is
        causal; but from position `bidirectional_from` on every position attends to all.
        What comes out at hidden positions is finite.
        """
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits over the vocabulary, `[..., V]`, from hidden states `[..., W]`."""
        ...

    def token_embeddings(self, ids: Tensor) -> Tensor:
        """Embeddings `[..., W]` of entries of the vocabulary, int64 `[...]`."""
        ...

    def vision_parameters(self) -> Iterable[nn.Parameter]:
        """The parameters of the vision encoders (projectors to `W` are none)."""
        ...
