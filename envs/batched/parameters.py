"""Constants of worlds: one number for all environments, or one for each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor


class Parameters:
    """Attributes of a batch of worlds, read and replaced one environment at a time."""

    num_envs: int
    device: torch.device
    dtype: torch.dtype
    reset_parameters: Mapping[str, str] = MappingProxyType({})
    """Options of `reset`, and the parameters that each replaces for that reset."""

    def parameter(self, name: str, value: Any) -> Tensor:
        """A constant as a tensor `[]` or `[N]`, with its graph; ValueError if of
        another shape."""
        value = torch.as_tensor(value, dtype=self.dtype, device=self.device)
        if value.shape not in ((), (self.num_envs,)):
            wanted = f"give one number, or {self.num_envs} of them"
            raise ValueError(f"{name} has the shape {list(value.shape)}: {wanted}")
        return value

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameters that `set_parameters` takes."""
        first_states = {"state", *self.reset_parameters.values()}
        return tuple(
            name
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
            and value.is_floating_point()
            and value.shape in ((), (self.num_envs,))
            and name not in first_states
            and not name.startswith("_")
        )

    def _check_parameters(self, names: Mapping[str, Any]) -> None:
        known = self.parameter_names
        unknown = sorted(names.keys() - set(known))
        if unknown:
            raise ValueError(f"no parameters {unknown}: there are {list(known)}")

    def set_parameters(
        self, values: Mapping[str, Any], where: Tensor | None = None
    ) -> None:
        """Change several parameters at once, from the next step on; or ValueError.

        Args:
            values: By name, numbers or tensors `[N]`.
            where: In which environments, bool `[N]`; None for all.
        """
        self._check_parameters(values)
        new = {name: self.parameter(name, value) for name, value in values.items()}
        for name, value in new.items():
            old = getattr(self, name)
            value = value if where is None else torch.where(where, value, old)
            setattr(self, name, value)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each environment: of tensors `[..., N]`, its own column."""
        return self._split(getattr(self, name))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """A method's result, or an attribute, for each environment."""
        value = getattr(self, name)
        return self._split(value(*args, **kwargs) if callable(value) else value)

    def set_attr(self, name: str, values: Any) -> None:
        """Replace a parameter by one number or N, other attributes by one for all.

        Raises:
            AttributeError: If there is no such attribute.
            ValueError: If values differ of an attribute that all of them share.
        """
        old, n = getattr(self, name), self.num_envs
        if isinstance(old, Tensor) and old.shape in ((), (n,)):
            values = values if isinstance(values, Tensor) else torch.as_tensor(values)
            setattr(self, name, self.parameter(name, values.to(old)))
            return
        several = isinstance(values, list | tuple) and len(values) == n
        if several and any(value != values[0] for value in values):
            raise ValueError(
                f"{name} = {values}: all {n} environments share one {name}; parameters"
                " that are tensors can differ"
            )
        setattr(self, name, values[0] if several else values)

    def _split(self, value: Any) -> tuple[Any, ...]:
        """Of tensors `[..., N]`, in dicts too, the columns; N times everything else."""
        n = self.num_envs
        if isinstance(value, Mapping):
            columns = {key: self._split(child) for key, child in value.items()}
            return tuple({key: columns[key][i] for key in columns} for i in range(n))
        if isinstance(value, Tensor) and value.ndim == 0:
            value = value.item()
        if not isinstance(value, Tensor) or value.shape[-1] != n:
            return (value,) * n
        return tuple(value.tolist() if value.ndim == 1 else value.unbind(-1))
