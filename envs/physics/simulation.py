"""N worlds of one MuJoCo model: made, varied, observed, drawn and closed."""

# pyright: reportAttributeAccessIssue=false
# mujoco has no types for its compiled half.

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.checks import check_counts
from yieldrl.envs.physics import model as models
from yieldrl.envs.physics.backend import Backend, State


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
        dtype: Of the observations: float32, or where the physics are, float64.
        width: Of pictures, in pixels.
        height: Of pictures, in pixels.
        model_fields: Fields of the `MjModel` by name: see `vary`.
        kwargs: Parameters of `vary`, and arguments of `TorchVectorEnv` but `compile`.

    Raises:
        ImportError: If mujoco is missing, or too old.
        MemoryError: If so many worlds take more memory than the machine has.
        ValueError: If an argument is not as above, or the model has activations.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
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
        width: int = 480,
        height: int = 480,
        model_fields: Mapping[str, Tensor] | None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("compile"):
            raise ValueError("compile = True: physics is compiled code already")
        counts = {} if threads is None else {"threads": threads}
        check_counts(num_envs=num_envs, frame_skip=frame_skip, **counts)
        self.model = model = models.load(xml_file, small="cfrc_ext" in fields)
        self.dt = model.opt.timestep * frame_skip  # seconds from step to step
        self.metadata = {**self.metadata, "render_fps": round(1 / self.dt)}
        self.frame_skip, self.picture_size = frame_skip, (width, height)
        self.noise_size = model.nq + model.nv
        parts = model, num_envs, (*fields, *self.info_fields), threads, device
        self.backend = _backend(backend, device)(*parts)
        self._set_spaces(dtype)
        given = [name for name in models.PARAMETERS if name in kwargs]
        parameters = {name: kwargs.pop(name) for name in given}
        super().__init__(num_envs, device=device, dtype=self.backend.dtype, **kwargs)
        start = torch.tensor(model.qpos0, dtype=self.dtype, device=self.device)
        self.init_qpos = start.unsqueeze(-1)
        self._varied: dict[str, Tensor] = {}
        self._own_fields: dict[str, Tensor] = {}  # of the model, as tensors
        self.vary(model_fields=model_fields, **parameters)

    def _set_spaces(self, dtype: torch.dtype) -> None:
        known = {torch.float32: np.float32, torch.float64: np.float64}
        if dtype not in known or dtype.itemsize > self.backend.dtype.itemsize:
            raise ValueError(
                f"dtype = {dtype}: observations are float32, or float64 where"
                f" the physics are, which here are {self.backend.dtype}"
            )
        low, high = self.model.actuator_ctrlrange.T.astype(np.float32)
        self.single_action_space = spaces.Box(low, high)
        memory = {**self.backend.inputs, **self.backend.outputs}
        one = {name: x[:1].movedim(0, -1) for name, x in memory.items()}
        shape = (sum(part.numel() for part in self.parts(one)),)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, shape, known[dtype])

    def parts(self, state: State) -> list[Tensor]:
        """What is observed, `[..., N]`, in order: here positions and velocities."""
        return [state["qpos"], state["qvel"]]

    def observe(self, state: State) -> Tensor:
        rows = [part.reshape(-1, self.num_envs) for part in self.parts(state)]
        return torch.cat([row.T for row in rows], dim=1).to(self._obs_dtype)

    def vary(
        self, *, model_fields: Mapping[str, Tensor] | None = None, **parameters: Any
    ) -> None:
        """Change the worlds' physics, from the next step on.

        What was set before stays unless it is named again. `state_dict` leaves it out.

        Args:
            model_fields: Fields of the `MjModel` by name, `[N, ...]`: `"body_pos"`, or
                `"opt.wind"` of its options. What MuJoCo derives from them follows.
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
        if name in models.PARAMETERS:
            self.vary(**{name: values})
        else:
            super().set_attr(name, values)

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        if self._painter is None:
            from yieldrl.envs.physics.picture import Painter

            self._painter = Painter(self.model, self.camera, *self.picture_size)
        model = models.of_world(self.model, self._varied, index)
        return self._painter.draw(model, state["qpos"], state["qvel"])

    def close_extras(self, **kwargs: Any) -> None:
        super().close_extras(**kwargs)
        self.backend.close()
        if self._painter is not None:
            self._painter.close()


def _backend(name: str | None, device: str | torch.device) -> type[Backend]:
    """The class of this name, or the one that suits the device."""
    on_cpu = torch.device(device).type == "cpu"
    name = name or ("mujoco" if on_cpu else "warp")
    if name == "warp":
        from yieldrl.envs.physics.warp import WarpBackend

        return WarpBackend
    if name != "mujoco" or not on_cpu:
        raise ValueError(
            f"backend = {name!r} on {device}: use 'mujoco' on the CPU, or 'warp'"
        )
    from yieldrl.envs.physics.batch import BatchBackend

    return BatchBackend
