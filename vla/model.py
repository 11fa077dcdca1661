"""A vision-language-action model: a pretrained network with two new heads."""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box
from torch import Tensor, nn

from yieldrl.vla.actions import action_layout
from yieldrl.vla.bins import ActionBins
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.decoding import (
    AutoregressiveDecoding,
    Choose,
    Decoding,
    Prompt,
    chosen,
)
from yieldrl.vla.heads import ActionHead, AttentionPool, BinsHead, GaussianHead
from yieldrl.vla.interface import Backbone, VLAOutput
from yieldrl.vla.latents import PROMPT, is_latent
from yieldrl.vla.parallel import ParallelDecoding
from yieldrl.vla.parameter_groups import FrozenInEval
from yieldrl.vla.sampling import drawn_from
from yieldrl.vla.statistics import (
    ActionStatistics,
    action_statistics,
    proprio_statistics,
)


class OnePassModule(FrozenInEval, ABC):
    """Base of models that follow `OnePassVLA`, `get_value` aside.

    Attributes:
        action_statistics: Units of the actions; None for choices.
        proprio_statistics: Units of the proprioception; None without any.
    """

    action_statistics: ActionStatistics | None

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: VLAConfig
    ) -> None:
        super().__init__()
        self.layout = action_layout(action_space, config.chunk_length)
        self.chunk_length = self.layout.length
        self.proprio_statistics = proprio_statistics(observation_space)

    @abstractmethod
    def answer(
        self, observations: Any, choose: Choose, actions: Tensor | None = None
    ) -> VLAOutput:
        """Evaluate given actions, or those of tokens that `choose` chooses."""

    def act(
        self,
        observations: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> VLAOutput:
        """Act: sample with `generator`, or take the most likely action."""
        choose = partial(chosen, deterministic=deterministic, generator=generator)
        return self.answer(observations, choose)

    def evaluate(self, observations: Any, actions: Tensor) -> VLAOutput:
        """Evaluate given actions, chunks `[B, L, D]`."""
        return self.answer(observations, chosen, actions)

    def forward(
        self,
        observations: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Act: chunks `[B, L, D]`."""
        return self.act(observations, deterministic, generator).action

    def evaluate_actions(
        self, observations: Any, actions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy of every token, `[B, L, D]`."""
        output = self.evaluate(observations, actions)
        return output.log_prob, output.entropy

    def update_normalization(
        self, proprio: Tensor | None, actions: Tensor | None
    ) -> None:
        """Fit statistics that are not known yet to data `[..., P]` and `[..., D]`."""
        pairs = (self.proprio_statistics, proprio), (self.action_statistics, actions)
        for own, data in pairs:
            if own is not None and data is not None and not own.fitted:
                own.fit(data)


class VLAModel(OnePassModule):
    """A backbone, an action head and a value head; it follows `OnePassVLA`.

    The value is read off the prompt alone, which sees no action: acting, evaluating
    and `get_value` agree on it. Heads are float32 whatever the backbone is.

    Args:
        backbone: The pretrained network, an `nn.Module`.
        observation_space: Dict of what the model reads, see `VLAModelInterface`.
        action_space: Of one action, or of a chunk.
        config: Says the chunk, the head, the bins and the decoding.
        bins: Maps entries of the vocabulary to numbers; by default
            `config.action_bins` of them, ascending. Choices have a bin each.
        decoding: Decoding method, where the config alone does not determine it.

    Raises:
        TypeError: If the backbone is no `nn.Module`, or actions are of another kind.
        ValueError: If chunks have another length, or bins do not fit the vocabulary.
    """

    def __init__(
        self,
        backbone: Backbone,
        observation_space: Space[Any],
        action_space: Space[Any],
        config: VLAConfig,
        *,
        bins: ActionBins | None = None,
        decoding: Decoding | None = None,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        if not isinstance(backbone, nn.Module):
            raise TypeError(f"the backbone is {type(backbone)}: make it an nn.Module")
        self.backbone: Backbone = backbone
        layout, statistics = self.layout, None
        if isinstance(action_space, Box):
            statistics = action_statistics(action_space, layout)
        self.head: ActionHead
        if config.action_head == "gaussian" and statistics is not None:
            known = layout, backbone.width, statistics
            self.head = GaussianHead(*known, config.log_std_init)
        else:
            bins = bins or ActionBins(config.action_bins)
            if layout.counts is not None:
                bins = ActionBins(max(layout.counts), descending=bins.descending)
            sizes = layout, bins, backbone.vocab_size, statistics
            drawn = drawn_from(config.temperature, config.top_k)
            self.head = BinsHead(*sizes, drawn)
        if decoding is None and config.decoding == "autoregressive":
            decoding = AutoregressiveDecoding()
        elif decoding is None:
            decoding = ParallelDecoding(layout.tokens, backbone.width)
        self.decoding = decoding
        values = layout.length if config.value_per == "action" else 1
        self.value_head = AttentionPool(backbone.width, values)

    @property
    def action_statistics(self) -> ActionStatistics | None:
        """Units of the actions, which the head keeps; None for choices."""
        return self.head.statistics

    def answer(
        self, observations: Any, choose: Choose, actions: Tensor | None = None
    ) -> VLAOutput:
        prompt = self._prompt(observations)
        parts = self.backbone, self.head, prompt
        if actions is None:
            decoded = self.decoding.act(*parts, choose)
            actions = self.head.action(decoded.tokens)
        else:
            decoded = self.decoding.evaluate(*parts, self.head.tokens(actions))
        log_prob, entropy = map(self.layout.inside, (decoded.log_prob, decoded.entropy))
        value = self.value_head(decoded.hidden, prompt.mask)
        return VLAOutput(actions, log_prob, entropy, value)

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`, from a pass over the prompt alone."""
        prompt = self._prompt(observations)
        hidden = self.decoding.prompt_hidden(self.backbone, prompt)
        return self.value_head(hidden, prompt.mask).view(len(hidden), -1)[:, :1]

    def metrics(self) -> dict[str, Tensor]:
        """A Gaussian head's mean standard deviation, `policy_std`, of half a range."""
        if not isinstance(self.head, GaussianHead):
            return {}
        return {"policy_std": self.head.log_std.exp().mean()}

    def in_units(self, observations: Any) -> Any:
        """Observations with the proprioception normalised."""
        if self.proprio_statistics is not None:
            proprio = self.proprio_statistics.normalize(observations["proprio"])
            observations = observations.copy()
            observations["proprio"] = proprio
        return observations

    def _prompt(self, observations: Any) -> Prompt:
        if is_latent(observations):
            return Prompt(observations[PROMPT], observations["mask"])
        return Prompt(*self.backbone.embed(self.in_units(observations)))
