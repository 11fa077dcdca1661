"""Decode the tokens of a chunk from a prompt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from yieldrl.networks import Distribution
from yieldrl.vla.heads import ActionHead
from yieldrl.vla.interface import Backbone

Choose = Callable[[Distribution], Tensor]
"""A function that chooses tokens `[B, k]` from their distribution."""


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


class Decoded(NamedTuple):
    """Tokens with their log-probabilities and entropies.

    Attributes:
        tokens: `[B, K]`.
        log_prob: Of each, `[B, K]` float32.
        entropy: Of each one's distribution, `[B, K]` float32.
        hidden: Hidden states of the prompt, `[B, S, W]`.
    """

    tokens: Tensor
    log_prob: Tensor
    entropy: Tensor
    hidden: Tensor


def chosen(
    policy: Distribution,
    deterministic: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Tokens of a distribution: the most likely, or at random.

    They carry no gradient: through a normal's mean it would cancel that of the
    log-probability.
    """
    tokens = policy.mode() if deterministic else policy.sample(generator)
    return tokens.detach()


class Decoding(nn.Module, ABC):
    """A method to decode tokens from a prompt."""

    @abstractmethod
    def act(
        self, backbone: Backbone, head: ActionHead, prompt: Prompt, choose: Choose
    ) -> Decoded:
        """Choose tokens."""

    @abstractmethod
    def evaluate(
        self, backbone: Backbone, head: ActionHead, prompt: Prompt, tokens: Tensor
    ) -> Decoded:
        """Log-probabilities and entropies of tokens `[B, K]`."""

    def prompt_hidden(self, backbone: Backbone, prompt: Prompt) -> Tensor:
        """Hidden states of the prompt, `[B, S, W]`, equal to those of `act`."""
        return backbone.hidden(*prompt, bidirectional_from=None)


class AutoregressiveDecoding(Decoding):
    """One token after the other, each given the prompt and the tokens before it.

    Acting takes `K` passes, of which all but the first are over one position where the
    backbone keeps keys and values (`new_cache`), else over all so far; evaluating takes
    one, which reads the given tokens (teacher forcing). The entropy of a token is that
    of its distribution after the tokens before it.
    """

    def act(
        self, backbone: Backbone, head: Any, prompt: Prompt, choose: Choose
    ) -> Decoded:
        step = _stepwise(backbone)
        hidden = step(prompt, prompt.mask.shape[1])
        state = last_shown(hidden, prompt.mask)
        columns: list[tuple[Tensor, Tensor, Tensor]] = []
        for i in range(head.layout.tokens):
            policy = head.policy(backbone, state, first=i)
            token = choose(policy)
            columns.append((token, policy.log_prob(token), policy.entropy()))
            if i + 1 < head.layout.tokens:
                prompt = prompt.followed_by(head.embeddings(backbone, token))
                state = step(prompt, 1)
        tokens, log_prob, entropy = (
            torch.cat(parts, dim=1) for parts in zip(*columns, strict=True)
        )
        return Decoded(tokens, log_prob, entropy, hidden)

    def evaluate(
        self, backbone: Backbone, head: Any, prompt: Prompt, tokens: Tensor
    ) -> Decoded:
        length = prompt.mask.shape[1]
        whole = prompt.followed_by(head.embeddings(backbone, tokens[:, :-1]))
        hidden = backbone.hidden(*whole, bidirectional_from=None)
        said = hidden[:, :length]
        before = torch.cat([last_shown(said, prompt.mask), hidden[:, length:]], dim=1)
        policy = head.policy(backbone, before)
        return Decoded(tokens, policy.log_prob(tokens), policy.entropy(), said)


def _stepwise(backbone: Any) -> Callable[[Prompt, int], Tensor]:
    """A function that returns hidden states of the new positions, `[B, new, W]`.

    Each call has the positions of the one before, and new ones behind them.
    """
    make = getattr(backbone, "new_cache", None)
    cache = None if make is None else make()

    def step(prompt: Prompt, new: int) -> Tensor:
        if cache is None:
            return backbone.hidden(*prompt, bidirectional_from=None)[:, -new:]
        embeddings = prompt.embeddings[:, -new:]
        return backbone.hidden(
            embeddings, prompt.mask, bidirectional_from=None, cache=cache
        )

    return step


def last_shown(hidden: Tensor, mask: Tensor) -> Tensor:
    """The hidden state `[B, 1, W]` that predicts the first token, at each prompt's last
    position without padding."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = (positions * mask).argmax(1)
    return hidden[torch.arange(len(hidden), device=mask.device), last].unsqueeze(1)
