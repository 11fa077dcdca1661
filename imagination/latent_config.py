"""Hyper-parameters of a latent world model."""

from dataclasses import dataclass
from typing import Annotated, Literal

from yieldrl import foundations
from yieldrl.foundations import Coefficient, Count, Range


@dataclass(frozen=True, kw_only=True)
class LatentConfig(foundations.Config):
    """How large `LatentModel` is, and from what it learns."""

    memory_size: Count = 128
    """Numbers that the recurrent core remembers. More remember more, take longer, and
    lie beside every transition in the buffer."""

    groups: Count = 8
    """Choices of which the discrete latent consists. More tell more of what is seen,
    and are harder to foresee."""

    classes: Annotated[int, Range(2, 1_000)] = 8
    """Classes of each choice of the latent."""

    free_nats: Coefficient = 4.0
    """Nats that the latent may tell beyond what was expected, free of charge. Fewer
    make the model more predictable, and blind for what is rare; the paper has 1."""

    sequence_length: Annotated[int, Range(2, 1_000)] = 16
    """Steps of a sequence from the buffer: so far the gradient flows back in time.
    Longer ones teach to remember longer, and take longer."""

    outcome: Literal["symlog", "three_classes"] = "symlog"
    """How reward and end are predicted: `symlog` as a distribution over bins for
    rewards of any size, beside the end; `three_classes` as one question, for rewards of
    1 that end an episode and no others."""
