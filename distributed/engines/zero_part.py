"""One optimizer, run by DeepSpeed."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.optim import Optimizer

from yieldrl.distributed.engines.losses import LossModule
from yieldrl.foundations import ranks


class ZeroPart:
    """A DeepSpeed engine for an optimizer and the parameters that it trains.

    Args:
        package: DeepSpeed.
        optimizer: Any of PyTorch's; DeepSpeed puts other tensors into its groups, and
            their options, such as learning rates, stay in them.
        stage: Stage of ZeRO, 0 to 3.

    Attributes:
        engine: The engine of DeepSpeed.
        parameters: The trained parameters.
    """

    def __init__(self, package: Any, optimizer: Optimizer, stage: int) -> None:
        self.package, self.optimizer, self.stage = package, optimizer, stage
        before = optimizer.state_dict()
        self._groups = [[*group["params"]] for group in optimizer.param_groups]
        every = [p for group in self._groups for p in group]
        self._asked = [p.requires_grad for p in every]
        self.parameters = [p for p in every if p.requires_grad]
        dtypes = {p.dtype for p in self.parameters}
        if stage and dtypes != {torch.float32}:
            raise ValueError(
                f"zero_stage = {stage} trains float32 alone, and this model has"
                f" {', '.join(sorted(map(str, dtypes)))}: choose engine = 'fsdp2' or"
                " zero_stage = 0"
            )
        numbers: list[Any] = [p for p in self.parameters if p.ndim == 0]
        if len(numbers) == len(self.parameters):
            self.stage = stage = 0  # nothing to partition
        elif numbers and stage == 3:
            raise ValueError(
                "zero_stage = 3 takes no parameter of shape () beside others: give it"
                " shape (1,), or choose zero_stage = 2"
            )
        module = LossModule(self.parameters)
        parts = {"model": module, "optimizer": optimizer, "config": _config(stage)}
        for number in numbers:  # their broadcast fails, and is not needed
            number.ds_optim_param = True
        self.engine = package.initialize(**parts)[0]
        for number in numbers:
            del number.ds_optim_param
        if before["state"]:
            self.load_state_dict(before)

    def trained(self) -> list[nn.Parameter]:
        """The parameters that require gradients.

        Raises:
            RuntimeError: If they are not those at the start.
        """
        now = [p.requires_grad for group in self._groups for p in group]
        if now != self._asked:
            raise RuntimeError(
                "engine = 'deepspeed': what requires gradients has changed since the"
                " run began; freeze before it, or take engine='ddp'"
            )
        return self.parameters

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, as it would be in one process."""
        if self.stage == 0:
            return self.optimizer.state_dict()
        groups, count = [], 0
        for group, own in zip(self.optimizer.param_groups, self._groups, strict=True):
            groups.append({**group, "params": [*range(count, count + len(own))]})
            count += len(own)
        known = next(iter(self.optimizer.state.values()), {})
        self._link()
        state = {
            number: {key: self._entry(p, key, x) for key, x in known.items()}
            for number, p in enumerate(self._every())
            if known and p.requires_grad
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or of an optimizer alone."""
        if self.stage == 0:
            self.optimizer.load_state_dict({**state})
            return
        given = zip(self.optimizer.param_groups, state["param_groups"], strict=True)
        for own, group in given:
            own.update({k: v for k, v in group.items() if k != "params"})
        entries = state["state"]
        self._clear(next(iter(entries.values()), {}))
        for number, parameter in enumerate(self._every()):
            for key, value in entries.get(number, {}).items():
                if key != "step":
                    self.write(parameter, value, key)

    def write(self, parameter: nn.Parameter, value: Tensor, *key: str) -> None:
        """Set the optimizer's master weight, or its state's entry of a key, to a
        whole tensor."""
        what = "optimizer_state" if key else "fp32_param"
        if self.stage in (1, 2):
            set_ = getattr(self.package.utils, f"safe_set_full_{what}")
            set_(parameter, value, *key)
        elif self.stage == 3:
            set_ = getattr(self.package.utils, f"safe_set_local_{what}")
            set_(parameter, _share(value, parameter), *key)

    def _every(self) -> list[nn.Parameter]:
        return [p for group in self._groups for p in group]

    def _entry(self, parameter: nn.Parameter, key: str, flat: Tensor) -> Tensor:
        """An entry of the optimizer's state, in the shape of its parameter."""
        if key == "step":  # one for all parameters
            return flat.clone()
        return self.package.utils.safe_get_full_optimizer_state(parameter, key)

    def _clear(self, entry: Mapping[str, Tensor]) -> None:
        """Reset the optimizer's state to that before its first step, but for the number
        of steps, with the keys of an entry, if it has none yet."""
        state = self.optimizer.state
        for flat in self._flats():
            for name, x in (entry or state[flat]).items():
                if name == "step":
                    steps = x if entry else torch.zeros_like(x)
                    state[flat][name] = steps.clone().to(flat.device)
                else:
                    state[flat].setdefault(name, torch.zeros_like(flat)).zero_()
        self._link()

    def _flats(self) -> list[Tensor]:
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
            for group, flat in zip(groups, self._flats(), strict=True):
                link = self.package.utils.lazy_init_hp_params_optimizer_state
                link(group, flat, self.optimizer.state)


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
