"""Observations that go from workers to learners by reference, past the program.

A worker puts those of a segment into Ray's object store, and sends a reference to them
with all other entries. Before the program hands the segment over, learners fetch their
environments' columns: no death of a worker loses them then. The program's rows have a
ticket in their place.
"""

import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.core import spaces
from yieldrl.core.trees import Path, flatten, map_tensors, nest
from yieldrl.distributed.actors import DeadWorkerError, answer_of
from yieldrl.envs.arrays import as_tensors, tree_map

OBSERVATIONS = "obs", "next_obs"
"""Entries of transitions that go by reference: the largest, and no others."""

Layout = dict[Path, tuple[tuple[int, ...], torch.dtype]]
"""Shape of one observation, and dtype, of each of its leaves."""


def stored_layout(algorithm: Any) -> Layout:
    """The observations that an algorithm's rollouts store: shapes and dtypes."""
    model, names = algorithm.model, OBSERVATIONS
    if not algorithm.reads_next_obs:
        names = names[:1]
    leaves = [*spaces.leaves(model.observation_space)]
    return {
        (name, *path): (
            spaces.shape_of(leaf),
            spaces.tensor_dtype(leaf, exact=model.exact_obs),
        )
        for name in names
        for path, leaf in leaves
    }


def put_aside(rows: dict[str, Any], pieces: int) -> list[Any]:
    """Move observations of rows `[T, n]` into the object store.

    References to pieces of equally many columns, in their order.
    """
    taken = {name: rows.pop(name) for name in OBSERVATIONS if name in rows}
    # Ray copies arrays that are not contiguous several times.
    piece = lambda x, i: np.ascontiguousarray(np.split(x, pieces, 1)[i])  # noqa: E731
    put = importlib.import_module("ray").put
    return [put(tree_map(lambda x, i=i: piece(x, i), taken)) for i in range(pieces)]


def fetch(references: Sequence[Any]) -> tuple[dict[str, Any], set[int]]:
    """Observations of pieces side by side, as arrays.

    And the places of pieces that are lost; if any is, there are no observations.
    """
    ray, parts, lost = importlib.import_module("ray"), [], set()
    ray.wait([*references], num_returns=len(references))  # all at once
    for place, reference in enumerate(references):
        try:
            parts.append(answer_of(f"piece {place} of a segment", reference))
        except DeadWorkerError:
            lost.add(place)
    if lost:
        return {}, lost
    return tree_map(lambda *x: np.concatenate(x, axis=1), *parts), lost


class TakenRows:
    """The observations that a learner has taken, in its memory, by their tickets.

    Args:
        layout: Shapes and dtypes in which they are stored.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._segments: dict[range, TensorDict] = {}  # by their rows' tickets

    def take(self, tickets: range, references: Sequence[Any]) -> set[int]:
        """Fetch the pieces of a segment's rows; the places of those that are lost."""
        obs, lost = fetch(references)
        if not lost:
            leaves = dict(flatten(as_tensors(obs)))
            stored = {k: leaves[k].to(kind) for k, (_, kind) in self._layout.items()}
            size = leaves[next(iter(stored))].shape[:2]
            self._segments[tickets] = TensorDict(nest(stored.items()), size)
        return lost

    def rows(self, tickets: Tensor) -> TensorDict:
        """The observations of tickets `[T, n]`; those of a segment are not copied."""
        numbers = tickets.flatten().unique_consecutive().tolist()
        rows: dict[int, TensorDict] = {}
        for taken, segment in self._segments.items():
            if numbers == [*taken]:
                return segment
            rows |= zip(taken, segment.unbind(0), strict=True)
        found: Any = torch.stack([rows[x] for x in numbers])
        return found.view(tickets.shape)

    def learn_from(self, tickets: Tensor) -> TensorDict:
        """Those of a rollout, to learn from; segments before it are forgotten."""
        lowest, taken = int(tickets.min()), self._segments.items()
        self._segments = {k: segment for k, segment in taken if k[-1] >= lowest}
        return self.rows(tickets)


class Tickets:
    """Numbers that the program's rows have in place of observations.

    A ticket `k` names a row of learner `k % count`, whose environments' columns have
    it. Tickets rise in the order in which rows are handed over: those below a rollout's
    are not needed after it.

    Args:
        learners: The `Learners`, which take the observations.
    """

    def __init__(self, learners: Any) -> None:
        self._learners, self._next = learners, 0

    def pieces(self, width: int) -> int:
        """Into how many pieces a worker cuts the observations of its `width`
        environments, so that no two learners need the same."""
        share = self._learners.config.num_envs // self._learners.count
        return width // math.gcd(width, share)

    def take(
        self, references: Sequence[Any], num_rows: int, num_envs: int
    ) -> tuple[Tensor, set[int]]:
        """Let learners fetch a segment that is about to be handed over.

        Args:
            references: To all pieces of its observations, equally many for each.
            num_rows: `T`, steps.
            num_envs: `N`, environments of all workers.

        Returns:
            Tickets, int64 `[T, N]`; and the places of pieces that are lost.

        Raises:
            LearnerError: If a learner fails.
        """
        count, begin = self._learners.count, self._next
        self._next = end = begin + num_rows * count
        each, ranks = len(references) // count, range(count)
        tickets = [range(begin + rank, end, count) for rank in ranks]
        theirs = [[*references[i * each : (i + 1) * each]] for i in ranks]
        pairs = [*zip(tickets, theirs, strict=True)]
        answers = enumerate(self._learners.ask_each("take", pairs))
        lost = {rank * each + place for rank, places in answers for place in places}
        owner = torch.arange(num_envs) * count // num_envs  # a learner's rank
        return torch.arange(begin, end, count).unsqueeze(1) + owner, lost

    def fetched(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        """Rows `[T, N]` with observations in place of tickets."""
        rows = dict(rows)
        if "obs" in rows:
            return rows
        size, ticket = rows["reward"].shape, rows.pop("ticket", None)
        if size[0] == 0:
            layout = stored_layout(self._learners.algorithm).items()
            return rows | nest(
                (path, torch.zeros(*size, *shape, dtype=dtype))
                for path, (shape, dtype) in layout
            )
        parts = shares(TensorDict({"ticket": ticket}, size), self._learners.count)
        found = self._learners.ask_each("rows", [(part["ticket"],) for part in parts])
        return rows | as_tensors(tree_map(lambda *x: np.concatenate(x, 1), *found))

    def given(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        """Rows `[T, N]` with tickets in place of observations, which learners take."""
        size, rows = rows["reward"].shape, dict(rows)
        obs = {name: rows.pop(name) for name in OBSERVATIONS if name in rows}
        arrays = map_tensors(lambda x: x.cpu().numpy(), obs)
        pieces = put_aside(arrays, self._learners.count)
        if size[0] > 0:
            rows["ticket"], _ = self.take(pieces, *size)
        return rows


def shares(rollout: TensorDict, count: int) -> list[dict[str, Any]]:
    """A rollout `[T, N]` as arrays `[T, n, ...]`, for each learner.

    These are the columns of its tickets, or equal parts of a rollout without tickets.
    Pickling copies arrays that are not contiguous, and Ray pickles what it sends.
    """
    columns = rollout.shape[1]
    owner = torch.arange(columns) * count // columns
    if "ticket" in set(rollout.keys()):
        owner = rollout["ticket"][0] % count
    parts = [rollout[:, owner == rank].to_dict() for rank in range(count)]
    return [map_tensors(lambda x: x.cpu().contiguous().numpy(), part) for part in parts]
