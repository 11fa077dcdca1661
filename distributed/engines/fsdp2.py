"""A share of the model in each process: `fully_shard`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.optim import Optimizer

from yieldrl.core import Config, ranks
from yieldrl.core.trees import map_tensors
from yieldrl.distributed.engines.base import Compute, Engine, LossModule
from yieldrl.networks.train_mode import frozen


class FSDP2Engine(Engine):
    """PyTorch's `fully_shard`: each process keeps a share of the model, frozen or not,
    of gradients and of the optimizer.

    Weights are whole while a loss is computed: those of one block after the other where
    the model names its blocks, as those of `transformers` do, else all at once. Trained
    parameters outside the model stay whole everywhere, as do scalars in it, and those
    of another dtype than the most.

    Attributes:
        root: The module that computes losses, an `FSDPModule`.
    """

    def __init__(self, config: Config, algorithm: Any) -> None:
        super().__init__(config, algorithm)
        before = dict(self.model.named_parameters())
        self.root: Any = LossModule()
        self.root.model = self.model
        rest = left_whole(before.values())
        mesh = init_device_mesh(algorithm.device.type, (ranks().count,))
        for module in (*blocks(self.model), self.root):
            fully_shard(module, mesh=mesh, ignored_params=rest)
        sharded = dict(self.model.named_parameters())
        self.parameters = list(sharded.values())
        renewed = {id(before[name]): p for name, p in sharded.items()}
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["params"] = [renewed.get(id(p), p) for p in group["params"]]

    def backward(
        self, optimizer: Optimizer, compute: Compute, scale: float, last: bool
    ) -> dict[str, Any]:
        trained = {id(p) for p in self.trained(optimizer)}
        others = [p for p in self.parameters if id(p) not in trained]
        with frozen(others):
            loss, logs = self.root(compute)
            (loss * scale).backward()
        return logs

    def step(
        self, optimizer: Optimizer, max_grad_norm: float | None
    ) -> Tensor | float | None:
        for parameter in self.trained(optimizer):
            gradient = parameter.grad
            if gradient is not None and not isinstance(gradient, DTensor):
                total = ranks().all_reduce_sum(gradient.float())
                gradient.copy_(total / ranks().count)
        return super().step(optimizer, max_grad_norm)

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's whole state in every process, as of a run in one process."""
        return map_tensors(_whole, self.algorithm.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or in a run in one process."""
        own = {k: _sharded(one, state[k]) for k, one in self.optimizers.items()}
        whole = {k: part for k, part in state.items() if k not in own}
        rest = _like(self.algorithm.state_dict(), whole)
        self.algorithm.load_state_dict({**rest, **own})

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Context in which the whole model can be read and called; not written to."""
        sharded = [
            (module, name, parameter)
            for module in self.model.modules()
            for name, parameter in module.named_parameters(recurse=False)
            if isinstance(parameter, DTensor)
        ]
        full = {
            id(shard): nn.Parameter(shard.full_tensor().detach(), shard.requires_grad)
            for shard in {id(shard): shard for *_, shard in sharded}.values()
        }
        for module, name, shard in sharded:
            setattr(module, name, full[id(shard)])
        try:
            yield
        finally:
            for module, name, shard in sharded:
                setattr(module, name, shard)


def blocks(model: nn.Module) -> list[nn.Module]:
    """The blocks that models of `transformers` inside a model name."""
    names: set[str] = set()
    for module in model.modules():
        names.update(getattr(module, "_no_split_modules", None) or ())
    return [module for module in model.modules() if type(module).__name__ in names]


def left_whole(parameters: Iterable[nn.Parameter]) -> set[nn.Parameter]:
    """Parameters that `fully_shard` rejects: scalars, and a second trained dtype."""
    every = list(parameters)
    counts: Counter[torch.dtype] = Counter()
    for p in every:
        if p.requires_grad:
            counts[p.dtype] += p.numel()
    most = counts.most_common(1)[0][0] if counts else None
    return {p for p in every if p.ndim == 0 or (p.requires_grad and p.dtype != most)}


def _whole(value: Tensor) -> Tensor:
    return value.full_tensor() if isinstance(value, DTensor) else value


def _like(target: Any, value: Any) -> Any:
    """Whole tensors, nested or not, sharded like others."""
    if isinstance(value, Mapping):
        targets = target if isinstance(target, Mapping) else {}
        return {name: _like(targets.get(name), part) for name, part in value.items()}
    if not isinstance(target, DTensor):
        return value
    placed = target.device_mesh, target.placements
    return distribute_tensor(value.to(target.device), *placed, src_data_rank=None)


def _sharded(optimizer: Optimizer, state: Mapping[str, Any]) -> dict[str, Any]:
    """An optimizer's whole state, each entry sharded like its parameter."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    entries = {
        number: {
            name: _like(parameters[number], x) if name != "step" else x
            for name, x in entry.items()
        }
        for number, entry in state["state"].items()
    }
    return {**state, "state": entries}
