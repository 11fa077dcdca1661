"""A small causal transformer, structured like Karpathy's nanoGPT."""

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from yieldrl.vla.backends.decoder import visible


class Cache:
    """Keys and values of a layer, so that only new tokens need a pass.

    Args:
        length: `T`, the number of tokens in the end.
    """

    def __init__(self, length: int) -> None:
        self.length, self.filled = length, 0
        self.kept: Tensor | None = None  # [2, B, H, T, D]

    def extended(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values so far, `[B, H, T', D]`, with the new ones appended."""
        if self.kept is None:
            batch, heads, _, size = keys.shape
            self.kept = keys.new_empty(2, batch, heads, self.length, size)
        begin, self.filled = self.filled, self.filled + keys.shape[2]
        self.kept[0, :, :, begin : self.filled] = keys
        self.kept[1, :, :, begin : self.filled] = values
        keys, values = self.kept[:, :, :, : self.filled]
        return keys, values


class Block(nn.Module):
    """Attention, then two linear layers: each reads its input normalised, and adds."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attend = nn.Linear(d_model, 3 * d_model)
        self.attended = nn.Linear(d_model, d_model)
        self.widen = nn.Linear(d_model, 4 * d_model)
        self.narrow = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor, mask: Tensor, cache: Cache | None) -> Tensor:
        """`x [B, K, W]`; `mask` bool `[B, 1, K, T]` is the attention mask."""
        x = x + self.attention(self.norm_1(x), mask, cache)
        return x + self.narrow(gelu(self.widen(self.norm_2(x))))

    def attention(self, x: Tensor, mask: Tensor, cache: Cache | None) -> Tensor:
        """Causal attention of several heads, `[B, K, W]`."""
        batch, count, width = x.shape
        heads = self.attend(x).view(batch, count, 3, self.num_heads, -1)
        queries, keys, values = heads.permute(2, 0, 3, 1, 4)  # [B, H, K, D] each
        if cache is not None:
            keys, values = cache.extended(keys, values)
        x = scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
        return self.attended(x.transpose(1, 2).reshape(batch, count, width))


class Transformer(nn.Module):
    """A decoder with learned positions and normalisation before each part.

    Vaswani et al. 2017, arXiv:1706.03762; layers and first weights as in GPT-2 (Radford
    et al. 2019), without dropout. The defaults have 0.8 million parameters.

    Args:
        vocab_size: `V`.
        max_length: Most tokens of a prompt and its answer together.
        d_model: Width `W` of hidden states.
        num_layers: Layers, of about `12 * W ** 2` parameters each.
        num_heads: Heads of each layer, which share its width: a divisor of it.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        *,
        d_model: int = 128,
        num_layers: int = 4,
        num_heads: int = 4,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.places = nn.Embedding(max_length, d_model)
        blocks = [Block(d_model, num_heads) for _ in range(num_layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.apply(_initialise)
        for block in blocks:  # scaled, as residuals add up over layers
            for layer in (block.attended, block.narrow):
                nn.init.normal_(layer.weight, std=0.02 * (2 * num_layers) ** -0.5)

    def forward(
        self,
        tokens: Tensor,
        shown: Tensor,
        cache: list[Cache] | None = None,
        last: int | None = None,
    ) -> Tensor:
        """Logits of the token after each token, float32 `[B, K, V]`.

        Padding on the left changes nothing: no token attends to it, and positions do
        not count it.

        Args:
            tokens: `[B, K]`; with a cache, the new ones alone.
            shown: Mask of all tokens so far, bool `[B, T]`, False at padding.
            cache: A result of `new_cache`; the new tokens are added to it.
            last: Return logits of the last tokens only, `[B, last, V]`.
        """
        count = tokens.shape[1]
        places = (shown.cumsum(1) - 1).clamp(min=0)[:, -count:]
        x = self.tokens(tokens) + self.places(places)  # [B, K, W]
        mask = visible(shown, None, count)
        for i, block in enumerate(self.blocks):
            x = block(x, mask, None if cache is None else cache[i])
        x = x if last is None else x[:, -last:]
        return self.head(self.norm(x)).float()

    def replace_head(self, outputs: int) -> nn.Linear:
        """Replace the token logits by a new head with this number of outputs."""
        like = self.head.weight
        self.head = nn.Linear(like.shape[1], outputs, bias=False).to(like)
        return self.head

    def new_cache(self, length: int) -> list[Cache]:
        """A cache for every layer, of the keys and values of `length` tokens."""
        return [Cache(length) for _ in self.blocks]


def _initialise(module: Any) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
