"""Losses as modules, and clipping of gradients."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from yieldrl.foundations import ranks

Compute = Callable[[], tuple[Tensor, dict[str, Any]]]
"""Computes a loss, 0-dim, and metrics to log."""


class LossModule(nn.Module):
    """A module whose forward pass is a loss.

    Engines hook into a module's forward pass, but losses call methods of a model.

    Args:
        parameters: The parameters that it has itself.
    """

    def __init__(self, parameters: Iterable[nn.Parameter] = ()) -> None:
        super().__init__()
        for number, parameter in enumerate(parameters):
            self.register_parameter(f"parameter_{number}", parameter)

    def forward(self, compute: Compute) -> tuple[Tensor, dict[str, Any]]:
        return compute()


def clip(gradients: Sequence[Tensor], max_grad_norm: float) -> Tensor:
    """Scale gradients down to a total norm; returns the norm before, 0-dim.

    Sharded ones, `DTensor`s, count as a whole.
    """
    shares = [g.to_local() for g in gradients if isinstance(g, DTensor)]
    rest = [g for g in gradients if not isinstance(g, DTensor)]
    norm = nn.utils.get_total_norm(rest)
    if shares:
        square = nn.utils.get_total_norm(shares).square()
        norm = (norm.to(square.device).square() + ranks().all_reduce_sum(square)).sqrt()
    if max_grad_norm < float("inf"):
        factor = (max_grad_norm / (norm + 1e-6)).clamp(max=1)
        for gradient in (*shares, *rest):
            gradient.mul_(factor)
    return norm
