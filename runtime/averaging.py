"""Average gradients and metrics over processes."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from yieldrl.foundations.ranks import ranks

Gradients = Sequence[Tensor | None]


def averaged(
    gradients: Gradients, logs: Mapping[str, Any], samples: int
) -> tuple[list[Tensor | None], dict[str, Tensor]]:
    """Means over all processes, weighted by their samples, in one exchange.

    Of losses that are means over a batch, that are the gradients and the metrics of all
    processes' batches taken together.

    Args:
        gradients: In an order that is the same everywhere; None where there is none.
        logs: Metrics, 0-dim tensors or numbers, the same ones everywhere.
        samples: How many this process has.
    """
    known = [gradient for gradient in gradients if gradient is not None]
    device = known[0].device
    metrics = [torch.as_tensor(x, device=device) for x in logs.values()]
    own = [*known, *metrics]
    flat = torch.cat([x.detach().reshape(-1).float() for x in own])
    weighed = torch.cat([flat * samples, flat.new_full((1,), float(samples))])
    total = ranks().all_reduce_sum(weighed)
    sizes = [x.numel() for x in own]
    found = [
        mean.view(x.shape).to(x.dtype)
        for x, mean in zip(own, (total[:-1] / total[-1]).split(sizes), strict=True)
    ]
    of_all = iter(found[: len(known)])
    means = [None if gradient is None else next(of_all) for gradient in gradients]
    return means, dict(zip(logs, found[len(known) :], strict=True))
