"""MuJoCo's models: read from their files, and varied from world to world."""

# pyright: reportAttributeAccessIssue=false
# mujoco has no types for its compiled half.

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import State

WORLD_MEMORY = 2**20
"""Bytes for the contacts and the scratch of a world that has an `MjData` of its own, if
the file does not say. A fallen humanoid takes 45 kB; MuJoCo's own guess is 15 MB, which
are reserved for every world though hardly any of it is ever touched."""

SCALED = {
    "mass_scale": ("body_mass", "body_inertia"),
    "friction_scale": ("geom_friction", "pair_friction"),
    "damping_scale": ("dof_damping",),
    "gear_scale": ("actuator_gear",),
}
"""What a parameter of the worlds scales, as fields of `MjModel`."""


def load(xml_file: str, *, small: bool) -> Any:
    """The `MjModel` of a file of gymnasium's, or of any other.

    Args:
        xml_file: The file.
        small: Whether an `MjData` gets `WORLD_MEMORY`, and not what MuJoCo would take.

    Raises:
        ImportError: If mujoco is missing.
        ValueError: If the model has a state that worlds do not keep.
    """
    try:
        import mujoco
        from gymnasium.envs.mujoco.mujoco_env import expand_model_path
    except ImportError as reason:
        raise ImportError(
            "physics needs mujoco: pip install 'yieldrl[mujoco]'"
        ) from reason
    spec = mujoco.MjSpec.from_file(expand_model_path(xml_file))
    if small and spec.memory < 0:
        spec.memory = WORLD_MEMORY
    model = _compiled(spec)
    kept = 1 + model.nq + model.nv  # the one is the time, which acts on nothing here
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS.value)
    if size != kept or model.nmocap:
        raise ValueError(
            f"xml_file = {xml_file!r}: its state is more than positions and velocities"
            f" ({size} numbers, not {kept}); activations, plugins and mocap bodies are"
            " not supported"
        )
    return model


def _compiled(spec: Any) -> Any:
    """The `MjModel`, with the total mass that the file asks for.

    MuJoCo can scale to it within `compile`, and warns each time that it will not do so
    any more one day, which users of gymnasium's files can do nothing about.
    """
    import mujoco

    mass, spec.compiler.settotalmass = spec.compiler.settotalmass, -1
    model = spec.compile()
    if mass > 0:
        mujoco.mj_setTotalmass(model, mass)
        mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def blank(model: Any, fields: Sequence[str]) -> State:
    """Zeros of the shapes that the state of one world has."""
    import mujoco

    data = mujoco.MjData(model)
    names = ("qpos", "qvel", *fields)
    return {name: torch.zeros(*getattr(data, name).shape, 1) for name in names}


def find(model: Any, name: str) -> Any:
    """A field of `MjModel` as an array; those of its options begin with `opt.`.

    Raises:
        ValueError: If it is not there, or holds something else than numbers.
    """
    field: Any = model
    for part in name.split("."):
        field = getattr(field, part, None)
    if getattr(field, "dtype", None) != "float64":
        raise ValueError(
            f"model_fields: {name!r} is no array of floats in MjModel; name one, such"
            " as 'body_mass' or 'opt.gravity'"
        )
    return field


def varied(
    envs: Any, parameters: Mapping[str, Any], model_fields: Mapping[str, Any]
) -> dict[str, Tensor]:
    """Fields `[N, ...]` of the model, of what worlds have in place of its own.

    The arguments are those of `SimulationVectorEnv.vary`.
    """
    fields: dict[str, Any] = {}
    for name, given in parameters.items():
        if name != "gravity" and name not in SCALED:
            raise TypeError(f"vary() knows gravity and {[*SCALED]}, not {name!r}")
        if given is None:
            continue
        value = envs.parameter(name, given)
        if name == "gravity":
            down = torch.tensor([0.0, 0.0, -1.0]).to(value)
            fields["opt.gravity"] = value.reshape(-1, 1) * down
            continue
        if (value < 0).any() or (name == "mass_scale" and not value.all()):
            raise ValueError(f"{name} = {given}: must be positive, or 0 but for masses")
        for field in SCALED[name]:
            own = torch.as_tensor(find(envs.model, field)).to(value)
            fields[field] = value.reshape(-1, *[1] * own.ndim) * own
    return {
        name: _one_per_world(envs, name, field)
        for name, field in {**fields, **model_fields}.items()
        if find(envs.model, name).size
    }


def _one_per_world(envs: Any, name: str, field: Any) -> Tensor:
    own = find(envs.model, name).shape
    field = torch.as_tensor(field, dtype=envs.dtype, device=envs.device)
    if field.shape[1:] != own or field.shape[0] not in (1, envs.num_envs):
        raise ValueError(
            f"model_fields: {name} has the shape {list(field.shape)}, not"
            f" {[envs.num_envs, *own]}"
        )
    return field.expand(envs.num_envs, *own)


def of_world(model: Any, fields: Mapping[str, Tensor], index: int) -> Any:
    """The model as it is in one world: a copy, if it differs."""
    if not fields:
        return model
    import mujoco

    model = copy.copy(model)
    for name, values in fields.items():
        find(model, name)[:] = values[index].cpu().numpy()
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model
