"""A vision-language-action model: a pretrained network with two heads put on."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import torch
from torch import Tensor, nn

from yieldrl.vla.actions import action_layout, bounds
from yieldrl.vla.backbone import Backbone
from yieldrl.vla.bins import ActionBins
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.decoding import (
    AutoregressiveDecoding,
    Decoded,
    Decoding,
    Prompt,
    chosen,
)
from yieldrl.vla.heads import ActionHead, AttentionPool, BinsHead, GaussianHead
from yieldrl.vla.interface import OnePassModule, VLAOutput
from yieldrl.vla.parallel import ParallelDecoding
from yieldrl.vla.statistics import ActionStatistics, proprio_statistics


class VLAModel(OnePassModule):
    """A backbone, an action head and a value head; it follows `OnePassVLA`.

    The value is read off the prompt alone, which sees no action: acting, evaluating
    and `get_value` agree on it. Heads are float32 whatever the backbone is.

    Args:
        backbone: The pretrained network, an `nn.Module`.
        observation_space: Dict of what the model reads, see `VLAModelInterface`.
        action_space: Of one action, or of a chunk.
        config: Says the chunk, the head, the bins and the decoding.
        bins: Which entries of the vocabulary are which numbers; by default
            `config.action_bins` of them count up. Choices have a bin each.
        decoding: How tokens are made, where the config does not say it alone.

    Raises:
        TypeError: If the backbone is no `nn.Module`, or actions are of another kind.
        ValueError: If chunks have another length, or bins do not fit the vocabulary.
    """

    def __init__(
        self,
        backbone: Backbone,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: VLAConfig,
        *,
        bins: ActionBins | None = None,
        decoding: Decoding | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(backbone, nn.Module):
            raise TypeError(f"the backbone is {type(backbone)}: make it an nn.Module")
        self.backbone: Backbone = backbone
        self.layout = layout = action_layout(action_space, config.chunk_length)
        self.chunk_length = layout.length
        self.proprio_statistics = proprio_statistics(observation_space)
        statistics: ActionStatistics | None = None
        if layout.counts is None:
            statistics = ActionStatistics(layout.size)
            statistics.from_bounds(*bounds(action_space, layout))
        self.head: ActionHead
        if config.action_head == "gaussian" and statistics is not None:
            self.head = GaussianHead(
                layout, backbone.width, statistics, config.log_std_init
            )
        else:
            bins = bins or ActionBins(config.action_bins)
            if layout.counts is not None:
                bins = ActionBins(max(layout.counts), descending=bins.descending)
            self.head = BinsHead(layout, bins, backbone.vocab_size, statistics)
        if decoding is None and config.decoding == "autoregressive":
            decoding = AutoregressiveDecoding()
        elif decoding is None:
            decoding = ParallelDecoding(layout.tokens, backbone.width)
        self.decoding = decoding
        self.value_head = AttentionPool(backbone.width)

    @property
    def action_statistics(self) -> ActionStatistics | None:
        """Units of the actions, which the head keeps; None for choices."""
        return self.head.statistics

    def act(
        self,
        observations: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> VLAOutput:
        """Act, at random (drawn from `generator`) or as is most likely."""
        prompt = self._prompt(observations)
        choose = partial(chosen, deterministic=deterministic, generator=generator)
        decoded = self.decoding.act(self.backbone, self.head, prompt, choose)
        return self._output(self.head.action(decoded.tokens), decoded, prompt)

    def evaluate(self, observations: Any, actions: Tensor) -> VLAOutput:
        """What it says of given actions, chunks `[B, L, D]`."""
        prompt, tokens = self._prompt(observations), self.head.tokens(actions)
        decoded = self.decoding.evaluate(self.backbone, self.head, prompt, tokens)
        return self._output(actions, decoded, prompt)

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`, from a pass over the prompt alone."""
        prompt = self._prompt(observations)
        hidden = self.decoding.prompt_hidden(self.backbone, prompt)
        return self.value_head(hidden, prompt.mask).unsqueeze(-1)

    def metrics(self) -> dict[str, Tensor]:
        """A Gaussian head's mean standard deviation, `policy_std`, of half a range."""
        if not isinstance(self.head, GaussianHead):
            return {}
        return {"policy_std": self.head.log_std.exp().mean()}

    def _prompt(self, observations: Any) -> Prompt:
        """Observations as the language model reads them."""
        if self.proprio_statistics is not None:
            proprio = self.proprio_statistics.normalize(observations["proprio"])
            observations = observations.copy()
            observations["proprio"] = proprio
        return Prompt(*self.backbone.embed(observations))

    def _output(self, action: Tensor, decoded: Decoded, prompt: Prompt) -> VLAOutput:
        return VLAOutput(
            action,
            self.layout.inside(decoded.log_prob),
            decoded.entropy.sum(-1),
            self.value_head(decoded.hidden, prompt.mask),
        )
