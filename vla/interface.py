"""What a vision-language-action model can do, for whoever trains one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from yieldrl.vla.parameter_groups import FrozenInEval
from yieldrl.vla.statistics import ActionStatistics, ProprioStatistics


class VLAOutput(NamedTuple):
    """Actions and what a model says of them; all but `action` are float32.

    Attributes:
        action: Chunks `[B, L, D]` of `L` actions of `D` numbers, in the environment's
            units (float32), or of choices (int64).
        log_prob: Logarithm of every token's probability (density), `[B, L, D]`.
        entropy: Sum over the tokens of a chunk, in nats, `[B]`.
        value: Of the state, `[B]`.
    """

    action: Tensor
    log_prob: Tensor
    entropy: Tensor
    value: Tensor


@runtime_checkable
class VLAModelInterface(Protocol):
    """A model from images, numbers and a sentence to actions; an `nn.Module`.

    Observations are a TensorDict of batch size `[B]` with some of these keys:

    | key | what | shape, dtype |
    |---|---|---|
    | `rgb` | an image, or a nested TensorDict of cameras | `[B, H, W, 3]` uint8 |
    | `depth` | distances, or a nested TensorDict of cameras | `[B, H, W, 1]` float32 |
    | `proprio` | what the robot feels of itself | `[B, P]` float32 |
    | `language` | the instruction in UTF-8, zeros after it | `[B, S]` uint8 |

    `language` is always there, and `yieldrl.foundations.text.decode` makes strings of
    it. Actions are in the environment's units; choices are whole numbers from zero.
    They are `[B, D]` where one is decided at a time, and chunks `[B, L, D]` where
    several are.

    For adapters (`lora_rank`) a model says what of it is pretrained: all in its
    attribute `backbone`; or all but what `untrained` names, a tuple of names of modules
    and parameters. For `freeze_vision` the pretrained part, or a model without
    `backbone`, has a method `vision_parameters()`.
    """

    def forward(self, observations: Any) -> Tensor:
        """Act: actions `[B, D]`, or chunks `[B, L, D]`.

        It may take `deterministic=False`, for the most likely action, and
        `generator=None` to draw from. One without `deterministic` acts in evaluation as
        it does in training.
        """
        ...

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`."""
        ...

    def evaluate_actions(
        self, observations: Any, actions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log-probability `[B]`, or of every token `[B, L, D]`, and entropy `[B]`.

        Actions are `[B, D]`, or chunks `[B, L, D]` of more than one.
        """
        ...


@runtime_checkable
class OnePassVLA(VLAModelInterface, Protocol):
    """A model that says in one pass what it does and what it thinks of it."""

    def act(
        self,
        observations: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> VLAOutput:
        """Act, at random (drawn from `generator`) or as is most likely."""
        ...

    def evaluate(self, observations: Any, actions: Tensor) -> VLAOutput:
        """What it says of given actions, chunks `[B, L, D]`."""
        ...


class OnePassModule(FrozenInEval):
    """Base of models that have `act`, `evaluate` and `get_value` of `OnePassVLA`."""

    action_statistics: ActionStatistics | None  # None for choices
    proprio_statistics: ProprioStatistics | None  # None without any
    act: Callable[..., VLAOutput]
    evaluate: Callable[..., VLAOutput]

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
        """Log-probability of every token `[B, L, D]`, and entropy `[B]`."""
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
