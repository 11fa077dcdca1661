"""Adam over vectors: all that it trains, laid end to end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

OPTIONS = ("betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")


class FlatAdam:
    """The parameters and the state of an Adam or AdamW as a few vectors.

    What the optimizer holds become views of them: it may go on by itself at any time,
    save and load. A graph with few inputs starts sooner, and a step is one pass over
    each group's part of each vector.

    Args:
        optimizer: `Adam` or `AdamW`, whose formulas are written out here.

    Raises:
        TypeError: If the optimizer is another one.
        ValueError: If it has an option that is not written out here.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        if type(optimizer) not in (Adam, AdamW):
            raise TypeError(
                f"a compiled step needs Adam or AdamW, got {type(optimizer).__name__}:"
                " take one of these, or speed='eager'"
            )
        self.options()

    def options(self) -> tuple[Any, ...]:
        """What is compiled in: who is trained, and each group's options.

        Raises:
            ValueError: If there is one that is not written out here.
        """
        found: list[Any] = []
        for group in self.optimizer.param_groups:
            for name in ("amsgrad", "differentiable"):
                if group.get(name):
                    raise ValueError(
                        f"a compiled step does not know Adam's {name}=True: leave it"
                        " out, or take speed='eager'"
                    )
            flags = tuple(parameter.requires_grad for parameter in group["params"])
            found.append((flags, *(group[name] for name in OPTIONS)))
        return tuple(found)

    def link(self) -> tuple[Any, ...]:
        """Lay parameters and state into vectors; how they are divided among groups."""
        self._parts = self._partition()
        self.parameters = [p for _, parameters in self._parts for p in parameters]
        self.sizes = [parameter.numel() for parameter in self.parameters]
        self.flat = flatten(self.parameters)
        for parameter, view in zip(self.parameters, self.views(self.flat), strict=True):
            parameter.data = view
        self._link_state()
        # Tensors, because numbers would be compiled in.
        groups = len(self.optimizer.param_groups)
        rates = torch.zeros(groups, device=self.flat.device)
        self._learning_rates = list(rates.unbind())
        return tuple((number, len(parameters)) for number, parameters in self._parts)

    @property
    def linked(self) -> bool:
        """Whether parameters and optimizer still hold views.

        Not after the optimizer was loaded, or another one laid parameters elsewhere.
        """
        state = self.optimizer.state[self.parameters[0]]
        return state.get("exp_avg") is self._linked and self._now() == self._places

    def vectors(self) -> list[Tensor]:
        """What `update` writes into and goes by: the first arguments of a step."""
        for rate, group in zip(
            self._learning_rates, self.optimizer.param_groups, strict=True
        ):
            rate.fill_(group["lr"])
        moments = (self._exp_avg, self._exp_avg_sq, self._steps)
        return [self.flat, *moments, *self._learning_rates]

    def update(
        self, vectors: Sequence[Tensor], gradients: Sequence[Tensor | None]
    ) -> None:
        """One step, written into `vectors`; what has no gradient stays as it is."""
        flat, exp_avg, exp_avg_sq, steps, *learning_rates = vectors
        ends = [0, *accumulate(self.sizes)]
        for (part, trained), run in groupby(
            enumerate(self._part_numbers()),
            key=lambda of: (of[1], gradients[of[0]] is not None),
        ):
            places = [place for place, _ in run]
            if not trained:
                continue
            first, last = places[0], places[-1] + 1
            start, end = ends[first], ends[last]
            number, _ = self._parts[part]
            group = self.optimizer.param_groups[number]
            steps[first:last].add_(1)
            adam(
                flat[start:end],
                flatten([g for g in gradients[first:last] if g is not None]),
                exp_avg[start:end],
                exp_avg_sq[start:end],
                steps[first:last],
                learning_rates[number],
                **{name: group[name] for name in OPTIONS},
            )

    def views(self, flat: Tensor) -> list[Tensor]:
        """The pieces of a vector in the shapes of the parameters."""
        pairs = zip(flat.split(self.sizes), self.parameters, strict=True)
        return [piece.view(parameter.shape) for piece, parameter in pairs]

    def _part_numbers(self) -> list[int]:
        """For each parameter, in which of the parts it is."""
        return [i for i, (_, inside) in enumerate(self._parts) for _ in inside]

    def _now(self) -> list[int]:
        """Where the parameters lie in memory."""
        return [parameter.data_ptr() for parameter in self.parameters]

    def _partition(self) -> list[tuple[int, list[nn.Parameter]]]:
        """Trained parameters by the number of their group and of their steps so far."""
        parts: dict[tuple[int, float], list[nn.Parameter]] = {}
        for number, group in enumerate(self.optimizer.param_groups):
            for parameter in group["params"]:
                if parameter.requires_grad:
                    steps = float(self.optimizer.state[parameter].get("step", 0))
                    parts.setdefault((number, steps), []).append(parameter)
        return [(number, parameters) for (number, _), parameters in parts.items()]

    def _link_state(self) -> None:
        """Lay Adam's state into vectors, of which the optimizer keeps the views."""
        self._places = self._now()
        states = [self.optimizer.state[parameter] for parameter in self.parameters]
        for state, parameter in zip(states, self.parameters, strict=True):
            state.setdefault("exp_avg", torch.zeros_like(parameter))
            state.setdefault("exp_avg_sq", torch.zeros_like(parameter))
            state.setdefault("step", torch.zeros((), device=parameter.device))
        self._exp_avg = flatten([state["exp_avg"] for state in states])
        self._exp_avg_sq = flatten([state["exp_avg_sq"] for state in states])
        self._steps = torch.stack([state["step"] for state in states])
        mean, square = self.views(self._exp_avg), self.views(self._exp_avg_sq)
        for i, state in enumerate(states):
            state["exp_avg"], state["exp_avg_sq"] = mean[i], square[i]
            state["step"] = self._steps[i]
        self._linked = states[0]["exp_avg"]


def adam(
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


def flatten(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors end to end, without their shapes."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])
