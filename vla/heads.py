"""Heads: from hidden states to a distribution over each token, and to a value."""

from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.networks import MLP, Categorical, Distribution, Gaussian
from yieldrl.vla.actions import ActionBins, ActionLayout
from yieldrl.vla.statistics import ActionStatistics


class BinsHead(nn.Module):
    """Tokens of the model's own vocabulary: its last entries are bins of an action.

    Without `statistics` of the actions' units, actions are choices, with a bin each.
    They are drawn from `softmax(logits / temperature)`, and learned by that.
    """

    forbidden: Tensor | None

    def __init__(
        self,
        layout: ActionLayout,
        bins: ActionBins,
        vocab_size: int,
        statistics: ActionStatistics | None = None,
        *,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        if bins.count > vocab_size:
            raise ValueError(
                f"{bins.count} bins do not fit a vocabulary of {vocab_size}: choose"
                " fewer action_bins, or a larger vocabulary"
            )
        self.layout, self.bins, self.vocab_size = layout, bins, vocab_size
        self.statistics, self.temperature = statistics, temperature
        counts = layout.counts or ()
        mask = None
        if any(count < bins.count for count in counts):  # choices with fewer options
            options = torch.tensor(counts * layout.length).unsqueeze(1)
            mask = torch.arange(bins.count) >= options
        self.register_buffer("forbidden", mask, persistent=False)

    def policy(self, backbone: Any, hidden: Tensor, first: int = 0) -> Distribution:
        """The distribution over the bins of `k` tokens, with results `[B, k]`.

        Args:
            backbone: The `Backbone` that computed the hidden states.
            hidden: One for each of `k` tokens, `[B, k, W]`.
            first: Index, within the chunk, of the first of these tokens.
        """
        logits = backbone.logits(hidden)
        logits = self.bins.of_vocabulary(logits, self.vocab_size).float()
        if self.forbidden is not None:
            here = self.forbidden[first : first + hidden.shape[1]]
            logits = logits.masked_fill(here, -torch.inf)
        return Categorical(logits / self.temperature)

    def tokens(self, action: Tensor) -> Tensor:
        """Chunks of actions `[B, L, D]` as bins `[B, K]`, int64."""
        if self.statistics is None:
            return action.long().flatten(1)
        bins = self.bins.encode(self.statistics.normalize(action))
        if self.bins.edges:
            last = self.bins.count - 1
            centre = self._numbers(torch.full_like(bins, last - 1))
            marked = ((action - centre) / self._mark() - 1).abs() < 0.5
            bins = bins.masked_fill(marked, last)
        return bins.flatten(1)

    def action(self, tokens: Tensor) -> Tensor:
        """Bins `[B, K]` as chunks of actions `[B, L, D]`: their centres, or choices.

        With `edges` two bins have one centre. So that `tokens` finds the one that was
        chosen, the last one's number is larger by a few of float32's smallest steps.
        """
        chunks = self.layout.inside(tokens)
        if self.statistics is None:
            return chunks
        numbers = self._numbers(chunks)
        if self.bins.edges:
            numbers = numbers + self._mark() * (chunks == self.bins.count - 1)
        return numbers

    def _numbers(self, bins: Tensor) -> Tensor:
        """The centres of bins `[..., D]` in the environment's units."""
        assert self.statistics is not None
        return self.statistics.denormalize(self.bins.decode(bins))

    def _mark(self) -> Tensor:
        """The offset of the last bin's number, `[D]`: four steps of float32."""
        assert self.statistics is not None
        largest = torch.maximum(self.statistics.low.abs(), self.statistics.high.abs())
        return 4 * torch.finfo(torch.float32).eps * largest

    def embeddings(self, backbone: Any, tokens: Tensor) -> Tensor:
        """Input embeddings `[B, k, W]` of chosen bins `[B, k]`."""
        return backbone.token_embeddings(self.bins.entries(tokens, self.vocab_size))


class GaussianHead(nn.Module):
    """Independent normals around means that are read off the hidden states.

    Tokens, densities and `log_std [D]`, which is learned and the same in every state,
    are in units of half an action's range, so that they compare between robots.
    """

    def __init__(
        self,
        layout: ActionLayout,
        mean: nn.Module,
        statistics: ActionStatistics,
        log_std: float,
    ) -> None:
        super().__init__()
        self.layout, self.mean, self.statistics = layout, mean, statistics
        self.log_std = nn.Parameter(torch.full((layout.size,), log_std))

    def policy(self, backbone: Any, hidden: Tensor) -> Distribution:
        """The distribution of all tokens, by hidden states `[B, K, W]`."""
        return self.around(self.mean(hidden.float()).squeeze(-1))

    def around(self, mean: Tensor) -> Distribution:
        """Normals around means `[B, K]`."""
        return TokenGaussian(mean, self.log_std.repeat(self.layout.length))

    def tokens(self, action: Tensor) -> Tensor:
        return self.statistics.normalize(action).flatten(1)

    def action(self, tokens: Tensor) -> Tensor:
        return self.statistics.denormalize(self.layout.inside(tokens))


class TokenGaussian(Gaussian):
    """A normal for each token, `mean [B, K]`, `log_std [K]`; results are `[B, K]`."""

    def __init__(self, mean: Tensor, log_std: Tensor) -> None:
        super().__init__(mean.unsqueeze(-1), log_std.unsqueeze(-1), mean.shape[1:])

    def entropy(self) -> Tensor:
        # H = log sigma + (1 + log(2 pi)) / 2
        entropy = self.log_std.squeeze(-1) + 0.5 + self._constant
        return entropy.expand(self.mean.shape[:2])


ActionHead = BinsHead | GaussianHead


class AttentionPool(nn.Module):
    """The value of a state, or several of it, from the hidden states of its prompt.

    A learned query `[W]` weighs the positions, `softmax(q . norm(h_i) / sqrt(W))`, and
    an MLP reads their weighted mean. The query is zero at first: a plain mean. Touvron
    et al. 2021, "Augmenting Convolutional Networks with Attention-based Aggregation",
    arXiv:2112.13692, section 3.
    """

    def __init__(self, width: int, outputs: int = 1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.query = nn.Parameter(torch.zeros(width))
        self.mlp = MLP([width, width, outputs], last_gain=1.0)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Values `[B]`, of several `[B, outputs]`, float32, of hidden states
        `[B, S, W]` that are not masked."""
        return self.mlp(self.pooled(hidden, mask)).squeeze(-1)

    def pooled(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """The weighted mean of the normalised hidden states, `[B, W]` float32."""
        # Overwrite padding: a weight of zero is not enough, as 0 * NaN is NaN.
        states = self.norm(hidden.float().masked_fill(~mask.unsqueeze(-1), 0))
        score = states @ self.query * len(self.query) ** -0.5
        weight = score.masked_fill(~mask, -torch.inf).softmax(-1)
        return (weight.unsqueeze(-1) * states).sum(1)
