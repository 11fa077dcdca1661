"""N worlds of one MuJoCo model: construction, variation, observations."""

from collections.abc import Mapping, Sequence
from inspect import get_annotations
from typing import Any, ClassVar, get_origin

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.checks import check_counts
from yieldrl.envs.physics import model as models
from yieldrl.envs.physics.backend import Backend, State


class SimulationVectorEnv(TorchVectorEnv):
    """MuJoCo worlds, without rewards and rendering.

    Attributes declared with types, except ClassVars, are also arguments of the
    constructor; the values in the class are the defaults.

    Args:
        backend: "mujoco" (on the CPU, in float64) or "warp" (MuJoCo Warp, for GPUs, in
            float32); None to choose by the device.
        threads: Threads of the mujoco backend; None for one per core.
        device: Where the tensors live.
        dtype: Dtype of observations: float32, or float64 if the physics has it.
        model_fields: Fields of the `MjModel` by name: see `vary`.
        kwargs: Attributes, parameters of `vary`, arguments of `TorchVectorEnv` but
            `compile`.

    Raises:
        ImportError: If mujoco is missing, or too old.
        MemoryError: If the worlds take more memory than the machine has.
        ValueError: If an argument is not as above, or the model has activations.
    """

    xml_file: str
    """The model: a path, or the name of a file of gymnasium."""
    frame_skip: int
    """Physics steps per step of the environment."""
    fields: Sequence[str] = ()
    """Names of arrays of `MjData` that become part of the state."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    info_fields: ClassVar[Sequence[str]] = ()
    """Names of arrays of `MjData` that are used only for `info`."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        backend: str | None = None,
        threads: int | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        model_fields: Mapping[str, Tensor] | None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("compile"):
            raise ValueError("compile = True: physics is compiled code already")
        for name in kwargs.keys() & self._declared():
            setattr(self, name, kwargs.pop(name))
        counts = {} if threads is None else {"threads": threads}
        check_counts(num_envs=num_envs, frame_skip=self.frame_skip, **counts)
        self.model = model = models.load(self.xml_file, small="cfrc_ext" in self.fields)
        self.dt = model.opt.timestep * self.frame_skip  # seconds from step to step
        self.metadata = {**self.metadata, "render_fps": round(1 / self.dt)}
        self.noise_size = model.nq + model.nv
        parts = model, num_envs, (*self.fields, *self.info_fields), threads, device
        self.backend = _backend(backend, device)(*parts)
        self._set_spaces(dtype)
        given = kwargs.keys() & {*models.PARAMETERS}
        parameters = {name: kwargs.pop(name) for name in given}
        super().__init__(num_envs, device=device, dtype=self.backend.dtype, **kwargs)
        start = torch.tensor(model.qpos0, dtype=self.dtype, device=self.device)
        self.init_qpos = start.unsqueeze(-1)
        self._varied: dict[str, Tensor] = {}
        self._own_fields: dict[str, Tensor] = {}  # fields of the model, as tensors
        self.vary(model_fields=model_fields, **parameters)

    @classmethod
    def _declared(cls) -> set[str]:
        """The attributes that are arguments of the constructor."""
        worlds = [base for base in cls.__mro__ if issubclass(base, SimulationVectorEnv)]
        hints = [hint for base in worlds for hint in get_annotations(base).items()]
        return {name for name, hint in hints if get_origin(hint) is not ClassVar}

    def _set_spaces(self, dtype: torch.dtype) -> None:
        known = {torch.float32: np.float32, torch.float64: np.float64}
        if dtype not in known or dtype.itemsize > self.backend.dtype.itemsize:
            raise ValueError(
                f"dtype = {dtype}: observations are float32, or float64 where the"
                f" physics are, which here are {self.backend.dtype}"
            )
        low, high = self.model.actuator_ctrlrange.T.astype(np.float32)
        self.single_action_space = spaces.Box(low, high)
        memory = {**self.backend.inputs, **self.backend.outputs}
        one = {name: x[:1].movedim(0, -1) for name, x in memory.items()}
        shape = (sum(part.numel() for part in self.parts(one)),)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, shape, known[dtype])

    def parts(self, state: State) -> list[Tensor]:
        """Parts of the observation, `[..., N]`: by default positions and velocities."""
        return [state["qpos"], state["qvel"]]

    def observe(self, state: State) -> Tensor:
        rows = [part.reshape(-1, self.num_envs) for part in self.parts(state)]
        return torch.cat([row.T for row in rows], dim=1).to(self._obs_dtype)

    def vary(
        self, *, model_fields: Mapping[str, Tensor] | None = None, **parameters: Any
    ) -> None:
        """Change the worlds' physics, from the next step on.

        Earlier changes stay unless named again. `state_dict` does not contain them.

        Args:
            model_fields: Fields of the `MjModel` by name, `[N, ...]`: `"body_pos"`, or
                `"opt.wind"` of its options. Derived quantities are updated.
            parameters: `gravity` (m/s^2, downwards), or `mass_scale` (of inertias too),
                `friction_scale`, `damping_scale`, `gear_scale`, which multiply the
                model's own values: a number, or one per world, `[N]`.

        Raises:
            TypeError, ValueError: If a parameter or field is unknown, or a value
                negative or of a wrong shape.
        """
        fields = models.varied(self, parameters, model_fields or {})
        if fields:
            self.backend.vary(fields)
        self._varied |= fields

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return models.PARAMETERS

    def set_parameters(
        self, values: Mapping[str, Any], where: Tensor | None = None
    ) -> None:
        """As in the base class; MuJoCo updates derived quantities of changed worlds."""
        if where is None:
            self.vary(**values)
            return
        fields = models.fields_of(self, values)
        for name, field in fields.items():
            rows = where.view(-1, *[1] * (field.ndim - 1))
            before = self._varied.get(name, models.own_field(self, name))
            fields[name] = torch.where(rows, field, before)
        self.backend.vary(fields, where)
        self._varied |= fields

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of each world, or a field of its model, such as `body_mass`."""
        if not hasattr(self, name) and name in self._varied:
            return tuple(self._varied[name].unbind())
        return super().get_attr(name)

    def set_attr(self, name: str, values: Any) -> None:
        if name in models.PARAMETERS:
            self.vary(**{name: values})
        else:
            super().set_attr(name, values)

    def close_extras(self, **kwargs: Any) -> None:
        super().close_extras(**kwargs)
        self.backend.close()
        if self._painter is not None:
            self._painter.close()


def _backend(name: str | None, device: str | torch.device) -> type[Backend]:
    """The class of this name, or by default the one for the device."""
    on_cpu = torch.device(device).type == "cpu"
    name = name or ("mujoco" if on_cpu else "warp")
    if name == "warp":
        from yieldrl.envs.physics.warp import WarpBackend

        return WarpBackend
    if name == "mujoco" and on_cpu:
        from yieldrl.envs.physics.batch import BatchBackend

        return BatchBackend
    raise ValueError(
        f"backend = {name!r} on {device}: use 'mujoco' on the CPU, or 'warp'"
    )
