"""One gradient step as one compiled function."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value
from torch.optim import Adam, AdamW, Optimizer

from yieldrl.networks import GradientStep, Loss

Batch = dict[str, Any]


class CompiledStep(GradientStep):
    """Loss, gradients, clipping and Adam, compiled as one function of tensors.

    For narrow networks an eager update is mostly Python and kernel launches: one graph
    takes a third of the time. The first call compiles for some ten seconds, so it pays
    from some twenty thousand updates on. The parameters and the optimizer's state are
    updated in place, so checkpoints are the same with and without it, and so are the
    results, to rounding: parameters that require no gradient stay as they are, groups
    keep their options. Whatever of these is changed later is compiled anew.

    Args:
        loss: From a batch to the loss and what to log; it may use `model` freely.
        optimizer: `Adam` or `AdamW`, whose formulas are written out here.
        max_grad_norm: Gradients are scaled down to this norm; `inf` measures it only.
        model: The module that holds the optimizer's parameters.

    Raises:
        TypeError: If the optimizer is another one.
        ValueError: If it has an option that is not written out here.
    """

    def __init__(
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None,
        model: nn.Module,
    ) -> None:
        super().__init__(loss, optimizer, max_grad_norm)
        if type(optimizer) not in (Adam, AdamW):
            raise TypeError(
                f"compile=True needs Adam or AdamW, got {type(optimizer).__name__}:"
                " take one of these, or compile=False"
            )
        self._objective = _Objective(loss, model)
        self._compiled_for: Any = None
        self._look()

    def __call__(self, data: Any) -> dict[str, Any]:
        state, groups = self.optimizer.state, self.optimizer.param_groups
        if self._look() != self._compiled_for:
            self._compile()
        elif state[self._parameters[0]].get("exp_avg") is not self._linked:
            # The optimizer was loaded, perhaps with steps that part its groups.
            same = list(map(_size, self._partition())) == list(map(_size, self._parts))
            self._link_moments() if same else self._compile()
        for rate, group in zip(self._learning_rates, groups, strict=True):
            rate.fill_(group["lr"])
        with torch.no_grad():  # which leaves grad_and_value's own gradients on
            logs, results = self._function(
                self._flat,
                self._exp_avg,
                self._exp_avg_sq,
                self._steps,
                self._learning_rates,
                _plain(data),
            )
        for name, result in results.items():
            data[name] = result
        logs["learning_rate"] = groups[0]["lr"]
        return logs

    def _look(self) -> list[Any]:
        """What is compiled in: who is trained, and each group's options."""
        found = []
        for group in self.optimizer.param_groups:
            for name in ("amsgrad", "differentiable"):
                if group.get(name):
                    raise ValueError(
                        f"compile=True does not know Adam's {name}=True: leave it out,"
                        " or take compile=False"
                    )
            flags = [parameter.requires_grad for parameter in group["params"]]
            options = [group[name] for name in _OPTIONS]
            found.append((flags, options))
        return found

    def _compile(self) -> None:
        self.trained_parameters()  # raises if there are none
        self._compiled_for = self._look()
        names = {id(p): name for name, p in self._objective.named_parameters()}
        self._parts = self._partition()
        self._parameters = [p for _, parameters in self._parts for p in parameters]
        self._names = [names[id(parameter)] for parameter in self._parameters]
        # All parameters become views of one vector: a graph with few inputs starts
        # sooner, and Adam is one pass over each group's part of each vector.
        self._sizes = [parameter.numel() for parameter in self._parameters]
        self._flat = _flatten(self._parameters)
        pairs = zip(self._parameters, self._views(self._flat), strict=True)
        for parameter, view in pairs:
            parameter.data = view
        self._link_moments()
        # Tensors, because a graph is compiled anew for every other float.
        groups = len(self.optimizer.param_groups)
        rates = torch.zeros(groups, device=self._flat.device)
        self._learning_rates = list(rates.unbind())
        # Nothing but tensors can change between calls: the config is frozen, and the
        # model keeps its layers. Looking at the rest each time costs an eighth.
        few_guards: dict[str, Any] = {
            "guard_filter_fn": torch.compiler.keep_tensor_guards_unsafe,
            "size_asserts": False,
        }
        # And without a look at `self`, the code that PyTorch keeps for a function would
        # serve every other instance too: so this one compiles a function of its own.
        own = FunctionType(self._step.__code__.replace(), globals())
        self._function = torch.compile(MethodType(own, self), options=few_guards)

    def _step(
        self,
        flat: Tensor,
        exp_avg: Tensor,
        exp_avg_sq: Tensor,
        steps: Tensor,
        learning_rates: list[Tensor],
        batch: Batch,
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        def objective(values: dict[str, Tensor]) -> tuple[Tensor, Any]:
            return functional_call(self._objective, values, (batch,))

        named = dict(zip(self._names, self._views(flat), strict=True))
        gradients, (_, (logs, results)) = grad_and_value(objective, has_aux=True)(named)
        gradient = _flatten([gradients[name] for name in self._names])
        if self.max_grad_norm is not None:
            norm = logs["grad_norm"] = gradient.square().sum().sqrt()
            if math.isfinite(self.max_grad_norm):
                gradient = gradient * (self.max_grad_norm / (norm + 1e-6)).clamp(max=1)

        steps.add_(1)
        first = start = 0
        for number, parameters in self._parts:
            last = first + len(parameters)
            end = start + sum(self._sizes[first:last])
            group = self.optimizer.param_groups[number]
            _adam(
                flat[start:end],
                gradient[start:end],
                exp_avg[start:end],
                exp_avg_sq[start:end],
                steps[first:last],
                learning_rates[number],
                **{name: group[name] for name in _OPTIONS},
            )
            first, start = last, end
        return logs, results

    def _partition(self) -> list[tuple[int, list[nn.Parameter]]]:
        """Trained parameters by the number of their group and of their steps so far."""
        parts: dict[tuple[int, float], list[nn.Parameter]] = {}
        for number, group in enumerate(self.optimizer.param_groups):
            for parameter in group["params"]:
                if parameter.requires_grad:
                    steps = float(self.optimizer.state[parameter].get("step", 0))
                    parts.setdefault((number, steps), []).append(parameter)
        return [(number, parameters) for (number, _), parameters in parts.items()]

    def _link_moments(self) -> None:
        """Lay Adam's state into vectors, of which the optimizer keeps the views."""
        states = [self.optimizer.state[parameter] for parameter in self._parameters]
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
        pairs = zip(flat.split(self._sizes), self._parameters, strict=True)
        return [piece.view(parameter.shape) for piece, parameter in pairs]


_OPTIONS = ("betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")


def _adam(
    flat: Tensor,
    gradient: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    steps: Tensor,
    learning_rate: Tensor,
    *,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    decoupled_weight_decay: bool,
    maximize: bool,
) -> None:
    """Kingma & Ba 2015, "Adam", arXiv:1412.6980, algorithm 1, in place.

    With decoupled weight decay it is AdamW (Loshchilov & Hutter 2019,
    arXiv:1711.05101, algorithm 2).
    """
    beta1, beta2 = betas
    if maximize:
        gradient = -gradient
    if decoupled_weight_decay:
        flat.mul_(1 - learning_rate * weight_decay)
    elif weight_decay:
        gradient = gradient + weight_decay * flat
    exp_avg.lerp_(gradient, 1 - beta1)
    exp_avg_sq.lerp_(gradient.square(), 1 - beta2)
    # All of these steps are the same number. Their maximum is computed once; what is
    # merely elementwise would be, powers and all, for every sixteen parameters anew.
    step_size = (learning_rate / (1 - beta1**steps)).amax()
    correction = (1 - beta2**steps).rsqrt().amax()
    flat.sub_(step_size * exp_avg / (exp_avg_sq.sqrt() * correction + eps))


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


def _size(part: tuple[int, list[nn.Parameter]]) -> tuple[int, int]:
    return part[0], len(part[1])


def _plain(data: Mapping[str, Any]) -> Batch:
    """A TensorDict as the nested dict that compiled code takes without guards."""
    return {
        name: value if isinstance(value, Tensor) else _plain(value)
        for name, value in data.items()
    }


def _flatten(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in tensors])
