"""A virtual environment for each peer, made when it is first needed: peers ask for
versions of packages that contradict each other and ours."""

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from yieldrl.benchmarks import results

# environment variable that names the folder of the virtual environments
FOLDER = "YIELDRL_PEERS"

# one for all, so that PyTorch makes no difference. On Linux the index may have it with
# several GB of CUDA; PyTorch's own index for the CPU has a small one.
TORCH = "torch==2.13.0"

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
NUMPY, MUJOCO = "numpy==2.4.6", "mujoco==4.0.0"
GYMNASIUM = "gymnasium[mujoco]==1.4.0"
SB3, JAX = "stable-baselines3==2.9.2", "jax==0.10.2"


@dataclass(frozen=True, kw_only=True)
class Peer:
    title: str
    # what pip installs; pinned, so that a result can be repeated
    requirements: tuple[str, ...]


# key -> peer; its side is `sides/KEY.py`
PEERS = {
    "sb3": Peer(
        title="Stable-Baselines3",
        requirements=(TORCH, SB3, GYMNASIUM, MUJOCO, "minatar==1.0.15", NUMPY),
    ),
    "sbx": Peer(
        title="SBX",
        requirements=(TORCH, SB3, "sbx-rl==0.28.0", JAX, GYMNASIUM, MUJOCO, NUMPY),
    ),
    "rsl_rl": Peer(
        title="rsl-rl-lib", requirements=(TORCH, "rsl-rl-lib==5.5.1", NUMPY)
    ),
    "jax": Peer(title="a program in JAX", requirements=(JAX, NUMPY)),
    "skrl": Peer(
        title="skrl", requirements=(TORCH, "skrl==2.1.1", GYMNASIUM, MUJOCO, NUMPY)
    ),
    "tianshou": Peer(
        title="Tianshou",
        requirements=(TORCH, "tianshou==2.0.1", GYMNASIUM, MUJOCO, NUMPY),
    ),
    "torchrl": Peer(
        title="TorchRL",
        requirements=(TORCH, "torchrl==0.14.1", GYMNASIUM, MUJOCO, NUMPY),
    ),
    "trl": Peer(  # of the claim `writing tokens`
        title="TRL",
        requirements=(TORCH, "trl==1.16.0", "transformers==5.24.0", NUMPY),
    ),
}


def default_folder() -> Path:
    chosen = os.environ.get(FOLDER)
    return Path(chosen) if chosen else results.ROOT / ".cache" / "peers"


def python_of(name: str, folder: Path) -> Path:
    """The Python of a peer's environment, which is made, or brought up to its
    requirements.

    Raises:
        RuntimeError: If it cannot be made.
    """
    peer, home = PEERS[name], (folder / name).absolute()
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp, wanted = home / "installed.txt", "\n".join(peer.requirements)
    if stamp.exists() and stamp.read_text("utf-8") == wanted and python.exists():
        return python
    print(f"{name}: installing {', '.join(peer.requirements)} in {home}", flush=True)
    stamp.unlink(missing_ok=True)
    if not python.exists():
        _make(name, home)
    _install(name, python, peer.requirements)
    stamp.write_text(wanted, "utf-8")
    return python


def _make(name: str, home: Path) -> None:
    try:
        venv.create(home, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as reason:
        raise RuntimeError(
            f"{name}: there is no virtual environment in {home} and none can be made"
            f" ({reason}): install Python's module venv, or name a folder that can be"
            f" written with --venvs or {FOLDER}"
        ) from reason


def _install(name: str, python: Path, requirements: tuple[str, ...]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", *requirements]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode == 0:
        return
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    why = "\n".join(errors) or done.stderr[-1000:]
    others = " ".join(other for other in PEERS if other != name)
    raise RuntimeError(
        f"{name}: pip cannot install {', '.join(requirements)} for"
        f" {sys.version.split()[0]}:\n{why}\nIf the index was out of reach, try again;"
        f" on Linux PIP_EXTRA_INDEX_URL={CPU_INDEX} takes the small build of PyTorch;"
        f" to do without {name}: --peers {others}"
    )
