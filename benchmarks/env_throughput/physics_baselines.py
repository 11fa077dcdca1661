"""Bare MuJoCo: the physics of a world without rewards, observations and ends of
episodes."""

# pyright: reportAttributeAccessIssue=false, reportMissingImports=false
# mujoco has no types for its compiled half; MuJoCo Warp is optional.

import dataclasses
import itertools
from functools import partial
from typing import Any

import numpy as np

from .batches import POOL, Batch, Setting, actions, builds, in_turn


@builds
def rollout(on: Setting, env_id: str, xml_file: str, frame_skip: int = 5) -> Batch:
    """`mujoco.rollout` of whole states, from where the call before came to."""
    import mujoco
    from mujoco.rollout import Rollout

    model = load(xml_file)
    workspaces = [mujoco.MjData(model) for _ in range(on.threads)]
    # With 0 threads it runs on the calling one.
    pool = Rollout(nthread=on.threads if on.threads > 1 else 0)
    whole = mujoco.mjtState.mjSTATE_FULLPHYSICS
    first = np.empty(mujoco.mj_stateSize(model, whole))
    mujoco.mj_getState(model, workspaces[0], first, whole)
    state = np.tile(first, (on.num_envs, 1))
    path = np.empty((on.num_envs, frame_skip, len(first)))

    def advance(control: np.ndarray) -> None:
        pool.rollout(model, workspaces, state, control, state=path)
        state[:] = path[:, -1]

    drawn = actions(env_id, on.num_envs).astype(np.float64)
    held = [np.repeat(a[:, None], frame_skip, axis=1) for a in drawn]
    step, _ = in_turn(advance, held)
    return Batch(step=step)


@builds
def warp(
    on: Setting, env_id: str, xml_file: str, *, graph: bool, frame_skip: int = 5
) -> Batch:
    """MuJoCo Warp; without a graph each of its kernels is launched from Python."""
    import mujoco
    import mujoco_warp
    import warp

    model = load(xml_file)
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON  # Warp lacks Humanoid's PGS
    warp.set_device(on.device)
    physics = mujoco_warp.put_model(model)
    data = mujoco_warp.make_data(model, nworld=on.num_envs)
    count = itertools.count()

    def launch() -> None:
        for _ in range(frame_skip):
            mujoco_warp.step(physics, data)
        mujoco_warp.rne_postconstraint(physics, data)  # the forces of contacts

    launch()  # compiles, as a capture must not
    run = launch
    if graph:
        with warp.ScopedCapture() as capture:
            launch()
        captured: Any = capture.graph
        run = partial(warp.capture_launch, captured)

    def advance(control: Any) -> None:
        if next(count) % POOL == 0:  # or all of them would lie on the floor
            mujoco_warp.reset_data(physics, data)
        warp.copy(data.ctrl, control)
        run()

    drawn = [warp.array(a) for a in actions(env_id, on.num_envs)]
    step, _ = in_turn(advance, drawn)
    held = allocated(data) / on.num_envs
    return Batch(step=step, wait=warp.synchronize, bytes_per_env=held)


def load(xml_file: str) -> Any:
    """The `MjModel` of one of gymnasium's files."""
    import mujoco
    from gymnasium.envs.mujoco.mujoco_env import expand_model_path

    return mujoco.MjModel.from_xml_path(expand_model_path(xml_file))


def allocated(data: Any) -> int:
    """Bytes of all arrays in one of Warp's structures, and in those inside of it."""
    fields = [getattr(data, field.name) for field in dataclasses.fields(data)]
    inside = sum(allocated(x) for x in fields if dataclasses.is_dataclass(x))
    return inside + sum(getattr(x, "capacity", 0) for x in fields)
