"""Forward passes through the decoder of a transformers language model."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.vla.files import require


class DecoderBackbone(nn.Module):
    """Base of backbones around a language model of transformers; see `Backbone`.

    Args:
        language_model: With token embeddings and `lm_head`.
        tokenizer: A `SentenceTokenizer`, whose sentences have a first token.
    """

    def __init__(self, language_model: Any, tokenizer: Any = None) -> None:
        super().__init__()
        self.language_model: Any = language_model
        self.tokenizer = tokenizer

    @property
    def decoder(self) -> Any:
        """The module from embeddings to hidden states."""
        return self.language_model.get_decoder()

    def look(self, observations: Any) -> list[Tensor]:
        """Embeddings `[B, n, W]` of images and proprioception."""
        return []

    def embed(self, observations: Any) -> tuple[Tensor, Tensor]:
        return self.embed_parts(observations)[:2]

    def embed_parts(self, observations: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The first token, what is seen, the sentence; and which of these change: at
        positions of images and proprioception, `[B, S]` bool."""
        ids, mask = self.tokenizer(observations["language"])
        text = self.token_embeddings(ids)
        seen = self.look(observations)
        embeddings = torch.cat([text[:, :1], *seen, text[:, 1:]], dim=1)
        count = embeddings.shape[1] - text.shape[1]
        shown = mask.new_ones(len(mask), count)
        whole = torch.cat([mask[:, :1], shown, mask[:, 1:]], dim=1)
        here = torch.arange(whole.shape[1], device=whole.device)
        changing = (here > 0) & (here <= count)
        return embeddings, whole, changing.expand(whole.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.language_model.get_input_embeddings().weight.dtype

    def hidden(
        self,
        embeddings: Tensor,
        mask: Tensor,
        bidirectional_from: int | None,
        cache: Any = None,
    ) -> Tensor:
        """Hidden states of the embeddings' positions, `[B, k, W]` float32.

        Args:
            embeddings: Of the last `k` of `S` positions; without a cache of all.
            mask: `[B, S]` bool, False where no position attends.
            bidirectional_from: See `visible`.
            cache: Keys and values of the positions before these, which are added.
        """
        new = embeddings.shape[1]
        output = self.decoder(
            inputs_embeds=embeddings.to(self.dtype),
            attention_mask=visible(mask, bidirectional_from, new),
            position_ids=(mask.cumsum(1) - 1).clamp(min=0)[:, -new:],
            cache=cache,
            use_cache=cache is not None,
        )
        return output.last_hidden_state.float()

    def new_cache(self) -> Any:
        """A cache for keys and values; None while layers are recomputed."""
        if self.training and self.language_model.is_activation_checkpointing:
            return None
        return require("transformers").DynamicCache()

    def logits(self, hidden: Tensor) -> Tensor:
        return self.language_model.lm_head(hidden.to(self.dtype)).float()

    def token_embeddings(self, ids: Tensor) -> Tensor:
        return self.language_model.get_input_embeddings()(ids)

    def enable_gradient_checkpointing(self) -> None:
        """Recompute hidden states for gradients, layer by layer, while training."""
        self.language_model.activation_checkpointing_enable()


class Trunk(DecoderBackbone):
    """A copy of another backbone's layers, without embeddings and output head.

    TypeError if that is no `DecoderBackbone`.
    """

    def __init__(self, backbone: Any) -> None:
        if not isinstance(backbone, DecoderBackbone):
            raise TypeError(
                f"the backbone is a {type(backbone).__qualname__}, whose layers cannot"
                " be copied: take a tiny model, or one of OpenVLA's"
            )
        super().__init__(copy.deepcopy(backbone.decoder))
        self.language_model.get_input_embeddings().requires_grad_(False)  # never used

    def sync(self, backbone: Any) -> None:
        """Copy the other backbone's current weights."""
        self.language_model.load_state_dict(backbone.decoder.state_dict())


def visible(
    mask: Tensor, bidirectional_from: int | None, count: int | None = None
) -> Tensor:
    """Which tokens attend to which, bool `[B, 1, count, S]`, of the last `count`.

    Every position attends to itself, also a hidden one, whose softmax would otherwise
    be over nothing; and to what `mask` shows before it. From `bidirectional_from` on it
    attends to all that `mask` shows. By default it is of all positions.

    >>> visible(torch.tensor([[True, False, True]]), None).int().tolist()
    [[[[1, 0, 0], [1, 1, 0], [1, 0, 1]]]]
    """
    keys = torch.arange(mask.shape[1], device=mask.device)
    queries = keys[-(count or len(keys)) :].unsqueeze(1)
    earlier = keys <= queries
    if bidirectional_from is not None:
        earlier = earlier | (queries >= bidirectional_from)
    return (earlier & mask[:, None, None, :]) | (keys == queries)
