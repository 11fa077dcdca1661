"""A gradient step as one CUDA graph, with the learning rates as tensors."""

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from yieldrl.core.gradient_step import leaves_of
from yieldrl.core.recorded import Recorded


class RecordedStep:
    """The step of `algorithm.minimize` as one CUDA graph.

    Args:
        algorithm: The algorithm.
        loss: A method, from the batch to the loss and metrics.
        optimizer: Says what is trained.
        options: `max_grad_norm` and `micro_batches`.
    """

    def __init__(
        self, algorithm: Any, loss: Any, optimizer: Optimizer, *options: Any
    ) -> None:
        self.algorithm, self.loss = algorithm, loss
        self.optimizer, self.options = optimizer, options
        groups, device = optimizer.param_groups, algorithm.device
        self.rates = [torch.tensor(group["lr"], device=device) for group in groups]
        self.names: list[str] = []  # of the metrics
        attributes = vars(algorithm).values()
        self.recorded = Recorded(
            f"gradient step ({loss.__name__})",
            self._step,
            owners=(algorithm, loss.__self__),
            generators=[x for x in attributes if isinstance(x, torch.Generator)],
            state=self._state,
        )

    def __call__(self, data: Any) -> dict[str, Any]:
        """Take a step on a batch `[B]`; the metrics."""
        groups = self.optimizer.param_groups
        if self.recorded.refused:
            return self._minimized(data)
        for rate, group in zip(self.rates, groups, strict=True):
            rate.fill_(group["lr"])
        metrics, written = self.recorded(data)
        for key, tensor in written.items():
            data.set(key, tensor.clone())
        # The next replay overwrites its results, and these are yielded.
        logs = dict(zip(self.names, metrics.clone().unbind(), strict=True))
        return {**logs, "learning_rate": groups[0]["lr"]}

    def _step(self, data: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """The metrics `[M]`, and what the loss has set in the batch."""
        groups = self.optimizer.param_groups
        batch = data if isinstance(data, Tensor) else data.copy()
        given = leaves_of(batch)
        rates = [group["lr"] for group in groups]
        for group, rate in zip(groups, self.rates, strict=True):
            group.update(lr=rate, capturable=True)
        try:
            logs = self._minimized(batch)
        finally:
            for group, rate in zip(groups, rates, strict=True):
                group.update(lr=rate, capturable=False)
        del logs["learning_rate"]
        self.names = [*logs]
        like, values = self.rates[0], logs.values()
        metrics = [
            x.to(like) if isinstance(x, Tensor) else like.new_full((), x)
            for x in values
        ]
        leaves = leaves_of(batch).items()
        written = {key: x for key, x in leaves if x is not given.get(key)}
        return torch.stack(metrics) if metrics else like.new_zeros(0), written

    def _minimized(self, data: Any) -> dict[str, Any]:
        runtime = self.algorithm.runtime
        runtime.recording = True
        try:
            return self.algorithm.minimize(
                self.loss, data, self.optimizer, *self.options
            )
        finally:
            runtime.recording = False

    def _state(self) -> list[Any]:
        """The parameters, the tensors of the optimizer, and its options."""
        groups, kept = self.optimizer.param_groups, self.optimizer.state.values()
        parameters = [p for group in groups for p in group["params"]]
        tensors = [x for state in kept for x in state.values()]
        trained = (p.requires_grad for p in parameters)
        options = (
            (k, v)
            for group in groups
            for k, v in group.items()
            if k != "params" and "lr" not in k
        )
        return [*parameters, *tensors, *trained, *options]
