"""Target networks: slow copies that the online network learns from."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class TargetUpdate:
    """Moves a target network towards the online one: `theta' += tau (theta - theta')`.

    Lillicrap et al. 2016, arXiv:1509.02971, section 3; `tau=1` copies, as Mnih et al.
    2015 do. Buffers, a normalizer's statistics say, are copied.

    What the networks are made of is looked up at every update, so a layer that was
    replaced since, in both, takes part.

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
        self.online, self.target, self.tau = online, target, tau

    @torch.no_grad()
    def __call__(self) -> None:
        """Move the target once.

        Raises:
            RuntimeError: If the two are not made of the same.
        """
        online, newest = _tensors(self.online)
        target, copied = _tensors(self.target)
        _check_alike(online + newest, target + copied)
        # One call for all of them takes half of the time.
        torch._foreach_lerp_(target, online, self.tau)  # pyright: ignore[reportPrivateImportUsage]
        for buffer, new in zip(copied, newest, strict=True):
            buffer.copy_(new)


def _tensors(network: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """All parameters and all buffers, found on one way through a network."""
    parts = list(network.modules())
    parameters = [p for part in parts for p in part._parameters.values()]
    buffers = [b for part in parts for b in part._buffers.values()]
    return _there(parameters), _there(buffers)


def _there(tensors: Sequence[Tensor | None]) -> list[Tensor]:
    return [tensor for tensor in tensors if tensor is not None]


def _check_alike(online: list[Tensor], target: list[Tensor]) -> None:
    if [x.shape for x in online] != [x.shape for x in target]:
        raise RuntimeError(
            "the network that learns was given other parts than its target has: change"
            " both, or copy it anew, target = copy.deepcopy(online)"
        )
