"""One gradient step as one compiled function."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.func import functional_call, grad_and_value
from torch.optim import Optimizer

from yieldrl.networks import GradientStep, Loss
from yieldrl.speed.flat_adam import FlatAdam, flatten
from yieldrl.speed.graph import Graph, layout, trace
from yieldrl.speed.plan import Candidate, Names, Plan

Batch = dict[str, Any]

Leaves = dict[tuple[str, ...], Tensor]
"""The tensors of a nested batch, by their paths."""


class CompiledStep(GradientStep):
    """Loss, gradients, clipping and Adam, compiled as one function of tensors.

    For narrow networks an eager update is mostly Python and kernel launches: machine
    code takes a third of the time. Until there is some, and for batches of other
    layouts, the step is the eager one. The parameters and the optimizer's state are
    updated in place, so checkpoints are the same with and without it, and so are the
    results, to rounding: parameters that require no gradient stay as they are, groups
    keep their options. Whatever of these is changed later is compiled anew.

    Args:
        loss: From a batch to the loss and what to log; it may use `model` freely. What
            it looks at besides tensors must stay as it is.
        optimizer: `Adam` or `AdamW`.
        max_grad_norm: Gradients are scaled down to this norm; `inf` measures it only.
        model: The module that holds the optimizer's parameters.
        plan: Says whether to compile, and when.
        alone: See `GradientStep`.

    Raises:
        TypeError: If the optimizer is another one.
        ValueError: If it has an option that cannot be compiled.
    """

    def __init__(
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None,
        model: nn.Module,
        plan: Plan,
        *,
        alone: bool = False,
    ) -> None:
        super().__init__(loss, optimizer, max_grad_norm, alone=alone)
        self.plan = plan
        self._objective = _Objective(loss, model)
        self._adam = FlatAdam(optimizer)
        self._options: Any = None
        self._parts: Any = None
        self._candidates: dict[Any, Candidate] = {}

    def __call__(self, data: Any) -> dict[str, Any]:
        if not self.plan.compiles:
            return super().__call__(data)
        batch = _leaves(data)
        candidate = self._candidate(batch)
        compiled = self.plan.compiled(candidate, partial(self._trace, batch))
        if compiled is None:
            return super().__call__(data)
        found = compiled([*self._adam.vectors(), *batch.values()])
        logged, results = candidate.names
        logs = dict(zip(logged, found, strict=False))
        logs["learning_rate"] = self.optimizer.param_groups[0]["lr"]
        for name, result in zip(results, found[len(logged) :], strict=True):
            data[name] = result
        return logs

    def _candidate(self, batch: Leaves) -> Candidate:
        """What may be compiled for batches of this layout."""
        options = self._adam.options()
        if options != self._options or not self._adam.linked:
            self.trained_parameters()  # raises if there are none
            parts = self._adam.link()
            if (options, parts) != (self._options, self._parts):
                self._candidates.clear()
            self._options, self._parts = options, parts
        layouts = (tuple(batch), tuple(map(layout, batch.values())))
        if layouts not in self._candidates:
            owner = getattr(self.loss, "__self__", self.loss)
            loss = (type(owner), getattr(self.loss, "__name__", ""))
            known = (loss, self.max_grad_norm, options, self._adam.sizes, layouts)
            self._candidates[layouts] = Candidate(repr(known))
        return self._candidates[layouts]

    def _trace(self, batch: Leaves) -> tuple[Graph, Names]:
        """The step on batches like this one; names of its logs, and of results."""
        names: Names = ([], [])

        def step(tensors: list[Tensor]) -> list[Tensor]:
            vectors, rest = tensors[:given], tensors[given:]
            gradient, logs, results = self._gradient(
                vectors[0], _nested(dict(zip(batch, rest, strict=True)))
            )
            if self.max_grad_norm is not None:
                norm = logs["grad_norm"] = gradient.square().sum().sqrt()
                if math.isfinite(self.max_grad_norm):
                    scale = (self.max_grad_norm / (norm + 1e-6)).clamp(max=1)
                    gradient = gradient * scale
            self._adam.update(vectors, gradient)
            names[0][:], names[1][:] = logs, results
            return [*logs.values(), *results.values()]

        vectors = self._adam.vectors()
        given = len(vectors)
        return trace(step, [*vectors, *batch.values()]), names

    def _gradient(
        self, flat: Tensor, batch: Batch
    ) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
        """The gradient as one vector; what the loss logs, and wrote into the batch."""

        def objective(values: dict[str, Tensor]) -> tuple[Tensor, Any]:
            return functional_call(self._objective, values, (batch,))

        named = dict(zip(self._names(), self._adam.views(flat), strict=True))
        gradients, (_, (logs, results)) = grad_and_value(objective, has_aux=True)(named)
        return flatten([gradients[name] for name in named]), logs, results

    def _names(self) -> list[str]:
        """What the objective calls the parameters that are trained."""
        names = {id(p): name for name, p in self._objective.named_parameters()}
        return [names[id(parameter)] for parameter in self._adam.parameters]


class _Objective(nn.Module):
    """The loss as a module around the model, so that its parameters can be swapped."""

    def __init__(self, loss: Loss, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self._loss = loss

    def forward(self, batch: Batch) -> tuple[Tensor, Any]:
        """The loss; beside it the logs, and what the loss wrote into the batch."""
        own = dict(batch)
        loss, logs = self._loss(own)
        return loss, (logs, {name: own[name] for name in own if name not in batch})


def _leaves(data: Mapping[str, Any], path: tuple[str, ...] = ()) -> Leaves:
    """The tensors of nested data, by their paths."""
    leaves: Leaves = {}
    for name, value in data.items():
        if isinstance(value, Tensor):
            leaves[(*path, name)] = value
        else:
            leaves |= _leaves(value, (*path, name))
    return leaves


def _nested(leaves: Leaves) -> Batch:
    """What `_leaves` took apart, as nested dicts."""
    whole: Batch = {}
    for (*path, name), value in leaves.items():
        inner = whole
        for part in path:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return whole
