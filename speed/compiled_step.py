"""One gradient step as one compiled function."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor, nn
from torch.autograd import grad
from torch.func import functional_call
from torch.optim import Optimizer

from yieldrl.foundations import ranks
from yieldrl.networks import GradientStep, Loss, averaged
from yieldrl.speed.flat_adam import FlatAdam, flatten
from yieldrl.speed.graph import layout, trace
from yieldrl.speed.nested import Leaves, leaves_of, nested
from yieldrl.speed.plan import Candidate, Followed, Names, Plan
from yieldrl.speed.precision import spelled


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
        batch = leaves_of(data)
        candidate = self._candidate(batch)
        compiled = self.plan.compiled(candidate, partial(self._trace, batch, data))
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
            known = (
                spelled(self.loss),
                self.max_grad_norm,
                options,
                self._adam.sizes,
                layouts,
            )
            alone = () if ranks().count == 1 else (ranks().count,)
            self._candidates[layouts] = Candidate(repr((*known, *alone)))
        return self._candidates[layouts]

    def _trace(self, batch: Leaves, data: Any) -> Followed:
        """The step on batches like this one; names of its logs, and of results."""
        names: Names = ([], [])
        shape = data.batch_size if isinstance(data, TensorDictBase) else None

        def step(tensors: list[Tensor]) -> list[Tensor]:
            vectors, rest = tensors[:given], tensors[given:]
            whole: Any = nested(dict(zip(batch, rest, strict=True)))
            whole = whole if shape is None else TensorDict(whole, shape)
            gradients, logs, results = self._gradients(vectors[0], whole)
            if ranks().count > 1:
                gradients, logs = self._averaged(gradients, logs, whole.numel())
            if self.max_grad_norm is not None:
                known = flatten([g for g in gradients if g is not None])
                norm = logs["grad_norm"] = known.square().sum().sqrt()
                if math.isfinite(self.max_grad_norm):
                    scale = (self.max_grad_norm / (norm + 1e-6)).clamp(max=1)
                    gradients = [g if g is None else g * scale for g in gradients]
            self._adam.update(vectors, gradients)
            names[0][:], names[1][:] = logs, results
            return [*logs.values(), *results.values()]

        vectors = self._adam.vectors()
        given = len(vectors)
        tensors = [*vectors, *batch.values()]
        return Followed(trace(step, tensors), names, tensors, fixed=given)

    def _gradients(
        self, flat: Tensor, batch: Any
    ) -> tuple[list[Tensor | None], dict[str, Tensor], dict[str, Tensor]]:
        """Gradients of what the loss depends on; its logs, and what it wrote into
        the batch."""
        views = [v.detach().requires_grad_() for v in self._adam.views(flat)]
        named = dict(zip(self._names(), views, strict=True))
        with torch.enable_grad():
            loss, (logs, results) = functional_call(self._objective, named, (batch,))
        return [*grad(loss, views, allow_unused=True)], logs, results

    def _averaged(
        self, gradients: list[Tensor | None], logs: dict[str, Tensor], samples: int
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """Means over all processes, exchanged in the order of an eager step.

        One process may have compiled code already, and another not yet.
        """
        own = self._adam.parameters
        known = {id(p): g for p, g in zip(own, gradients, strict=True)}
        order = self.trained_parameters()
        means, logs = averaged([known[id(p)] for p in order], logs, samples)
        found = {id(p): mean for p, mean in zip(order, means, strict=True)}
        return [found[id(p)] for p in own], logs

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

    def forward(self, batch: Any) -> tuple[Tensor, Any]:
        """The loss; beside it the logs, and what the loss wrote into the batch."""
        known = set(batch.keys())
        own = batch.copy()
        loss, logs = self._loss(own)
        added = set(own.keys()) - known
        return loss, (logs, {name: own[name] for name in sorted(added)})
