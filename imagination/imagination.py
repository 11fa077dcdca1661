"""Imagined segments: made here or on Ray, stored, and checked for exploitation."""

from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDict
from torch import Generator, Tensor

from yieldrl.buffers import ImaginationBuffer
from yieldrl.imagination.diagnostics import ExploitationWatch

Segments = list[TensorDict]


class Imagination:
    """Imagines segments `[H, B]` with an algorithm, and keeps the latest.

    Schedules decide when the world model learns, and how segments are learned from:
    `ReplayedImagination` beside a replay buffer, `ImaginesToo` beside rollouts.

    Args:
        algorithm: Has `imagine(starts, horizon, generator, model_version)`, which
            returns a segment that begins in real transitions `[B]`.
        alike: Gives segments that were imagined separately the same entries and sizes.

    Attributes:
        branches: The latest segments; None until something is imagined.
        elsewhere: Imagines in place of the algorithm, such as an `ImaginationPool`
            on Ray: it returns segments `[H, b]`, or None if none has arrived yet.
        watch: Compares imagined with real returns.
    """

    branches: ImaginationBuffer | None = None
    elsewhere: Any = None

    def __init__(
        self, algorithm: Any, alike: Callable[[Segments], Segments] = list
    ) -> None:
        self.algorithm, self.alike = algorithm, alike
        self.watch = ExploitationWatch()
        self._shapes: list[torch.Size] = []  # shapes that fit `branches`

    def imagine(
        self, starts: TensorDict, horizon: int, generator: Generator, version: int
    ) -> TensorDict | None:
        """A segment `[H, B]` by the model of this version, kept in `branches` too.

        Args:
            starts: Real transitions `[B]`.
            horizon: `H`.
            generator: What actions and predictions are drawn from.
            version: How often the model has learned.
        """
        asked = starts, horizon, generator, version
        if self.elsewhere is None:
            return self.kept(self.algorithm.imagine(*asked))
        if (parts := self.elsewhere(*asked)) is None:
            return None
        alike: Any = self.alike(parts) if len(parts) > 1 else parts
        whole: Any = torch.cat(alike, 1)
        return self.kept(whole)

    def kept(self, segment: TensorDict) -> TensorDict:
        """Put a segment into `branches`, and return it."""
        shapes = [leaf.shape for leaf in segment.values(True, True)]
        if self.branches is None or shapes != self._shapes:
            self.branches, self._shapes = ImaginationBuffer.of(segment), shapes
        self.branches.add(segment)
        return segment

    def exploits(self, imagined: Tensor, real: Tensor) -> float:
        """1 if the returns of a policy show that it exploits the model, else 0."""
        return float(self.watch.look(float(imagined), float(real)))
