"""Join segments of several workers, and restore them from checkpoints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor

from yieldrl.collectors.distributed_statistics import mean_episode
from yieldrl.distributed.worker import Segment
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations.trees import map_tensors


@dataclass
class Request:
    """A request for a segment to all workers.

    Attributes:
        num_rows: Number of steps.
        sample_step: Environment steps of all workers before it.
        answers: The future answer of each worker; None if it must be asked again.
        breaks: Rows before which episodes are cut, besides those of workers.
        part: The joined answers, once all have arrived.
        older: Whether to act with the policy handed over last, even if one is newer.
        whole: The future answer of a replay actor that joins those of all workers.
    """

    num_rows: int
    sample_step: int
    answers: list[Any]
    breaks: set[int] = field(default_factory=set)
    part: Segment | None = None
    older: bool = False
    whole: Any = None


def there(ray: Any, requests: Iterable[Request]) -> list[bool]:
    """Whether each requested segment has arrived."""
    waiting = {id(each): each.answers for each in requests if each.part is None}
    refs = [ref for answers in waiting.values() for ref in answers if ref]
    found = ray.wait(refs, num_returns=len(refs), timeout=0)[0] if refs else []
    return [set(found).issuperset(waiting.get(id(each), [])) for each in requests]


def part_of(saved: Mapping[str, Any]) -> Segment:
    """A segment from a checkpoint, which holds tensors in place of arrays."""
    return Segment(**map_tensors(Tensor.numpy, saved))


def joined(parts: Sequence[Segment]) -> Segment:
    """The segments of several workers side by side, in memory of their own."""
    rows = tree_map(lambda *own: np.concatenate(own, axis=1), *(p.rows for p in parts))
    logs = parts[0].logs
    if len(parts) > 1:
        of_rows = zip(*(part.logs for part in parts), strict=True)
        logs = [mean_episode(of_row) for of_row in of_rows]
    breaks = set[int]().union(*(part.breaks for part in parts))
    told = [part.inference for part in parts]
    means = {name: sum(each[name] for each in told) / len(told) for name in told[0]}
    version = min(part.version for part in parts)
    seconds = max(part.seconds for part in parts)
    return Segment(rows, logs, sorted(breaks), version, seconds, means)
