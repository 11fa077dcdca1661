"""DeepSpeed's ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054)."""

import copy
import importlib
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
    change. A parameter that a loss does not depend on has a gradient of 0, which for
    PyTorch's optimizers is not the same as none.

    Attributes:
        parts: The `ZeroOptimizer` of each optimizer.

    Raises:
        ImportError: If DeepSpeed is not installed.
    """

    def __init__(self, config: Config, algorithm: Any) -> None:
        super().__init__(config, algorithm)
        self.package = import_deepspeed(algorithm.device.type)
        self.stage: int = config.zero_stage
        self.parts: dict[str, ZeroOptimizer] = {}
        for name, one in vars(algorithm).items():
            if isinstance(one, Optimizer):
                self.parts[name] = ZeroOptimizer(self.package, one, self.stage)
        self.parameters = [p for part in self.parts.values() for p in part.parameters]

    def trained(self, optimizer: Optimizer) -> list[nn.Parameter]:
        """The parameters of an optimizer that require gradients.

        Raises:
            RuntimeError: If they are not those at the start.
        """
        return self.part(optimizer).trained()

    def part(self, optimizer: Optimizer) -> "ZeroOptimizer":
        """The `ZeroOptimizer` of an optimizer.

        Raises:
            RuntimeError: If the optimizer is unknown.
        """
        for part in self.parts.values():
            if part.optimizer is optimizer:
                return part
        raise RuntimeError(
            f"engine = 'deepspeed' does not know this {type(optimizer).__name__}: make"
            " all optimizers in the algorithm's __init__, as attributes"
        )

    def backward(
        self, optimizer: Optimizer, compute: Compute, scale: float, last: bool
    ) -> dict[str, Any]:
        part = self.part(optimizer)
        trained = {id(p) for p in part.parameters}
        others = [
            p for p in self.parameters if id(p) not in trained and p.requires_grad
        ]
        with self._read(others), frozen(others):
            part.engine.set_gradient_accumulation_boundary(last)
            loss, logs = part.engine(compute)
            part.engine.backward(loss * scale, scale_wrt_gas=False)
        return logs

    def step(
        self, optimizer: Optimizer, max_grad_norm: float | None
    ) -> Tensor | float | None:
        part, norm = self.part(optimizer), None
        if part.stage:
            limited = max_grad_norm is not None and max_grad_norm < float("inf")
            part.engine.optimizer.clip_grad = max_grad_norm if limited else 0.0
        elif max_grad_norm is not None:
            gradients = [p.grad for p in part.parameters if p.grad is not None]
            norm = clip(gradients, max_grad_norm)
        part.engine.step()
        return part.engine.get_global_grad_norm() if part.stage else norm

    def gathered(self) -> AbstractContextManager[Any]:
        """Context in which the whole model can be read and called; not written to."""
        return self._read(self.parameters)

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's whole state in every process, as of a run in one process."""
        with self.gathered(), self._plain_optimizers():
            return copy.deepcopy(self.algorithm.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or in a run in one process."""
        with self._read(self.parameters, first=0), self._plain_optimizers():
            self.algorithm.load_state_dict(state)
            values = [p.detach().clone() for p in self.parameters]
        remaining = iter(values)
        for part in self.parts.values():
            for parameter in part.parameters:
                part.write(parameter, next(remaining))

    def _read(
        self, parameters: Sequence[nn.Parameter], first: int | None = None
    ) -> AbstractContextManager[Any]:
        """Inside, parameters are whole; what the process `first` writes stays."""
        sharded = [
            p
            for p in parameters
            if self.stage == 3 and _status(p) == "NOT_AVAILABLE"  # not gathered already
        ]
        if not sharded:
            return nullcontext()
        return self.package.zero.GatheredParameters(sharded, modifier_rank=first)

    @contextmanager
    def _plain_optimizers(self) -> Iterator[None]:
        """Inside, the algorithm's optimizers have the states of a plain run."""
        attributes = vars(self.algorithm)
        attributes.update(self.parts)
        try:
            yield
        finally:
            for name, part in self.parts.items():
                attributes[name] = part.optimizer


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
        self.package, self.optimizer = package, optimizer
        before = optimizer.state_dict()
        self._numbers = [group["params"] for group in before["param_groups"]]
        groups = optimizer.param_groups
        self._all_parameters = [p for group in groups for p in group["params"]]
        self._required = [p.requires_grad for p in self._all_parameters]
        self.parameters = [p for p in self._all_parameters if p.requires_grad]
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
        module = LossModule(self.parameters)
        for scalar in scalars:  # DeepSpeed fails to broadcast them, without need
            scalar.ds_optim_param = True
        self.engine = package.initialize(
            model=module, optimizer=optimizer, config=_config(stage)
        )[0]
        for scalar in scalars:
            del scalar.ds_optim_param
        if before["state"]:
            self.load_state_dict(before)

    def trained(self) -> list[nn.Parameter]:
        """The parameters that require gradients.

        Raises:
            RuntimeError: If they are not those at the start.
        """
        if [p.requires_grad for p in self._all_parameters] != self._required:
            raise RuntimeError(
                "engine = 'deepspeed': what requires gradients has changed since the"
                " run began; freeze before it, or take engine='ddp'"
            )
        return self.parameters

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, as it would be in one process."""
        if self.stage == 0:
            return self.optimizer.state_dict()
        pairs = zip(self.optimizer.param_groups, self._numbers, strict=True)
        groups = [{**group, "params": numbers} for group, numbers in pairs]
        first = next(iter(self.optimizer.state.values()), {})
        self._link()
        state = {
            number: {key: self._entry(p, key, x) for key, x in first.items()}
            for number, p in enumerate(self._all_parameters)
            if first and p.requires_grad
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or of an optimizer alone."""
        if self.stage == 0:
            self.optimizer.load_state_dict({**state})
            return
        pairs = zip(self.optimizer.param_groups, state["param_groups"], strict=True)
        for group, saved in pairs:
            group.update({k: v for k, v in saved.items() if k != "params"})
        entries = state["state"]
        self._clear(next(iter(entries.values()), {}))
        for number, parameter in enumerate(self._all_parameters):
            for key, value in entries.get(number, {}).items():
                if key != "step":
                    self.write(parameter, value, key)

    def write(self, parameter: nn.Parameter, value: Tensor, *key: str) -> None:
        """Set the optimizer's master weight, or its state's entry of a key, to a
        whole tensor."""
        kind = "optimizer_state" if key else "fp32_param"
        part = "local" if self.stage == 3 else "full"
        if self.stage == 3:  # "full" fails there unless ranks share it equally
            value = _share(value, parameter)
        if self.stage > 0:
            write = getattr(self.package.utils, f"safe_set_{part}_{kind}")
            write(parameter, value, *key)

    def _entry(self, parameter: nn.Parameter, key: str, flat: Tensor) -> Tensor:
        """An entry of the optimizer's state, in the shape of its parameter."""
        if key == "step":  # one for all parameters
            return flat.clone()
        return self.package.utils.safe_get_full_optimizer_state(parameter, key)

    def _clear(self, entry: Mapping[str, Tensor]) -> None:
        """Reset the optimizer's state to that before its first step, but for the number
        of steps, with the keys of an entry, if it has none yet."""
        state = self.optimizer.state
        for flat in self._flat_shares():
            for name, x in (entry or state[flat]).items():
                if name == "step":
                    steps = x if entry else torch.zeros_like(x)
                    state[flat][name] = steps.clone().to(flat.device)
                else:
                    state[flat].setdefault(name, torch.zeros_like(flat)).zero_()
        self._link()

    def _flat_shares(self) -> list[Tensor]:
        """The flat tensors that hold this process's share of the weights."""
        zero = self.engine.optimizer
        if self.stage == 3:
            return zero.fp32_partitioned_groups_flat
        return zero.single_partition_of_fp32_groups

    def _link(self) -> None:
        """Let DeepSpeed find the optimizer's state of each parameter.

        By default it does so within its first step, for the first group alone.
        """
        if self.stage < 3 and self.optimizer.state:
            groups = self.engine.optimizer.bit16_groups
            for group, flat in zip(groups, self._flat_shares(), strict=True):
                link = self.package.utils.lazy_init_hp_params_optimizer_state
                link(group, flat, self.optimizer.state)


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


def _status(parameter: Any) -> str:
    """Whether DeepSpeed has gathered a parameter; "" if it does not share it."""
    return parameter.ds_status.name if hasattr(parameter, "ds_status") else ""


def _share(value: Tensor, parameter: Any) -> Tensor:
    """This process's share of a whole tensor, padded with zeros."""
    count = parameter.ds_tensor.numel()
    missing = count * ranks().count - value.numel()
    return pad(value.flatten(), (0, missing)).narrow(0, count * ranks().rank, count)


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
