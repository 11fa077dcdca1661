"""The root folder is the package: what it lists, what it ships, what it imports."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import yieldrl

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = [
    "algorithms",
    "buffers",
    "cli",
    "collectors",
    "envs",
    "experiments",
    "loggers",
    "networks",
]


def folders_on_disk():
    found = ["yieldrl"]
    for room in ROOMS:
        for init in sorted((ROOT / room).rglob("__init__.py")):
            found.append(".".join(["yieldrl", *init.parent.relative_to(ROOT).parts]))
    return found


def test_every_folder_is_listed():
    assert sorted(PROJECT["tool"]["setuptools"]["packages"]) == sorted(
        folders_on_disk()
    )


def test_every_room_bans_its_bare_import():
    banned = PROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert sorted(banned) == sorted(["abstractions", *ROOMS])


def test_everything_installs_everything():
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(extras) >= {"wandb", "mujoco", "atari", "docs", "dev", "all"}
    assert extras["all"] == ["yieldrl[atari,docs,mujoco,notebook,wandb]"]


@pytest.mark.slow
def test_a_wheel_holds_the_package_and_nothing_else(tmp_path):
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path)]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    code = [n for n in names if ".dist-info/" not in n]
    assert all(n.startswith("yieldrl/") for n in code)
    assert {n.split("/")[1] for n in code} == {
        *ROOMS,
        "__init__.py",
        "__main__.py",
        "abstractions.py",
        "py.typed",
    }
    assert any(n.endswith("/LICENSE") for n in names)


def test_importing_costs_no_optional_package():
    program = (
        "import sys, yieldrl.algorithms.ppo, yieldrl.algorithms.dqn, yieldrl.loggers\n"
        "heavy = {'wandb', 'matplotlib', 'IPython', 'imageio_ffmpeg', 'mujoco',"
        " 'ale_py', 'pygame', 'tensorboard', 'stable_baselines3'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_version():
    assert yieldrl.__version__.count(".") == 2
