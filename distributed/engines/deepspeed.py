"""DeepSpeed's ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054)."""

import copy
import importlib
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl.distributed.engines.base import Engine
from yieldrl.distributed.engines.losses import Compute, clip
from yieldrl.distributed.engines.zero_part import ZeroPart
from yieldrl.foundations import Config
from yieldrl.runtime import frozen


class DeepSpeedEngine(Engine):
    """DeepSpeed with `zero_stage`, one of its engines for each optimizer.

    Frozen parameters stay whole in each process, and the set of trained ones must not
    change. A parameter that a loss does not depend on has a gradient of 0, which for
    PyTorch's optimizers is not the same as none.

    Attributes:
        parts: The `ZeroPart` of each optimizer.

    Raises:
        ImportError: If DeepSpeed is not installed.
    """

    def __init__(self, config: Config, algorithm: Any) -> None:
        super().__init__(config, algorithm)
        self.package = import_deepspeed(algorithm.device.type)
        self.stage: int = config.zero_stage
        self.parts: dict[str, ZeroPart] = {}
        for name, one in vars(algorithm).items():
            if isinstance(one, Optimizer):
                self.parts[name] = ZeroPart(self.package, one, self.stage)
        self.parameters = [p for part in self.parts.values() for p in part.parameters]

    def trained(self, optimizer: Optimizer) -> list[nn.Parameter]:
        """The parameters of an optimizer that require gradients.

        Raises:
            RuntimeError: If they are not those at the start.
        """
        return self.part(optimizer).trained()

    def part(self, optimizer: Optimizer) -> ZeroPart:
        """The `ZeroPart` of an optimizer.

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
        own = {id(p) for p in part.parameters}
        others = [p for p in self.parameters if id(p) not in own and p.requires_grad]
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

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's whole state in every process, as of a run in one process."""
        with self.gathered(), self._plain_optimizers():
            return copy.deepcopy(self.algorithm.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or in a run in one process."""
        with self._read(self.parameters, first=0), self._plain_optimizers():
            self.algorithm.load_state_dict(state)
            values = [p.detach().clone() for p in self.parameters]
        of_all = iter(values)
        for part in self.parts.values():
            for parameter in part.parameters:
                part.write(parameter, next(of_all))

    def whole(self) -> AbstractContextManager[Any]:
        """The outermost context of `gathered`."""
        return self._read(self.parameters)

    def _read(
        self, parameters: Sequence[nn.Parameter], first: int | None = None
    ) -> AbstractContextManager[Any]:
        """Inside, parameters are whole; what the process `first` writes stays."""
        if self.stage < 3 or not parameters:
            return nullcontext()
        options = {"modifier_rank": first}
        return self.package.zero.GatheredParameters([*parameters], **options)

    @contextmanager
    def _plain_optimizers(self) -> Iterator[None]:
        """Inside, the algorithm's optimizers have the states of a plain run."""
        own = vars(self.algorithm)
        own.update(self.parts)
        try:
            yield
        finally:
            own.update({name: part.optimizer for name, part in self.parts.items()})


def import_deepspeed(device: str) -> Any:
    """The package, for a type of device; it joins the existing process group.

    Raises:
        ImportError: If it is not installed; the message tells how to install it.
    """
    os.environ.setdefault("DS_ACCELERATOR", device)
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    said = r"`torch\.distributed\.\w+` is deprecated"  # in each exchange of ZeRO-3
    warnings.filterwarnings("ignore", said, FutureWarning)
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
