"""DeepSpeed's ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054)."""

import copy
import importlib
import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.optim import Optimizer

from yieldrl.core import Config, ranks
from yieldrl.distributed.engines.base import Compute, Engine, LossModule, clip
from yieldrl.networks.train_mode import frozen


class DeepSpeedEngine(Engine):
    """DeepSpeed with `zero_stage`, one of its engines for each optimizer.

    Frozen parameters stay whole in each process, and the set of trained ones must not
    change. To DeepSpeed a parameter that a loss does not depend on has a gradient of 0,
    which for PyTorch's optimizers is not the same as none: where momentum, weight decay
    or the number of steps would differ, the step is refused.

    Attributes:
        parts: The `ZeroOptimizer` of each optimizer.

    Raises:
        ImportError: If DeepSpeed is not installed.
    """

    def __init__(self, config: Config, algorithm: Any) -> None:
        super().__init__(config, algorithm)
        self.package = import_deepspeed(algorithm.device.type)
        self.parts = {
            name: ZeroOptimizer(self.package, each, config.zero_stage)
            for name, each in self.optimizers.items()
        }
        self.parameters = [p for part in self.parts.values() for p in part.parameters]

    def trained(self, optimizer: Optimizer) -> list[nn.Parameter]:
        """The parameters of an optimizer that require gradients."""
        return self.part(optimizer).parameters

    def part(self, optimizer: Optimizer) -> "ZeroOptimizer":
        """The `ZeroOptimizer` of an optimizer.

        Raises:
            RuntimeError: If it is unknown, or trains others than at the start.
        """
        for part in self.parts.values():
            if part.optimizer is optimizer:
                part.check_trained()
                return part
        raise RuntimeError(
            f"engine = 'deepspeed' does not know this {type(optimizer).__name__}: make"
            " all optimizers in the algorithm's __init__, as attributes"
        )

    def backward(
        self, optimizer: Optimizer, compute: Compute, scale: float, last: bool
    ) -> dict[str, Any]:
        part = self.part(optimizer)
        own = {id(p) for p in part.parameters}
        others = [p for p in self.parameters if id(p) not in own and p.requires_grad]
        with self._whole(others), frozen(others):
            part.engine.set_gradient_accumulation_boundary(last)
            loss, logs = part.engine(compute)
            part.engine.backward(loss * scale, scale_wrt_gas=False)
        return logs

    def step(
        self, optimizer: Optimizer, max_grad_norm: float | None
    ) -> Tensor | float | None:
        part, norm = self.part(optimizer), None
        self._check_gradients(part)
        if part.stage:
            limited = max_grad_norm is not None and max_grad_norm < float("inf")
            part.engine.optimizer.clip_grad = max_grad_norm if limited else 0.0
        elif max_grad_norm is not None:
            gradients = [p.grad for p in part.parameters if p.grad is not None]
            norm = clip(gradients, max_grad_norm)
        part.engine.step()
        return part.engine.get_global_grad_norm() if part.stage else norm

    def _check_gradients(self, part: "ZeroOptimizer") -> None:
        if not (missed := part.missed()):
            return
        parameters = self.model.named_parameters()
        names = [name for name, p in parameters if any(p is other for other in missed)]
        raise RuntimeError(
            "engine = 'deepspeed': not every loss of an optimizer depends on"
            f" {', '.join(names) or 'its parameters'}, and DeepSpeed takes that for a"
            " gradient of 0, so that momentum and weight decay go on. Give this loss an"
            " optimizer of its own, with the parameters that it depends on, or take"
            " engine='ddp'"
        )

    def gathered(self) -> AbstractContextManager[Any]:
        """Context in which the whole model can be read and called; not written to."""
        return self._whole(self.parameters)

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's whole state in every process, as of a run in one process."""
        with self.gathered(), self._plain_optimizers():
            return copy.deepcopy(self.algorithm.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or in a run in one process."""
        with self._whole(self.parameters, first=0), self._plain_optimizers():
            self.algorithm.load_state_dict(state)
            for part in self.parts.values():
                part.take_weights()

    def _whole(
        self, parameters: Iterable[Any], first: int | None = None
    ) -> AbstractContextManager[Any]:
        """Inside, parameters are whole; what the process `first` writes stays."""
        missing = [
            p
            for p in parameters
            if hasattr(p, "ds_status") and p.ds_status.name == "NOT_AVAILABLE"
        ]
        if not missing:
            return nullcontext()
        return self.package.zero.GatheredParameters(missing, modifier_rank=first)

    @contextmanager
    def _plain_optimizers(self) -> Iterator[None]:
        """Inside, the algorithm's optimizers have the states of a plain run."""
        attributes = vars(self.algorithm)
        attributes.update(self.parts)
        try:
            yield
        finally:
            attributes.update(self.optimizers)


class ZeroOptimizer:
    """An optimizer and the parameters that it trains, run by an engine of DeepSpeed.

    Args:
        package: DeepSpeed.
        optimizer: Any of PyTorch's; DeepSpeed puts other tensors into its groups, and
            their options, such as learning rates, stay in them.
        stage: Stage of ZeRO, 0 to 3.

    Attributes:
        engine: The engine of DeepSpeed.
        parameters: The trained parameters.

    Raises:
        ValueError: If this stage cannot train these parameters.
    """

    def __init__(self, package: Any, optimizer: Optimizer, stage: int) -> None:
        self.optimizer = optimizer
        self._all = [p for group in optimizer.param_groups for p in group["params"]]
        self._required = [p.requires_grad for p in self._all]
        groups = optimizer.state_dict()["param_groups"]
        self._groups = [group["params"] for group in groups]
        self.parameters = [p for p in self._all if p.requires_grad]
        self._first: Tensor | None = None  # which of them the first step trained
        self._got = [0] * len(self.parameters)  # whether they have gradients
        for number, p in enumerate(self.parameters):
            p.register_hook(partial(self._note, number))
        decays = {
            id(p): group.get("weight_decay", 0) != 0
            for group in optimizer.param_groups
            for p in group["params"]
        }
        self._decays = torch.tensor([decays[id(p)] for p in self.parameters])
        dtypes = {p.dtype for p in self.parameters}
        if stage and dtypes != {torch.float32}:
            raise ValueError(
                f"zero_stage = {stage} trains float32 alone, and this model has"
                f" {', '.join(sorted(map(str, dtypes)))}: choose engine = 'fsdp2' or"
                " zero_stage = 0"
            )
        scalars: list[Any] = [p for p in self.parameters if p.ndim == 0]
        if len(scalars) == len(self.parameters):
            stage = 0  # nothing to partition
        elif scalars and stage == 3:
            raise ValueError(
                "zero_stage = 3 takes no parameter of shape () beside others: give it"
                " shape (1,), or choose zero_stage = 2"
            )
        self.stage = stage
        for scalar in scalars:  # DeepSpeed fails to broadcast them, without need
            scalar.ds_optim_param = True
        module = LossModule(self.parameters)
        options = {"optimizer": optimizer, "config": _config(stage)}
        self.engine = package.initialize(model=module, **options)[0]
        for scalar in scalars:
            del scalar.ds_optim_param

    def check_trained(self) -> None:
        """RuntimeError if the parameters that require gradients have changed."""
        if [p.requires_grad for p in self._all] != self._required:
            raise RuntimeError(
                "engine = 'deepspeed': what requires gradients has changed since the"
                " run began; freeze before it, or take engine='ddp'"
            )

    def missed(self) -> list[nn.Parameter]:
        """Parameters that the next step would move otherwise than without DeepSpeed.

        Those that got a gradient, in any process, in this step and not in the first, or
        the other way round; and those without one whose weights decay. Collective.
        """
        here = torch.tensor(self._got, device=self.parameters[0].device)
        got = ranks().all_reduce_sum(here).cpu() > 0
        self._got = [0] * len(self._got)
        self._first = got if self._first is None else self._first
        wrong = (got != self._first) | (~got & self._decays)
        return [
            p for p, is_wrong in zip(self.parameters, wrong, strict=True) if is_wrong
        ]

    def _note(self, number: int, gradient: Tensor) -> None:
        self._got[number] = 1

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, as it would be in one process."""
        if self.stage == 0:
            return self.optimizer.state_dict()
        pairs = zip(self.optimizer.param_groups, self._groups, strict=True)
        groups = [{**group, "params": numbers} for group, numbers in pairs]
        state: dict[int, dict[str, Tensor]] = {}
        for parameters, numbers, flat in self._shares():
            for key, x in self.optimizer.state[flat].items():
                wholes = self._joined(x, parameters)
                for number, whole in zip(numbers, wholes, strict=True):
                    state.setdefault(number, {})[key] = whole
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or of an optimizer alone."""
        if self.stage == 0:
            self.optimizer.load_state_dict({**state})
            return
        pairs = zip(self.optimizer.param_groups, state["param_groups"], strict=True)
        for group, saved in pairs:
            group.update({k: v for k, v in saved.items() if k != "params"})
        self.optimizer.state.clear()
        for parameters, numbers, flat in self._shares():
            entries = [state["state"].get(number, {}) for number in numbers]
            for key, like in next(filter(None, entries), {}).items():
                own = like  # a number of steps, the same of all parameters
                if like.ndim > 0:
                    pairs = zip(entries, parameters, strict=True)
                    wholes = [x.get(key, like.new_zeros(p.shape)) for x, p in pairs]
                    own = self._share(wholes, flat)
                self.optimizer.state[flat][key] = own.to(flat.device, copy=True)

    @torch.no_grad()
    def take_weights(self) -> None:
        """Give the optimizer the weights that its parameters, all whole, have now."""
        for parameters, _, flat in self._shares():
            flat.copy_(self._share(parameters, flat))

    def _shares(self) -> Iterator[tuple[list[Any], list[int], Tensor]]:
        """Parameters, their numbers, and this process's share of them, flat."""
        zero = self.engine.optimizer
        if self.stage == 0:
            return
        names = "bit16_groups", "single_partition_of_fp32_groups"
        if self.stage == 3:
            names = "fp16_groups", "fp32_partitioned_groups_flat"
        groups, flats = (getattr(zero, name) for name in names)
        numbers = {id(p): number for number, p in enumerate(self._all)}
        for parameters, flat in zip(groups, flats, strict=True):
            yield parameters, [numbers[id(p)] for p in parameters], flat

    def _share(self, wholes: Sequence[Tensor], flat: Tensor) -> Tensor:
        """This process's share of whole tensors, one a parameter, as `flat` has it.

        In stage 3 that is a share of each; else one of all of them in a row.
        """
        rows = [whole.flatten() for whole in wholes]
        if self.stage == 3:
            return torch.cat([_part(row, _size_of_part(row)) for row in rows])
        return _part(torch.cat(rows), len(flat))

    def _joined(self, own: Tensor, parameters: Sequence[Any]) -> list[Tensor]:
        """The inverse of `_share`: whole tensors in the shapes of parameters."""
        if own.ndim == 0:  # a number of steps, the same of all parameters
            return [own.clone() for _ in parameters]
        sizes = [p.numel() for p in parameters]
        shares = ranks().all_gather(own)
        if self.stage == 3:
            rows = shares.split([_size_of_part(p.flatten()) for p in parameters], 1)
        else:
            rows = shares.flatten()[: sum(sizes)].split(sizes)
        pairs = zip(rows, parameters, strict=True)
        return [row.flatten()[: p.numel()].view(p.shape).clone() for row, p in pairs]


def import_deepspeed(device: str) -> Any:
    """The package, for a type of device; it joins the existing process group.

    Raises:
        ImportError: If it is not installed; the message tells how to install it.
    """
    os.environ.setdefault("DS_ACCELERATOR", device)
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    warning = r"`torch\.distributed\.\w+` is deprecated"  # in each exchange of ZeRO-3
    warnings.filterwarnings("ignore", warning, FutureWarning)
    try:
        package = importlib.import_module("deepspeed")
    except ModuleNotFoundError as error:
        raise ImportError(
            "engine='deepspeed' needs DeepSpeed: pip install 'yieldrl[deepspeed]'",
            name="deepspeed",
        ) from error
    # It would compile an exchange by shared memory, for minutes; Gloo has one.
    package.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    package.init_distributed(verbose=False)
    return package


def _size_of_part(row: Tensor) -> int:
    """How many numbers of a flat tensor each process has, with the last one's zeros."""
    return -(-len(row) // ranks().count)


def _part(row: Tensor, size: int) -> Tensor:
    """This process's share of a flat tensor, padded with zeros to `size`."""
    missing = size * ranks().count - len(row)
    return pad(row, (0, missing)).narrow(0, size * ranks().rank, size)


def _config(stage: int) -> dict[str, Any]:
    """DeepSpeed's config; clipping and micro-batches are left to the engine."""
    return {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 0.0,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0},
    }
