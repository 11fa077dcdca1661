"""Episodes as rows of minibatches, in one process or several that learn together."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms.rollouts import CHUNK
from yieldrl.algorithms.tokens import in_rows, steps_of
from yieldrl.buffers.minibatches import joined, pad_steps
from yieldrl.core import mean_of_all, ranks


def pad_across_ranks(rows: TensorDict, spare: TensorDict) -> TensorDict:
    """Pad episodes `[E, T]` to the same shape in all processes that learn together.

    So all processes take the same number of gradient steps, with equal weights. Padding
    is not `used`, bool `[E, T]`.

    Args:
        rows: With `valid [E, T]`.
        spare: Any steps `[N]`, the first of rows that are filled in.
    """
    rows["used"] = rows["valid"].clone()
    if ranks().count == 1:
        return rows
    sizes = ranks().all_gather(torch.tensor(rows.shape, device=spare.device))
    count, length = sizes.amax(0).tolist()
    lacking = count - len(rows)
    if lacking > 0:
        chosen = torch.arange(lacking, device=spare.device) % len(spare)
        fill = spare[chosen].unsqueeze(1).expand(lacking, rows.shape[1]).clone()
        first = torch.arange(rows.shape[1], device=spare.device) == 0
        fill["valid"] = first.expand(fill.shape).clone()
        fill["used"] = torch.zeros_like(fill["valid"])
        rows = joined([rows, fill])
    return pad_steps(rows, length)


def counted(data: TensorDict, mask: Tensor) -> TensorDict:
    """A minibatch `[B, T]` with the `mask [B, T, K]` of tokens that count, and numbers.

    Sums over these, `[B, T]`, are in all parts of the minibatch as in the whole of it:
    `episodes`, `steps` and `tokens` that count, per row the mean over all processes.
    """
    data = data.copy().set("mask", mask)
    steps = mask.any(2)
    numbers = steps.any(1), steps.sum(1), mask.sum((1, 2))
    means = mean_of_all(torch.stack([x.double() for x in numbers])) / data.shape[1]
    for name, mean in zip(("episodes", "steps", "tokens"), means, strict=True):
        data[name] = mean.expand(data.shape)
    return data


def evaluate_steps(model: Any, steps: TensorDict) -> tuple[Tensor, Tensor]:
    """`log_prob` and `entropy` of steps `[S]` by the model, `[S, ...]` each."""
    return model.evaluate_actions(model.inputs(steps), steps["action"])[:2]


def log_prob_of(model: Any, rows: TensorDict) -> Tensor:
    """Log-probabilities of the tokens of episodes `[..., T]`, `[..., T, K]`."""
    parts = [evaluate_steps(model, x)[0] for x in steps_of(rows).split(CHUNK)]
    return in_rows(torch.cat(parts), rows["valid"])
