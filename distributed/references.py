"""Observations that go from workers to learners by reference, past the program.

A worker puts those of a segment into Ray's object store, and sends a reference to them
with all other entries. Before the program hands the segment over, learners fetch their
environments' columns: no death of a worker loses them then. The program's rows have a
ticket in their place.
"""

import importlib
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


def put_aside(rows: dict[str, Any]) -> list[Any]:
    """Move the observations of rows into the object store: a reference to them."""
    taken = {name: rows.pop(name) for name in OBSERVATIONS if name in rows}
    return [importlib.import_module("ray").put(taken)]


def fetch(
    references: Sequence[Any], width: int, first: int, last: int
) -> tuple[dict[str, Any], set[int]]:
    """Observations `[T, last - first, ...]` of some columns, as arrays.

    Args:
        references: To those of each worker, in the order of their environments.
        width: Environments of each worker.
        first: The first column.
        last: The one after the last column.

    Returns:
        The observations; and the places among the references of what is lost. If any
        is, there are no observations.
    """
    places = range(first // width, -(-last // width))
    wanted = [references[place] for place in places]
    importlib.import_module("ray").wait(wanted, num_returns=len(wanted))  # all at once
    parts, lost = [], set()
    for place, reference in zip(places, wanted, strict=True):
        begin = place * width
        columns = slice(max(first - begin, 0), last - begin)
        try:
            rows = answer_of(f"part {place} of a segment", reference)
        except DeadWorkerError:
            lost.add(place)
        else:
            parts.append(tree_map(lambda x, c=columns: x[:, c], rows))
    if lost:
        return {}, lost
    return tree_map(lambda *x: np.concatenate(x, axis=1), *parts), lost


class TakenRows:
    """The observations that a learner has taken, in its memory, by their tickets.

    Args:
        layout: Shapes and dtypes in which they are stored.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout, self._rows = layout, dict[int, TensorDict]()

    def take(
        self, tickets: range, references: Sequence[Any], width: int, *columns: int
    ) -> set[int]:
        """Fetch a segment's rows; the places of references to what is lost.

        Args:
            tickets: Of its rows.
            references: See `fetch`, as are `width` and the `columns`.
            width: See `references`.
            columns: The first, and the one after the last.
        """
        obs, lost = fetch(references, width, *columns)
        if not lost:
            leaves, (first, last) = dict(flatten(as_tensors(obs))), columns
            stored = [(k, leaves[k].to(kind)) for k, (_, kind) in self._layout.items()]
            rows = TensorDict(nest(stored), [len(tickets), last - first])
            self._rows |= zip(tickets, rows.unbind(0), strict=True)
        return lost

    def rows(self, tickets: Tensor) -> TensorDict:
        """Copies of the observations of tickets `[T, n]`."""
        numbers = tickets.flatten().unique_consecutive().tolist()
        found: Any = torch.stack([self._rows[x] for x in numbers])
        return found.view(tickets.shape)

    def learn_from(self, tickets: Tensor) -> TensorDict:
        """Copies of those of a rollout, to learn from; earlier ones are forgotten."""
        lowest = int(tickets.min())
        self._rows = {k: row for k, row in self._rows.items() if k >= lowest}
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

    def take(
        self, references: Sequence[Any], num_rows: int, num_envs: int
    ) -> tuple[Tensor, set[int]]:
        """Let learners fetch a segment that is about to be handed over.

        Args:
            references: To the observations of each worker; see `fetch`.
            num_rows: `T`, steps.
            num_envs: `N`, environments of all workers.

        Returns:
            Tickets, int64 `[T, N]`; and the places of references to what is lost.

        Raises:
            LearnerError: If a learner fails.
        """
        count, begin = self._learners.count, self._next
        self._next = end = begin + num_rows * count
        share = num_envs // count
        both = [*references], num_envs // len(references)
        args = [
            (range(begin + i, end, count), *both, i * share, (i + 1) * share)
            for i in range(count)
        ]
        lost = set[int]().union(*self._learners.ask_each("take", args))
        owner = torch.arange(num_envs) // share  # a learner's rank
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
        if obs and size[0] > 0:
            put = self._learners.cluster.put
            sent = put(map_tensors(lambda x: x.cpu().contiguous().numpy(), obs))
            rows["ticket"], _ = self.take([sent], *size)
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
