"""Load MuJoCo models from files, and vary them between worlds."""

# pyright: reportAttributeAccessIssue=false
# mujoco has no types for its compiled half.

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

WORLD_MEMORY = 2**20
"""Bytes for contacts and scratch memory of a world with its own `MjData`, if the file
has no size. A fallen humanoid takes 45 kB; MuJoCo's default is 15 MB."""

SCALED = {
    "gravity": ("opt.gravity",),  # from a size of 1
    "mass_scale": ("body_mass", "body_inertia"),
    "friction_scale": ("geom_friction", "pair_friction"),
    "damping_scale": ("dof_damping",),
    "gear_scale": ("actuator_gear",),
}
"""Parameter of the worlds -> fields of `MjModel` that it scales."""

PARAMETERS = tuple(SCALED)


def load(xml_file: str, *, small: bool) -> Any:
    """The `MjModel` of a file of gymnasium's, or of any other.

    With `small`, an `MjData` (each world with contact forces has one) gets
    `WORLD_MEMORY` instead of MuJoCo's default size. ImportError if mujoco is missing,
    ValueError if the model has a state that worlds do not store.
    """
    try:
        import mujoco
        from gymnasium.envs.mujoco.mujoco_env import expand_model_path
    except ImportError as reason:
        needed = "physics needs mujoco: pip install 'yieldrl[mujoco]'"
        raise ImportError(needed) from reason
    spec = mujoco.MjSpec.from_file(expand_model_path(xml_file))
    if small and spec.memory < 0:
        spec.memory = WORLD_MEMORY
    # MuJoCo can scale to the file's total mass in `compile`, but warns each time that
    # this is deprecated.
    mass, spec.compiler.settotalmass = spec.compiler.settotalmass, -1
    model = spec.compile()
    if mass > 0:
        mujoco.mj_setTotalmass(model, mass)
        mujoco.mj_setConst(model, mujoco.MjData(model))
    if model.na or model.nmocap or model.nplugin:
        unknown = "activations, mocap bodies and plugins are not supported"
        raise ValueError(f"xml_file = {xml_file!r}: {unknown}")
    return model


def find(model: Any, name: str) -> Any:
    """A field of `MjModel` as an array; those of its options begin with `opt.`.
    ValueError if it is missing or not numeric."""
    field: Any = model
    for part in name.split("."):
        field = getattr(field, part, None)
    if getattr(field, "dtype", None) != "float64":
        raise ValueError(
            f"{name!r} is none of {list(PARAMETERS)}, and no array of floats in"
            " MjModel: name one, such as 'body_mass' or 'opt.wind'"
        )
    return field


def fields_of(
    envs: Any, values: Mapping[str, Any], *, check: bool
) -> dict[str, Tensor]:
    """Fields `[N, ...]` that replace the model's own, from arguments of
    `set_parameters`. To `check` whether scales are positive waits for a GPU."""
    fields: dict[str, Tensor] = {}
    for name, given in values.items():
        if name not in PARAMETERS:
            if find(envs.model, name).size:
                fields[name] = _one_per_world(envs, name, given)
            continue
        value = envs.parameter(name, given)
        scales = check and name != "gravity"
        if scales and ((value < 0).any() or (name == "mass_scale" and not value.all())):
            raise ValueError(f"{name} = {given}: must be positive, or 0 but for masses")
        for field in SCALED[name]:
            unvaried = unvaried_field(envs, field)
            if not unvaried.numel():
                continue
            unvaried = unvaried / unvaried.norm() if name == "gravity" else unvaried
            scaled = value.reshape(-1, *[1] * unvaried.ndim) * unvaried
            fields[field] = _one_per_world(envs, field, scaled)
    return fields


def unvaried_field(envs: Any, name: str) -> Tensor:
    """A field of the unvaried model, on the worlds' device."""
    if name not in envs._unvaried_fields:  # copied once: copying to a GPU synchronizes
        field = torch.tensor(find(envs.model, name), dtype=envs.dtype)
        envs._unvaried_fields[name] = field.to(envs.device)
    return envs._unvaried_fields[name]


def _one_per_world(envs: Any, name: str, field: Any) -> Tensor:
    shape = find(envs.model, name).shape
    field = torch.as_tensor(field, dtype=envs.dtype, device=envs.device)
    if field.shape[1:] != shape or field.shape[0] not in (1, envs.num_envs):
        raise ValueError(
            f"model_fields: {name} has the shape {list(field.shape)}, not"
            f" {[envs.num_envs, *shape]}"
        )
    return field.expand(envs.num_envs, *shape)
