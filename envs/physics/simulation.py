"""N worlds of one MuJoCo model: made, varied, observed, drawn and closed."""

# pyright: reportAttributeAccessIssue=false
# mujoco has no types for its compiled half.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.physics import model as models
from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.backends import make_backend


class SimulationVectorEnv(TorchVectorEnv):
    """Everything about MuJoCo's worlds but their rewards.

    Args:
        num_envs: N, the number of worlds.
        xml_file: The model, looked for among gymnasium's unless it is a path.
        frame_skip: Steps of the physics in a step of the environment.
        fields: Names of those arrays of `MjData` that become part of the state.
        backend: "mujoco" (on the CPU, in float64) or "warp" (MuJoCo Warp, for GPUs, in
            float32); None for the one that suits the device.
        threads: Of the physics in mujoco; None for one per core.
        device: Where the tensors live.
        dtype: Of the observations: float32, or float64 as gymnasium's are (and as the
            states of mujoco are in any case).
        compile: Must be False: MuJoCo is compiled code already.
        width: Of pictures, in pixels.
        height: Of pictures, in pixels.
        model_fields: Fields of the `MjModel` by name: see `vary`.
        kwargs: Parameters of `vary` (`gravity`, in m/s^2, downwards; `mass_scale`,
            masses and inertias as multiples of the model's; `friction_scale`,
            `damping_scale`, `gear_scale`), and arguments of `TorchVectorEnv`.

    Raises:
        ImportError: If mujoco is missing, or too old.
        MemoryError: If so many worlds take more memory than the machine has.
        ValueError: If an argument is not as above, or the model has a state that is not
            kept here (activations, plugins).
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (as in gymnasium)
    camera: ClassVar[dict[str, Any]] = {
        "type": 1,  # it follows a body
        "trackbodyid": 1,
        "distance": 4.0,
        "elevation": -20.0,
    }
    """Attributes of the `MjvCamera` that pictures are taken with."""
    info_fields: ClassVar[Sequence[str]] = ()
    """Names of those arrays of `MjData` that only `info` is made of."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        xml_file: str,
        frame_skip: int,
        fields: Sequence[str] = (),
        backend: str | None = None,
        threads: int | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        compile: bool = False,  # noqa: A002 (as in the base class)
        width: int = 480,
        height: int = 480,
        model_fields: Mapping[str, Tensor] | None = None,
        **kwargs: Any,
    ) -> None:
        if compile:
            raise ValueError("compile = True: physics is compiled code already")
        _check_counts(num_envs=num_envs, frame_skip=frame_skip, threads=threads)
        contacts = "cfrc_ext" in fields  # each world keeps an `MjData` for them
        self.model = model = models.load(xml_file, small=contacts)
        self.frame_skip = frame_skip
        self.dt = model.opt.timestep * frame_skip  # seconds from step to step
        self.metadata = {**self.metadata, "render_fps": round(1 / self.dt)}
        self.picture_size = width, height
        self.noise_size = model.nq + model.nv
        wanted = (*fields, *self.info_fields)
        self.backend = make_backend(backend, model, num_envs, wanted, threads, device)
        self._set_spaces(fields, dtype)
        given = [name for name in models.PARAMETERS if name in kwargs]
        parameters = {name: kwargs.pop(name) for name in given}
        super().__init__(num_envs, device=device, dtype=self.backend.dtype, **kwargs)
        start = torch.tensor(model.qpos0, dtype=self.dtype, device=self.device)
        self.init_qpos = start.unsqueeze(-1)
        self._varied: dict[str, Tensor] = {}
        self._own_fields: dict[str, Tensor] = {}  # of the model, as tensors
        self.vary(model_fields=model_fields, **parameters)

    def _set_spaces(self, fields: Sequence[str], dtype: torch.dtype) -> None:
        known = {torch.float32: np.float32, torch.float64: np.float64}
        if dtype not in known or dtype.itemsize > self.backend.dtype.itemsize:
            raise ValueError(
                f"dtype = {dtype}: observations are float32, or float64 where"
                f" the physics are, which here are {self.backend.dtype}"
            )
        low, high = self.model.actuator_ctrlrange.T.astype(np.float32)
        self.single_action_space = spaces.Box(low, high)
        size = sum(x.numel() for x in self.parts(models.blank(self.model, fields)))
        real = known[dtype]
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (size,), real)

    def parts(self, state: State) -> list[Tensor]:
        """What is observed, in order: tensors `[..., N]`."""
        raise NotImplementedError(f"{type(self)} lacks parts(state)")

    def observe(self, state: State) -> Tensor:
        """The parts one after the other, `[N, D]`."""
        rows = [part.reshape(-1, self.num_envs) for part in self.parts(state)]
        return torch.cat([row.T for row in rows], dim=1).to(self._obs_dtype)

    def vary(
        self, *, model_fields: Mapping[str, Tensor] | None = None, **parameters: Any
    ) -> None:
        """Change the worlds' physics, from the next step on.

        What was set before stays unless it is named again. It is not part of
        `state_dict`, like all that the constructor is given.

        Args:
            model_fields: Fields of the `MjModel` as tensors `[N, ...]`, one value per
                world, by name: `{"body_pos": ...}`. Those of its options are named
                like `"opt.wind"`. What MuJoCo derives from them follows.
            parameters: `gravity` (m/s^2, downwards), or `mass_scale` (of inertias too),
                `friction_scale`, `damping_scale`, `gear_scale`, which multiply the
                model's own values: a number, or one per world, `[N]`.

        Raises:
            TypeError: If a parameter is unknown.
            ValueError: If a value is negative or of a wrong shape, or a field unknown.
        """
        fields = models.varied(self, parameters, model_fields or {})
        if fields:
            self.backend.vary(fields)
        self._varied |= fields

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameters of `vary`."""
        return models.PARAMETERS

    def set_parameters(
        self, values: Mapping[str, Any], where: Tensor | None = None
    ) -> None:
        """As in the base class; MuJoCo computes anew for those worlds that change."""
        self._check_parameters(values)
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
        """As in the base class; for the parameters of `vary`, which calls that."""
        if name in models.PARAMETERS:
            self.vary(**{name: values})
        else:
            super().set_attr(name, values)

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        """What the camera sees of a world, uint8 `[height, width, 3]`."""
        if self._painter is None:
            from yieldrl.envs.physics.picture import Painter

            self._painter = Painter(self.model, self.camera, *self.picture_size)
        model = models.of_world(self.model, self._varied, index)
        return self._painter.draw(model, state["qpos"], state["qvel"])

    def close_extras(self, **kwargs: Any) -> None:
        """Give the memory of the physics and of the pictures back at once."""
        super().close_extras(**kwargs)
        self.backend.close()
        if self._painter is not None:
            self._painter.close()


def _check_counts(**counts: int | None) -> None:
    for name, number in counts.items():
        if number is not None and number < 1:
            raise ValueError(f"{name} = {number}: must be at least 1")
