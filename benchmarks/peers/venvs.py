"""A virtual environment for each peer, made when it is first needed: peers ask for
versions of packages that contradict each other and ours."""

import os
import subprocess
import venv
from pathlib import Path
from typing import NamedTuple

# one for all, so that PyTorch makes no difference. On Linux the index may have it with
# several GB of CUDA; PyTorch's own index for the CPU has a small one.
TORCH = "torch==2.13.0"

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
NUMPY = "numpy==2.4.6"
GYMNASIUM = "gymnasium==1.4.0"
SB3 = "stable-baselines3==2.9.2"


class Peer(NamedTuple):
    title: str
    requirements: tuple[str, ...]  # pinned, so that a result can be repeated


# key -> peer; its side is `sides/KEY.py`
PEERS = {
    "sb3": Peer("Stable-Baselines3", (TORCH, SB3, GYMNASIUM, NUMPY)),
    "rsl_rl": Peer("rsl-rl-lib", (TORCH, "rsl-rl-lib==5.5.1", NUMPY)),
}


def python_of(name: str, folder: Path) -> Path:
    """The Python of a peer's environment, which is made, or brought up to its
    requirements.

    Raises:
        RuntimeError: If it cannot be made.
    """
    wanted, home = PEERS[name].requirements, (folder / name).absolute()
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"{name}: installing {', '.join(wanted)} in {home}", flush=True)
        venv.create(home, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *wanted]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(
            f"{name}: pip cannot install {', '.join(wanted)}:\n{done.stderr[-1000:]}\n"
            f"On Linux PIP_EXTRA_INDEX_URL={CPU_INDEX} takes a small build of PyTorch;"
            " to do without it: name the others by --peers"
        )
    return python
