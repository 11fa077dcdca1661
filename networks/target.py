"""Target networks: slow copies that the online network learns from."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class TargetUpdate:
    """Moves a target network towards the online one: `theta' += tau (theta - theta')`.

    Lillicrap et al. 2016, arXiv:1509.02971, section 3; `tau=1` copies, as Mnih et al.
    2015 do. Buffers, a normalizer's statistics say, are copied.

    Args:
        online: The network that learns.
        target: A copy of it.
        tau: Share of the way that one update moves the target.

    >>> online, target = nn.Linear(1, 1), nn.Linear(1, 1)
    >>> _ = nn.init.ones_(online.weight), nn.init.zeros_(target.weight)
    >>> TargetUpdate(online, target, 0.25)()
    >>> target.weight.item()
    0.25
    """

    def __init__(self, online: nn.Module, target: nn.Module, tau: float) -> None:
        self._online: list[Tensor] = list(online.parameters())
        self._target: list[Tensor] = list(target.parameters())
        self._buffers = list(zip(online.buffers(), target.buffers(), strict=True))
        self.tau = tau

    @torch.no_grad()
    def __call__(self) -> None:
        # One call for all of them takes half of the time.
        torch._foreach_lerp_(self._target, self._online, self.tau)  # pyright: ignore[reportPrivateImportUsage]
        for online, target in self._buffers:
            target.copy_(online)
