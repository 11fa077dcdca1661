"""One gradient step as one compiled function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value

Batch = dict[str, Any]
Loss = Callable[[Any], tuple[Tensor, dict[str, Tensor]]]


class CompiledStep:
    """Loss, gradient, clipping and Adam, compiled as one function of tensors.

    For narrow networks an eager update is mostly Python and kernel launches: one graph
    takes a third of the time. The first call compiles for some ten seconds, so it pays
    from some twenty thousand updates on. The same parameters and optimizer are updated
    in place, so checkpoints are the same with and without it, and so are the losses,
    to rounding.

    Args:
        loss: From a batch to the loss and what to log; it may use `model` freely.
        model: Whose parameters are trained.
        optimizer: `torch.optim.Adam` over these parameters, in one group.
        max_grad_norm: The gradient is scaled down to this norm.

    Raises:
        TypeError: If the optimizer is not Adam, whose formula is written out here.
    """

    def __init__(
        self,
        loss: Loss,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        max_grad_norm: float,
    ) -> None:
        if type(optimizer) is not torch.optim.Adam:
            raise TypeError(f"compile=True needs Adam, got {type(optimizer)}")
        self._objective = _Objective(loss, model)
        self._optimizer = optimizer
        self._max_grad_norm = max_grad_norm
        named = dict(self._objective.named_parameters())
        self._names, self._parameters = list(named), list(named.values())
        # All parameters become views of one vector: a graph with few inputs starts
        # sooner, and Adam is one pass over each vector.
        self._flat = _flatten(self._parameters)
        for parameter, view in zip(
            self._parameters, self._views(self._flat), strict=True
        ):
            parameter.data = view
        self._link_moments()
        # A tensor, because a graph is compiled anew for every other float.
        self._learning_rate = torch.zeros((), device=self._flat.device)
        # Nothing but tensors can change between calls: the config is frozen, and the
        # model keeps its layers. Looking at the rest each time costs an eighth.
        few_questions: dict[str, Any] = {
            "guard_filter_fn": torch.compiler.keep_tensor_guards_unsafe,
            "size_asserts": False,
        }
        # And without a look at `self`, the code that PyTorch keeps for a function would
        # serve every other instance too: so this one compiles a function of its own.
        own = FunctionType(self._step.__code__.replace(), globals())
        self._function = torch.compile(MethodType(own, self), options=few_questions)

    def __call__(self, data: Mapping[str, Any]) -> dict[str, Tensor]:
        """Take one step on a batch `[B]`; what the loss logs, and `grad_norm`."""
        if self._optimizer.state[self._parameters[0]]["exp_avg"] is not self._linked:
            self._link_moments()  # the optimizer was loaded
        self._learning_rate.fill_(self._optimizer.param_groups[0]["lr"])
        with torch.no_grad():  # which leaves grad_and_value's own gradients on
            return self._function(
                self._flat,
                self._exp_avg,
                self._exp_avg_sq,
                self._steps,
                self._learning_rate,
                _plain(data),
            )

    def _step(
        self,
        flat: Tensor,
        exp_avg: Tensor,
        exp_avg_sq: Tensor,
        steps: Tensor,
        learning_rate: Tensor,
        batch: Batch,
    ) -> dict[str, Tensor]:
        def objective(values: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
            return functional_call(self._objective, values, (batch,))

        named = dict(zip(self._names, self._views(flat), strict=True))
        gradients, (_, logs) = grad_and_value(objective, has_aux=True)(named)
        gradient = _flatten([gradients[name] for name in self._names])
        norm = gradient.square().sum().sqrt()
        if math.isfinite(self._max_grad_norm):
            gradient = gradient * (self._max_grad_norm / (norm + 1e-6)).clamp(max=1.0)

        # Kingma & Ba 2015, "Adam", arXiv:1412.6980, algorithm 1.
        group = self._optimizer.param_groups[0]
        (beta1, beta2), eps = group["betas"], group["eps"]
        steps.add_(1)
        exp_avg.lerp_(gradient, 1 - beta1)
        exp_avg_sq.lerp_(gradient.square(), 1 - beta2)
        # All steps are the same number. Their maximum is computed once; what is merely
        # elementwise would be, powers and all, for every sixteen parameters anew.
        step_size = (learning_rate / (1 - beta1**steps)).amax()
        correction = (1 - beta2**steps).rsqrt().amax()
        flat.sub_(step_size * exp_avg / (exp_avg_sq.sqrt() * correction + eps))
        return {**logs, "grad_norm": norm}

    def _link_moments(self) -> None:
        """Lay Adam's state into vectors, of which the optimizer keeps the views."""
        states = [self._optimizer.state[parameter] for parameter in self._parameters]
        for state, parameter in zip(states, self._parameters, strict=True):
            state.setdefault("exp_avg", torch.zeros_like(parameter))
            state.setdefault("exp_avg_sq", torch.zeros_like(parameter))
            state.setdefault("step", torch.zeros((), device=parameter.device))
        self._exp_avg = _flatten([state["exp_avg"] for state in states])
        self._exp_avg_sq = _flatten([state["exp_avg_sq"] for state in states])
        self._steps = torch.stack([state["step"] for state in states])
        mean, square = self._views(self._exp_avg), self._views(self._exp_avg_sq)
        for i, state in enumerate(states):
            state["exp_avg"], state["exp_avg_sq"] = mean[i], square[i]
            state["step"] = self._steps[i]
        self._linked = states[0]["exp_avg"]

    def _views(self, flat: Tensor) -> list[Tensor]:
        """The pieces of a vector in the shapes of the parameters."""
        pieces = flat.split([parameter.numel() for parameter in self._parameters])
        pairs = zip(pieces, self._parameters, strict=True)
        return [piece.view(parameter.shape) for piece, parameter in pairs]


class _Objective(nn.Module):
    """The loss as a module around the model, so that its parameters can be swapped."""

    def __init__(self, loss: Loss, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self._loss = loss

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        return self._loss(batch)


def _plain(data: Any) -> Batch:
    """A TensorDict as the nested dict that compiled code takes without guards."""
    return {
        name: value if isinstance(value, Tensor) else _plain(value)
        for name, value in data.items()
    }


def _flatten(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in tensors])
