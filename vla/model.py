"""Vision-language-action models: a pretrained network with new heads."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box
from torch import Tensor, nn

from yieldrl.networks import Distribution, orthogonal
from yieldrl.vla.actions import ActionBins, action_layout
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.decoding import (
    AutoregressiveDecoding,
    Decoded,
    Decoding,
    ParallelDecoding,
    Prompt,
    Tokens,
)
from yieldrl.vla.heads import ActionHead, AttentionPool, BinsHead, GaussianHead
from yieldrl.vla.interface import VLAOutput
from yieldrl.vla.observations import PROMPT, is_latent
from yieldrl.vla.statistics import (
    ActionStatistics,
    action_statistics,
    proprio_statistics,
)


class OnePassModule(nn.Module, ABC):
    """Base of models that act and evaluate in one pass: see `VLAModelInterface`.

    Attributes:
        head: The action head, from tokens to actions and back.
        proprio_statistics: Units of the proprioception; None without any.
    """

    head: ActionHead

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: VLAConfig
    ) -> None:
        super().__init__()
        self.layout = action_layout(action_space, config.chunk_length)
        self.chunk_length = self.layout.length
        self.proprio_statistics = proprio_statistics(observation_space)

    @abstractmethod
    def decode(self, observations: Any, tokens: Tokens) -> Decoded:
        """Evaluate given tokens, or choose them; at the end with the value, `[B]` or
        `[B, L]`, in place of hidden states."""

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
        """Act: sample with `generator`, or take the most likely action."""

        def choose(policy: Distribution) -> Tensor:
            tokens = policy.mode() if deterministic else policy.sample(generator)
            # Through a normal's mean its gradient would cancel the log_prob's.
            return tokens.detach()

        return self._output(*self.decode(observations, choose))

    def evaluate(self, observations: Any, actions: Tensor) -> VLAOutput:
        """Evaluate given actions, chunks `[B, L, D]`."""
        output = self._output(*self.decode(observations, self.head.tokens(actions)))
        return output._replace(action=actions)

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

    @property
    def normalization_known(self) -> bool:
        """Whether there is nothing left to fit."""
        both = self.proprio_statistics, self.action_statistics
        return all(one.fitted for one in both if one is not None)

    def update_normalization(
        self, proprio: Tensor | None, actions: Tensor | None
    ) -> None:
        """Fit statistics that are not known yet to data `[..., P]` and `[..., D]`."""
        pairs = (self.proprio_statistics, proprio), (self.action_statistics, actions)
        for statistics, data in pairs:
            if statistics is not None and data is not None and not statistics.fitted:
                statistics.fit(data)

    def metrics(self) -> dict[str, Tensor]:
        """A Gaussian head's mean standard deviation, `policy_std`, of half a range."""
        if not isinstance(self.head, GaussianHead):
            return {}
        return {"policy_std": self.head.log_std.detach().exp().mean()}

    def _output(
        self, tokens: Tensor, log_prob: Tensor, entropy: Tensor, value: Tensor
    ) -> VLAOutput:
        inside = self.layout.inside
        action = self.head.action(tokens)
        return VLAOutput(action, inside(log_prob), inside(entropy), value)


class VLAModel(OnePassModule):
    """A backbone, an action head and a value head, in one pass.

    The value is read off the prompt alone, which sees no action: acting, evaluating
    and `get_value` agree on it. Heads are float32 whatever the backbone is.

    Args:
        backbone: The pretrained network, a `Backbone`.
        observation_space: Dict of what the model reads, see `VLAModelInterface`.
        action_space: Of one action, or of a chunk.
        config: Says the chunk, the head, the bins and the decoding.
        bins: Maps entries of the vocabulary to numbers; by default
            `config.action_bins` of them, ascending. Choices have a bin each.
        decoding: Decoding method, where the config alone does not determine it.

    TypeError if actions are of another kind, ValueError if chunks have another length,
    or bins do not fit the vocabulary.
    """

    def __init__(
        self,
        backbone: Any,
        observation_space: Space[Any],
        action_space: Space[Any],
        config: VLAConfig,
        *,
        bins: ActionBins | None = None,
        decoding: Decoding | None = None,
    ) -> None:
        super().__init__(observation_space, action_space, config)
        self.backbone: Any = backbone
        layout, statistics = self.layout, None
        if isinstance(action_space, Box):
            statistics = action_statistics(action_space, layout)
        if config.action_head == "gaussian" and statistics is not None:
            mean = orthogonal(nn.Linear(backbone.width, 1), 0.01)
            self.head = GaussianHead(layout, mean, statistics, config.log_std_init)
        else:
            bins = bins or ActionBins(config.action_bins)
            if layout.counts is not None:
                bins = ActionBins(max(layout.counts), descending=bins.descending)
            parts = layout, bins, backbone.vocab_size, statistics
            self.head = BinsHead(*parts, temperature=config.temperature)
        if decoding is None and config.decoding == "autoregressive":
            decoding = AutoregressiveDecoding()
        elif decoding is None:
            decoding = ParallelDecoding(layout.tokens, backbone.width)
        self.decoding = decoding
        values = layout.length if config.value_per == "action" else 1
        self.value_head = AttentionPool(backbone.width, values)

    def decode(self, observations: Any, tokens: Tokens) -> Decoded:
        prompt = self._prompt(observations)
        parts = self.backbone, self.head, prompt
        tokens, log_prob, entropy, hidden = self.decoding.decode(*parts, tokens)
        return tokens, log_prob, entropy, self.value_head(hidden, prompt.mask)

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`, from a pass over the prompt alone."""
        prompt = self._prompt(observations)
        hidden = self.decoding.prompt_hidden(self.backbone, prompt)
        return self.value_head(hidden, prompt.mask).view(len(hidden), -1)[:, :1]

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
