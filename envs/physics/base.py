"""N worlds of a MuJoCo model behind the interface of batched environments."""

# pyright: reportAttributeAccessIssue=false
# mujoco has no types for its compiled half.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs import batched_support as support
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.physics.backend import Backend, State


class PhysicsVectorEnv(TorchVectorEnv):
    """Base class of MuJoCo's worlds.

    A subclass says what is observed, in `parts`, and writes `reward` and `terminated`,
    as functions of tensors, whatever computes the physics. One step follows from the
    state and the actions alone, so states can be saved, replaced and continued bitwise.

    Args:
        num_envs: N, the number of worlds.
        xml_file: The model, looked for among gymnasium's unless it is a path.
        frame_skip: Steps of the physics in a step of the environment.
        fields: Names of those arrays of `MjData` that become part of the state.
        reset_noise_scale: How far first states are from the model's own.
        normal_velocities: Whether first velocities are normal, not uniform.
        max_episode_steps: Time limit in steps, or None.
        backend: "mujoco" (on the CPU, in float64) or "warp" (MuJoCo Warp, for GPUs, in
            float32); None for the one that suits the device.
        threads: Of the physics in mujoco; None for one per core.
        device: Where the tensors live.
        dtype: That of the backend, or None.
        compile: Must be False: MuJoCo is compiled code already.
        kwargs: Arguments of `TorchVectorEnv`.

    Raises:
        ImportError: If mujoco is missing, or too old.
        ValueError: If an argument is not as above, or the model has a state that is not
            kept here (activations, plugins).
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        xml_file: str,
        frame_skip: int,
        fields: Sequence[str] = (),
        reset_noise_scale: float,
        normal_velocities: bool = False,
        max_episode_steps: int | None = 1000,
        backend: str | None = None,
        threads: int | None = None,
        device: str | torch.device = "cpu",
        dtype: torch.dtype | None = None,
        compile: bool = False,  # noqa: A002 (as in the base class)
        **kwargs: Any,
    ) -> None:
        if compile:
            raise ValueError("compile = True: physics is compiled code already")
        for name, number in (("frame_skip", frame_skip), ("threads", threads)):
            if number is not None and number < 1:
                raise ValueError(f"{name} = {number}: must be at least 1")
        self.model = model = _load(xml_file)
        self.frame_skip = frame_skip
        self.dt = model.opt.timestep * frame_skip  # seconds from step to step
        self.reset_noise_scale = reset_noise_scale
        self.normal_velocities = normal_velocities
        self.noise_size = model.nq + model.nv
        self.backend = _backend(backend, model, num_envs, fields, threads, device)
        if dtype not in (None, self.backend.dtype):
            raise ValueError(f"dtype = {dtype}: here it is {self.backend.dtype}")
        low, high = model.actuator_ctrlrange.T.astype(np.float32)
        self.single_action_space = spaces.Box(low, high)
        size = sum(part.numel() for part in self.parts(_blank(model, fields)))
        real = np.float64 if self.backend.dtype is torch.float64 else np.float32
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (size,), real)
        super().__init__(
            num_envs,
            max_episode_steps=max_episode_steps,
            device=device,
            dtype=self.backend.dtype,
            **kwargs,
        )
        self.init_qpos = torch.tensor(
            model.qpos0, dtype=self.dtype, device=self.device
        ).unsqueeze(-1)

    def parts(self, state: State) -> list[Tensor]:
        """What is observed, in order: tensors `[..., N]`."""
        raise NotImplementedError(f"{type(self)} lacks parts(state)")

    def reward(self, before: State, action: Tensor, after: State) -> Tensor:
        """Rewards `[N]` of one step."""
        raise NotImplementedError(f"{type(self)} lacks reward(before, action, after)")

    def terminated(self, state: State) -> Tensor:
        """Whether episodes end in this state, bool `[N]`; here they never do."""
        return torch.zeros_like(state["qpos"][0], dtype=torch.bool)

    def initial_state(self, noise: Tensor) -> State:
        """The model's own state, with noise in all positions and velocities."""
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
        """Hold the controls for `frame_skip` steps of the physics."""
        with torch.no_grad():
            after = self.backend.step(state, action, self.frame_skip)
            return after, self.reward(state, action, after), self.terminated(after)

    def observe(self, state: State) -> Tensor:
        """The parts one after the other, `[N, D]`."""
        rows = [part.reshape(-1, self.num_envs) for part in self.parts(state)]
        return torch.cat([row.T for row in rows], dim=1)

    def restart(self, ended: Tensor, state: State, noise: Tensor) -> State:
        """On the CPU, where looking is free, first states for those alone that need it.

        For robots whose fields are observed, a first state costs as much as a step of
        the physics.
        """
        if not ended.is_cpu:
            return super().restart(ended, state, noise)
        columns = ended.nonzero().flatten()
        if not len(columns):
            return state
        fresh = self.initial_state(noise[:, columns])
        return support.tree_map(lambda x, y: x.index_copy(-1, columns, y), state, fresh)


def _load(xml_file: str) -> Any:
    """The `MjModel` of a file of gymnasium's, or of any other."""
    try:
        import mujoco
        from gymnasium.envs.mujoco.mujoco_env import expand_model_path
    except ImportError as reason:
        raise ImportError(
            "physics needs mujoco: pip install 'yieldrl[mujoco]'"
        ) from reason
    model = mujoco.MjModel.from_xml_path(expand_model_path(xml_file))
    kept = 1 + model.nq + model.nv  # the one is the time, which acts on nothing here
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS.value)
    if size != kept or model.nmocap:
        raise ValueError(
            f"xml_file = {xml_file!r}: its state is more than positions and velocities"
            f" ({size} numbers, not {kept}); activations, plugins and mocap bodies are"
            " not supported"
        )
    return model


def _backend(
    name: str | None,
    model: Any,
    num_envs: int,
    fields: Sequence[str],
    threads: int | None,
    device: str | torch.device,
) -> Backend:
    on_cpu = torch.device(device).type == "cpu"
    name = name or ("mujoco" if on_cpu else "warp")
    if name == "warp":
        from yieldrl.envs.physics.warp import WarpBackend

        return WarpBackend(model, num_envs, fields, device)
    if name != "mujoco" or not on_cpu:
        raise ValueError(
            f"backend = {name!r} on {device}: use 'mujoco' on the CPU, or 'warp'"
        )
    from yieldrl.envs.physics.batch import BatchBackend

    return BatchBackend(model, num_envs, fields, threads)


def _blank(model: Any, fields: Sequence[str]) -> State:
    """Zeros of the shapes that the state of one world has."""
    import mujoco

    data = mujoco.MjData(model)
    names = ("qpos", "qvel", *fields)
    return {name: torch.zeros(*getattr(data, name).shape, 1) for name in names}
