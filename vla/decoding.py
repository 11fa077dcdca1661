"""From a prompt to the tokens of a chunk: all at once, or one after the other."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from yieldrl.networks import Distribution
from yieldrl.vla.backbone import Backbone
from yieldrl.vla.heads import ActionHead, BinsHead


class Prompt(NamedTuple):
    """Observations as the language model reads them.

    Attributes:
        embeddings: `[B, S, W]`.
        mask: False at padding, `[B, S]` bool.
    """

    embeddings: Tensor
    mask: Tensor

    def followed_by(self, embeddings: Tensor) -> Prompt:
        """With more positions after it, `[B, k, W]`."""
        shown = self.mask.new_ones(embeddings.shape[:2])
        more = embeddings.to(self.embeddings.dtype)
        return Prompt(
            torch.cat([self.embeddings, more], dim=1),
            torch.cat([self.mask, shown], dim=1),
        )


class Decoded(NamedTuple):
    """Tokens, and what the model says of them.

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
    policy: Distribution, deterministic: bool, generator: torch.Generator | None
) -> Tensor:
    """Tokens of a distribution: the most likely, or at random.

    They carry no gradient: through a normal's mean it would cancel that of the
    log-probability.
    """
    tokens = policy.mode() if deterministic else policy.sample(generator)
    return tokens.detach()


class ParallelDecoding(nn.Module):
    """All tokens in one pass, each at a placeholder position after the prompt.

    Placeholders attend to the prompt and to each other in both directions; the prompt
    does not see them. Tokens are independent of each other, given the observation. Kim
    et al. 2025, "Fine-Tuning Vision-Language-Action Models", arXiv:2502.19645, section
    4. Differs from the paper: placeholders are learned, not zero.

    Args:
        tokens: `K`, tokens of a chunk.
        width: `W`, of embeddings.

    Attributes:
        placeholders: What the network reads at their positions, `[K, W]`.
    """

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.placeholders = nn.Parameter(torch.randn(tokens, width) * width**-0.5)

    def act(
        self,
        backbone: Backbone,
        head: ActionHead,
        prompt: Prompt,
        deterministic: bool,
        generator: torch.Generator | None,
    ) -> Decoded:
        """Choose tokens, at random (drawn from `generator`) or the most likely."""
        policy, hidden = self._policy(backbone, head, prompt)
        tokens = chosen(policy, deterministic, generator)
        return Decoded(tokens, policy.log_prob(tokens), policy.entropy(), hidden)

    def evaluate(
        self, backbone: Backbone, head: ActionHead, prompt: Prompt, tokens: Tensor
    ) -> Decoded:
        """What the model says of tokens `[B, K]`."""
        policy, hidden = self._policy(backbone, head, prompt)
        return Decoded(tokens, policy.log_prob(tokens), policy.entropy(), hidden)

    def _policy(
        self, backbone: Backbone, head: ActionHead, prompt: Prompt
    ) -> tuple[Distribution, Tensor]:
        """A distribution for all tokens, and the prompt's hidden states."""
        batch, length = prompt.mask.shape
        placeholders = self.placeholders.expand(batch, -1, -1)
        whole = prompt.followed_by(placeholders)
        hidden = backbone.hidden(*whole, bidirectional_from=length)
        return head.policy(backbone, hidden[:, length:]), hidden[:, :length]


class AutoregressiveDecoding(nn.Module):
    """One token after the other, each knowing the prompt and the tokens before it.

    Acting takes `K` passes, each over all positions so far (nothing is cached);
    evaluating takes one, which reads the given tokens (teacher forcing). The entropy of
    a token is that of its distribution after the tokens before it.
    """

    def act(
        self,
        backbone: Backbone,
        head: BinsHead,
        prompt: Prompt,
        deterministic: bool,
        generator: torch.Generator | None,
    ) -> Decoded:
        """Choose tokens, at random (drawn from `generator`) or the most likely."""
        hidden = backbone.hidden(*prompt, bidirectional_from=None)
        state = _last(hidden, prompt.mask)
        columns: list[tuple[Tensor, Tensor, Tensor]] = []
        for i in range(head.layout.tokens):
            policy = head.policy(backbone, state, first=i)
            token = chosen(policy, deterministic, generator)
            columns.append((token, policy.log_prob(token), policy.entropy()))
            if i + 1 < head.layout.tokens:
                prompt = prompt.followed_by(head.embeddings(backbone, token))
                state = backbone.hidden(*prompt, bidirectional_from=None)[:, -1:]
        tokens, log_prob, entropy = (
            torch.cat(parts, dim=1) for parts in zip(*columns, strict=True)
        )
        return Decoded(tokens, log_prob, entropy, hidden)

    def evaluate(
        self, backbone: Backbone, head: BinsHead, prompt: Prompt, tokens: Tensor
    ) -> Decoded:
        """What the model says of tokens `[B, K]`, in one pass."""
        length = prompt.mask.shape[1]
        whole = prompt.followed_by(head.embeddings(backbone, tokens[:, :-1]))
        hidden = backbone.hidden(*whole, bidirectional_from=None)
        said = hidden[:, :length]
        before = torch.cat([_last(said, prompt.mask), hidden[:, length:]], dim=1)
        policy = head.policy(backbone, before)
        return Decoded(tokens, policy.log_prob(tokens), policy.entropy(), said)


def _last(hidden: Tensor, mask: Tensor) -> Tensor:
    """The hidden state at the last position of each prompt that is shown, `[B, 1, W]`.

    It says the first token. Padding may lie after it.
    """
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = (positions * mask).argmax(1)
    return hidden[torch.arange(len(hidden), device=mask.device), last].unsqueeze(1)
