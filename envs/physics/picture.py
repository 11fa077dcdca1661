"""Offscreen rendering of MuJoCo worlds."""

# pyright: reportAttributeAccessIssue=false
# mujoco has no types for its compiled half.

import copy
import importlib
import os
import sys
import weakref
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from gymnasium.error import DependencyNotInstalled

from yieldrl.core.device import has_screen
from yieldrl.envs.physics.model import find

MAX_GEOMS = 1000


class Painter:
    """Renders states of a model, seen by a camera (attributes of `MjvCamera`) that
    follows the robot, in frames of a given size.

    A painter has its own OpenGL context, which needs a system library: the variable
    `MUJOCO_GL` names it, "glfw" (with a screen), "egl" or "osmesa". Without the
    variable, Linux without a screen uses EGL. DependencyNotInstalled, with what to
    install, if there is none.
    """

    def __init__(
        self, model: Any, camera: Mapping[str, Any], width: int, height: int
    ) -> None:
        self._model = model = copy.copy(model)
        size = model.vis.global_  # frame size in graphics memory
        size.offwidth, size.offheight = width, height
        self._size = mujoco.MjrRect(0, 0, width, height)
        self._data = mujoco.MjData(model)
        self._camera, self._options = mujoco.MjvCamera(), mujoco.MjvOption()
        for name, value in camera.items():
            setattr(self._camera, name, value)
        self._scene = mujoco.MjvScene(model, MAX_GEOMS)
        self._screen, self._context = _contexts(model, width, height)
        self.close = weakref.finalize(self, _free, self._screen, self._context)
        self.close.atexit = False  # the display may be closed by then

    def draw(
        self, qpos: np.ndarray, qvel: np.ndarray, fields: Mapping[str, Any], index: int
    ) -> np.ndarray:
        """Render a state of a world, uint8 `[height, width, 3]`; its fields of the
        model are at this index of those of all, `[N, ...]`."""
        model, data = self._model, self._data
        for name, values in fields.items():
            find(model, name)[:] = values[index].cpu().numpy()
        mujoco.mj_setConst(model, data)
        everything = mujoco.mjtCatBit.mjCAT_ALL
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
        picture = np.empty((self._size.height, self._size.width, 3), np.uint8)
        with self._screen.as_current():
            mujoco.mjv_updateScene(
                model, data, self._options, None, self._camera, everything, self._scene
            )
            mujoco.mjr_render(self._size, self._scene, self._context)
            mujoco.mjr_readPixels(picture, None, self._size, self._context)
        return picture[::-1].copy()  # OpenGL's first row is the bottom


def _contexts(model: Any, width: int, height: int) -> tuple[Any, Any]:
    """Create an OpenGL context, and MuJoCo's inside it."""
    name = opengl()
    try:
        screen = importlib.import_module(f"mujoco.{name}").GLContext(width, height)
        with screen.as_current():
            context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
    except Exception as reason:  # each library has its own errors
        raise DependencyNotInstalled(
            f"no picture, for OpenGL does not work with MUJOCO_GL={name}: {reason}."
            " Without a screen, install EGL (Debian: apt install libegl1) and set"
            " MUJOCO_GL=egl, or OSMesa (apt install libosmesa6) and set"
            " MUJOCO_GL=osmesa, before Python starts"
        ) from reason
    return screen, context


def opengl() -> str:
    """The module of MuJoCo that provides OpenGL."""
    asked = os.environ.get("MUJOCO_GL", "").lower()
    if asked in ("cgl", "egl", "glfw", "osmesa"):
        return asked
    if sys.platform == "darwin":
        return "cgl"
    return "glfw" if has_screen() else "egl"


def _free(screen: Any, context: Any) -> None:
    """Free a context after making it current: otherwise another one is freed."""
    with screen.as_current():
        context.free()
    screen.free()
