"""Decode the tokens of a chunk from a prompt: one after the other, or in one pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from yieldrl.networks import Distribution
from yieldrl.vla.heads import ActionHead

Choose = Callable[[Distribution], Tensor]
"""A function that chooses tokens `[B, k]` from their distribution."""

Tokens = Tensor | Choose
"""Tokens `[B, K]` that are given, to be evaluated, or how to choose them, to act."""


class Prompt(NamedTuple):
    """Observations as the language model reads them.

    Attributes:
        embeddings: `[B, S, W]`.
        mask: False at padding, `[B, S]` bool.
    """

    embeddings: Tensor
    mask: Tensor

    def followed_by(self, embeddings: Tensor) -> Prompt:
        """The prompt with more positions `[B, k, W]` after it."""
        shown = self.mask.new_ones(embeddings.shape[:2])
        more = embeddings.to(self.embeddings.dtype)
        return Prompt(
            torch.cat([self.embeddings, more], dim=1),
            torch.cat([self.mask, shown], dim=1),
        )


Decoded = tuple[Tensor, Tensor, Tensor, Tensor]
"""Tokens, their log-probabilities and the entropies of their distributions, `[B, K]`
each; and hidden states of the prompt, `[B, S, W]`."""


class Decoding(nn.Module):
    """Decodes the tokens of a chunk by a backbone and an action head.

    Unless a subclass decodes otherwise, all of them come in one pass, by one `policy`,
    independently of each other.
    """

    def policy(
        self, backbone: Any, head: ActionHead, prompt: Prompt
    ) -> tuple[Distribution, Tensor]:
        """A distribution for all tokens, and the prompt's hidden states."""
        raise NotImplementedError

    def decode(
        self, backbone: Any, head: ActionHead, prompt: Prompt, tokens: Tokens
    ) -> Decoded:
        """Evaluate given tokens, or choose them."""
        policy, hidden = self.policy(backbone, head, prompt)
        if not isinstance(tokens, Tensor):
            tokens = tokens(policy)
        return tokens, policy.log_prob(tokens), policy.entropy(), hidden

    def prompt_hidden(self, backbone: Any, prompt: Prompt) -> Tensor:
        """Hidden states of the prompt, `[B, S, W]`, equal to those of decoding."""
        return backbone.hidden(*prompt, bidirectional_from=None)


class AutoregressiveDecoding(Decoding):
    """One token after the other, each given the prompt and the tokens before it.

    Acting takes `K` passes, of which all but the first are over one position where the
    backbone keeps keys and values (`new_cache`), else over all so far; evaluating takes
    one, which reads the given tokens (teacher forcing). The entropy of a token is that
    of its distribution after the tokens before it.
    """

    def decode(
        self, backbone: Any, head: Any, prompt: Prompt, tokens: Tokens
    ) -> Decoded:
        if not isinstance(tokens, Tensor):
            return self._act(backbone, head, prompt, choose=tokens)
        length = prompt.mask.shape[1]
        whole = prompt.followed_by(head.embeddings(backbone, tokens[:, :-1]))
        hidden = backbone.hidden(*whole, bidirectional_from=None)
        states = hidden[:, :length]
        before = torch.cat([last_shown(states, prompt.mask), hidden[:, length:]], dim=1)
        policy = head.policy(backbone, before)
        return tokens, policy.log_prob(tokens), policy.entropy(), states

    def _act(self, backbone: Any, head: Any, prompt: Prompt, choose: Choose) -> Decoded:
        cache = backbone.new_cache() if hasattr(backbone, "new_cache") else None
        options: dict[str, Any] = {} if cache is None else {"cache": cache}
        options["bidirectional_from"] = None
        hidden = backbone.hidden(*prompt, **options)
        state = last_shown(hidden, prompt.mask)
        columns: list[tuple[Tensor, Tensor, Tensor]] = []
        for i in range(head.layout.tokens):
            if i > 0:
                prompt = prompt.followed_by(head.embeddings(backbone, columns[-1][0]))
                new = prompt.embeddings if cache is None else prompt.embeddings[:, -1:]
                state = backbone.hidden(new, prompt.mask, **options)[:, -1:]
            policy = head.policy(backbone, state, first=i)
            token = choose(policy)
            columns.append((token, policy.log_prob(token), policy.entropy()))
        tokens, log_prob, entropy = (
            torch.cat(parts, dim=1) for parts in zip(*columns, strict=True)
        )
        return tokens, log_prob, entropy, hidden


class ParallelDecoding(Decoding):
    """All tokens in one pass, each at a placeholder position after the prompt.

    Placeholders attend to the prompt and to each other in both directions; the prompt
    does not see them. Tokens are independent of each other, given the observation. Kim
    et al. 2025, "Fine-Tuning Vision-Language-Action Models", arXiv:2502.19645, section
    4. Differs from the paper: placeholders are learned, not zero.

    Attributes:
        placeholders: The input embeddings at their positions, `[K, W]`.
    """

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.placeholders = nn.Parameter(torch.randn(tokens, width) * width**-0.5)

    def policy(
        self, backbone: Any, head: ActionHead, prompt: Prompt
    ) -> tuple[Distribution, Tensor]:
        """A distribution for all tokens, and the prompt's hidden states."""
        batch, length = prompt.mask.shape
        placeholders = self.placeholders.expand(batch, -1, -1)
        whole = prompt.followed_by(placeholders)
        hidden = backbone.hidden(*whole, bidirectional_from=length)
        return head.policy(backbone, hidden[:, length:]), hidden[:, :length]


class ZeroDecoding(Decoding):
    """All tokens in one pass, as the checkpoints of OpenVLA-OFT were trained to.

    Kim et al. 2025, arXiv:2502.19645, section 4, and its code: placeholders are zero,
    and a stop token comes after them; all positions attend to all; each token is
    predicted at the position before its own, as in language models. Nothing is learned.

    Args:
        tokens: `K`, tokens of a chunk.
        stop: The stop token; None if the vocabulary has none.
    """

    def __init__(self, tokens: int, stop: int | None) -> None:
        super().__init__()
        self.tokens, self.stop = tokens, stop

    def policy(
        self, backbone: Any, head: ActionHead, prompt: Prompt
    ) -> tuple[Distribution, Tensor]:
        hidden, length = self._hidden(backbone, prompt), prompt.mask.shape[1]
        states = hidden[:, :length]
        placeholders = hidden[:, length : length + self.tokens - 1]
        before = torch.cat([last_shown(states, prompt.mask), placeholders], dim=1)
        return head.policy(backbone, before), states

    def prompt_hidden(self, backbone: Any, prompt: Prompt) -> Tensor:
        """Hidden states of the prompt, `[B, S, W]`, which sees the placeholders."""
        return self._hidden(backbone, prompt)[:, : prompt.mask.shape[1]]

    def _hidden(self, backbone: Any, prompt: Prompt) -> Tensor:
        """Hidden states of the prompt, the placeholders and the stop token."""
        batch, _, width = prompt.embeddings.shape
        zeros = prompt.embeddings.new_zeros(batch, self.tokens, width)
        whole = prompt.followed_by(zeros)
        if self.stop is not None:
            stop = torch.full((batch, 1), self.stop, device=prompt.mask.device)
            whole = whole.followed_by(backbone.token_embeddings(stop))
        return backbone.hidden(*whole, bidirectional_from=0)


def last_shown(hidden: Tensor, mask: Tensor) -> Tensor:
    """The hidden state `[B, 1, W]` that predicts the first token, at each prompt's last
    position without padding."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = (positions * mask).argmax(1)
    return hidden[torch.arange(len(hidden), device=mask.device), last].unsqueeze(1)
