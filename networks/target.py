"""Target networks: slow copies that the online network learns from."""

import torch
from torch import Tensor, nn


@torch.no_grad()
def update_target(online: nn.Module, target: nn.Module, tau: float) -> None:
    """Move a target network towards the online one: `theta' += tau (theta - theta')`.

    Lillicrap et al. 2016, arXiv:1509.02971, section 3; `tau=1` copies, as Mnih et al.
    2015 do. Buffers are copied. You may replace layers, in both networks: RuntimeError
    if the two have different structures.

    >>> online, target = nn.Linear(1, 1), nn.Linear(1, 1)
    >>> _ = nn.init.ones_(online.weight), nn.init.zeros_(target.weight)
    >>> update_target(online, target, 0.25)
    >>> target.weight.item()
    0.25
    """
    learned, newest = _tensors(online)
    followed, copied = _tensors(target)
    if [x.shape for x in learned + newest] != [x.shape for x in followed + copied]:
        raise RuntimeError(
            "the network that learns was given other parts than its target has: change"
            " both, or copy it anew, target = copy.deepcopy(online)"
        )
    # One call for all tensors takes half the time.
    torch._foreach_lerp_(followed, learned, tau)  # pyright: ignore[reportPrivateImportUsage]
    for buffer, new in zip(copied, newest, strict=True):
        buffer.copy_(new)


def _tensors(network: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """All parameters and all buffers of a network, found in one traversal."""
    parts = list(network.modules())
    parameters = [p for part in parts for p in part._parameters.values()]
    buffers = [b for part in parts for b in part._buffers.values()]
    there: list[Tensor] = [p for p in parameters if p is not None]
    return there, [b for b in buffers if b is not None]
