"""Decode all tokens of a chunk in one pass."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from yieldrl.networks import Distribution
from yieldrl.vla.decoding import Choose, Decoded, Decoding, Prompt, last_shown
from yieldrl.vla.heads import ActionHead
from yieldrl.vla.interface import Backbone


class OnePassDecoding(Decoding):
    """All tokens in one pass, independently of each other."""

    @abstractmethod
    def policy(
        self, backbone: Backbone, head: ActionHead, prompt: Prompt
    ) -> tuple[Distribution, Tensor]:
        """A distribution for all tokens, and the prompt's hidden states."""

    def act(
        self, backbone: Backbone, head: ActionHead, prompt: Prompt, choose: Choose
    ) -> Decoded:
        policy, hidden = self.policy(backbone, head, prompt)
        tokens = choose(policy)
        return Decoded(tokens, policy.log_prob(tokens), policy.entropy(), hidden)

    def evaluate(
        self, backbone: Backbone, head: ActionHead, prompt: Prompt, tokens: Tensor
    ) -> Decoded:
        return self.act(backbone, head, prompt, lambda policy: tokens)


class ParallelDecoding(OnePassDecoding):
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
        self, backbone: Backbone, head: ActionHead, prompt: Prompt
    ) -> tuple[Distribution, Tensor]:
        """A distribution for all tokens, and the prompt's hidden states."""
        batch, length = prompt.mask.shape
        placeholders = self.placeholders.expand(batch, -1, -1)
        whole = prompt.followed_by(placeholders)
        hidden = backbone.hidden(*whole, bidirectional_from=length)
        return head.policy(backbone, hidden[:, length:]), hidden[:, :length]


class ZeroDecoding(OnePassDecoding):
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
        self, backbone: Backbone, head: ActionHead, prompt: Prompt
    ) -> tuple[Distribution, Tensor]:
        said, placeholders = self._hidden(backbone, prompt)
        before = torch.cat([last_shown(said, prompt.mask), placeholders[:, :-1]], dim=1)
        return head.policy(backbone, before), said

    def prompt_hidden(self, backbone: Backbone, prompt: Prompt) -> Tensor:
        """Hidden states of the prompt, `[B, S, W]`, which sees the placeholders."""
        return self._hidden(backbone, prompt)[0]

    def _hidden(self, backbone: Backbone, prompt: Prompt) -> tuple[Tensor, Tensor]:
        """Hidden states of prompt `[B, S, W]` and placeholders `[B, K, W]`."""
        batch, length, width = prompt.embeddings.shape
        zeros = prompt.embeddings.new_zeros(batch, self.tokens, width)
        whole = prompt.followed_by(zeros)
        if self.stop is not None:
            stop = torch.full((batch, 1), self.stop, device=prompt.mask.device)
            whole = whole.followed_by(backbone.token_embeddings(stop))
        hidden = backbone.hidden(*whole, bidirectional_from=0)
        return hidden[:, :length], hidden[:, length : length + self.tokens]
