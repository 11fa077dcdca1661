"""Worlds of MuJoCo: one model, N times, with rewards and pictures."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.inputs import check_choice, check_range
from yieldrl.envs.physics import model as models
from yieldrl.envs.physics.backend import Backend, State


class PhysicsVectorEnv(TorchVectorEnv):
    """Base class of MuJoCo's worlds.

    A subclass defines observations in `parts`, rewards in `rewards`, and when episodes
    end in `terminated`. A step depends only on the state and the actions, so states can
    be saved, replaced and continued bitwise.

    The `info` of a step has the terms of the reward, `reward_...`, and the velocities
    of `measure`, each `[N]`, for the state of `final_obs`.

    Args:
        backend: "mujoco" (on the CPU, in float64) or "warp" (MuJoCo Warp, for GPUs, in
            float32); None to choose by the device.
        threads: Threads of the mujoco backend; None for one per core.
        device: Where the tensors live.
        dtype: Dtype of observations: float32, or float64 if the physics has it.
        model_fields: Fields of the `MjModel` by name: see `set_parameters`.
        kwargs: Attributes, parameters of `set_parameters`, arguments of
            `TorchVectorEnv` but `compile`.

    Raises:
        ImportError: If mujoco is missing, or too old.
        ValueError: If an argument is not as above, or the model has activations.
    """

    recordable: ClassVar[bool] = False  # MuJoCo steps it, with graphs of its own
    max_episode_steps = 1000
    xml_file: str
    """The model: a path, or the name of a file of gymnasium."""
    frame_skip: int
    """Physics steps per step of the environment."""
    fields: Sequence[str] = ()
    """Names of arrays of `MjData` that become part of the state."""
    reset_noise_scale: float
    """First positions are uniform within this distance of the model's own, and so are
    first velocities."""
    normal_velocities: bool = False
    """Whether first velocities are normal, with this standard deviation."""
    width: int = 480
    """Width of rendered frames, in pixels."""
    height: int = 480
    """Height of rendered frames, in pixels."""
    camera: ClassVar[dict[str, Any]] = {
        "type": 1,  # the camera follows a body
        "trackbodyid": 1,
        "distance": 4.0,
        "elevation": -20.0,
    }
    """Attributes of the `MjvCamera` for rendering."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    parameter_names = models.PARAMETERS

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
        check_range("num_envs", num_envs, 1)
        check_range("frame_skip", self.frame_skip, 1)
        self.model = model = models.load(self.xml_file, small="cfrc_ext" in self.fields)
        self.dt = model.opt.timestep * self.frame_skip  # seconds from step to step
        self.metadata = {**self.metadata, "render_fps": round(1 / self.dt)}
        self.noise_size = model.nq + model.nv
        parts = model, num_envs, self.fields, threads, device
        self.backend = _backend(backend, device)(*parts)
        check_choice("dtype", dtype, {torch.float32, self.backend.dtype})
        low, high = model.actuator_ctrlrange.T.astype(np.float32)
        self.single_action_space = spaces.Box(low, high)
        memory = {**self.backend.inputs, **self.backend.outputs}
        one = {name: x[:1].movedim(0, -1) for name, x in memory.items()}
        shape = (sum(part.numel() for part in self.parts(one)),)
        kind: Any = torch.empty(0, dtype=dtype).numpy().dtype
        self.single_observation_space = spaces.Box(-np.inf, np.inf, shape, kind)
        given = kwargs.keys() & {*models.PARAMETERS}
        parameters = {name: kwargs.pop(name) for name in given}
        super().__init__(num_envs, dtype=self.backend.dtype, device=device, **kwargs)
        start = torch.tensor(model.qpos0, dtype=self.dtype, device=self.device)
        self.init_qpos = start.unsqueeze(-1)
        self._info: State = {}  # info of the last call of `dynamics`
        self._unvaried_fields: dict[str, Tensor] = {}  # fields of the model, as tensors
        self.set_parameters({**parameters, **(model_fields or {})})

    def parts(self, state: State) -> list[Tensor]:
        """Parts of the observation, `[..., N]`: by default positions and velocities."""
        return [state["qpos"], state["qvel"]]

    def observe(self, state: State) -> Tensor:
        rows = [part.reshape(-1, self.num_envs) for part in self.parts(state)]
        return torch.cat([row.T for row in rows], dim=1).to(self._obs_dtype)

    def measure(self, before: State, after: State) -> State:
        """Measures of a step, for the reward and for `info`, by name, each `[N]`."""
        return {}

    def rewards(self, measures: State, action: Tensor, after: State) -> State:
        """Terms of the reward by name, each `[N]`; costs are negative."""
        raise NotImplementedError(f"{type(self)} lacks rewards(...)")

    def terminated(self, state: State) -> Tensor:
        """Whether episodes end in this state, bool `[N]`; by default never."""
        return torch.zeros_like(state["qpos"][0], dtype=torch.bool)

    def initial_state(self, noise: Tensor) -> State:
        scale, (nq, nv) = self.reset_noise_scale, (self.model.nq, self.model.nv)
        position, velocity = noise.split([nq, nv])
        if self.normal_velocities:
            tiny = torch.finfo(noise.dtype).eps / 4  # noise may be 0, never 1
            velocity = torch.special.ndtri(velocity.clamp(min=tiny))
        else:
            velocity = 2 * velocity - 1
        state = {
            "qpos": self.init_qpos + scale * (2 * position - 1),
            "qvel": scale * velocity,
            "qacc_warmstart": torch.zeros_like(velocity),
        }
        return {**state, **self.backend.fields(state)}

    def dynamics(self, state: State, action: Tensor) -> tuple[State, Tensor, Tensor]:
        """Apply constant controls for `frame_skip` steps of the physics."""
        with torch.no_grad():
            after = self.backend.step(state, action, self.frame_skip)
            measures = self.measure(state, after)
            terms = self.rewards(measures, action, after)
            named = {f"reward_{name}": term for name, term in terms.items()}
            self._info = {**measures, **named}
            reward = torch.as_tensor(sum(terms.values()))
            return after, reward, self.terminated(after)

    def step_info(self, reward: Tensor, ignored: Tensor | None) -> State:
        """The measures and the terms of the reward, zero where a step only reset."""
        if ignored is None:
            return dict(self._info)
        return {name: x.masked_fill(ignored, 0) for name, x in self._info.items()}

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        fields = self.backend.varied
        return self.painter.draw(state["qpos"], state["qvel"], fields, index)

    @cached_property
    def painter(self) -> Any:
        """What draws worlds, in a context of OpenGL of its own."""
        from yieldrl.envs.physics.picture import Painter

        return Painter(self.model, self.camera, self.width, self.height)

    @property
    def differs(self) -> bool:
        return bool(self.backend.varied)

    def set_parameters(
        self, values: Mapping[str, Any], where: Tensor | None = None
    ) -> None:
        """Change the worlds' physics, from the next step on.

        Earlier changes stay unless named again. `state_dict` does not contain them.

        Args:
            values: `gravity` (m/s^2, downwards), or `mass_scale` (of inertias too),
                `friction_scale`, `damping_scale`, `gear_scale`, which multiply the
                model's own values: a number, or one per world, `[N]`. Or fields of the
                `MjModel` by name, `[N, ...]`: `"body_pos"`, or `"opt.wind"` of its
                options. MuJoCo updates quantities that it derives from them.
            where: Mask of worlds to change, bool `[N]`; None for all.

        Raises:
            ValueError: If there is no such parameter or field, its shape is another, or
                (for all worlds) a scale is negative.
        """
        fields = models.fields_of(self, values, check=where is None)
        for name, field in fields.items():
            if where is None:
                break
            rows = where.view(-1, *[1] * (field.ndim - 1))
            before = self.backend.varied.get(name, models.unvaried_field(self, name))
            fields[name] = torch.where(rows, field, before)
        if fields:
            self.backend.vary(fields, where)

    def close_extras(self, **kwargs: Any) -> None:
        super().close_extras(**kwargs)
        self.backend.close()
        if "painter" in vars(self):
            self.painter.close()


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
