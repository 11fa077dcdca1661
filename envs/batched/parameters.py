"""Constants of worlds: one value for all environments, or one for each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor


class Parameters:
    """Mixin to read and set attributes of a batch of worlds per environment."""

    num_envs: int
    device: torch.device
    dtype: torch.dtype
    reset_parameters: Mapping[str, str] = MappingProxyType({})
    """Option of `reset` -> parameter that it replaces for that reset."""

    def parameter(self, name: str, value: Any) -> Tensor:
        """A constant as a tensor `[]` or `[N]`, with its autograd graph; ValueError for
        other shapes."""
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
        """Change several parameters together, from the next step on; or ValueError.

        Args:
            values: Name -> number or tensor `[N]`.
            where: Mask of environments to change, bool `[N]`; None for all.
        """
        self._check_parameters(values)
        new = {name: self.parameter(name, value) for name, value in values.items()}
        for name, value in new.items():
            old = getattr(self, name)
            value = value if where is None else torch.where(where, value, old)
            setattr(self, name, value)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute per environment: of a tensor `[..., N]`, one column each."""
        return self._split(getattr(self, name))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """A method's result, or an attribute, for each environment."""
        value = getattr(self, name)
        return self._split(value(*args, **kwargs) if callable(value) else value)

    def set_attr(self, name: str, values: Any) -> None:
        """Set a parameter to one number or N, another attribute to one value for all.

        Raises:
            AttributeError: If there is no such attribute.
            ValueError: If values differ for an attribute that all environments share.
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
        """Split tensors `[..., N]`, also in dicts, by column; repeat other values."""
        n = self.num_envs
        if isinstance(value, Mapping):
            columns = {key: self._split(child) for key, child in value.items()}
            return tuple({key: columns[key][i] for key in columns} for i in range(n))
        if isinstance(value, Tensor) and value.ndim == 0:
            value = value.item()
        if not isinstance(value, Tensor) or value.shape[-1] != n:
            return (value,) * n
        return tuple(value.tolist() if value.ndim == 1 else value.unbind(-1))
