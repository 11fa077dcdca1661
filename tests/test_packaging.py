"""The root folder is the package: what it lists, what it ships, what it imports."""

import os
import shutil
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
    "exercises",
    "experiments",
    "exports",
    "foundations",
    "loggers",
    "networks",
    "speed",
    "vla",
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
    assert sorted(banned) == sorted(["abstractions", "benchmarks", *ROOMS])


def test_everything_installs_everything():
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(extras) >= {"wandb", "mujoco", "atari", "box2d", "docs", "dev", "all"}
    assert extras["all"] == [
        "yieldrl[atari,box2d,docs,minari,mujoco,notebook,onnx,vla,wandb,warp]"
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from the files of this checkout, in a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignore = shutil.ignore_patterns(".*", "build", "dist", "site", "runs", "*.egg-info")
    shutil.copytree(ROOT, source, ignore=ignore)
    run("-m", "build", "--wheel", "--outdir", str(folder), str(source))
    (found,) = folder.glob("*.whl")
    return found


def run(*words, **kwargs):
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, **kwargs
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_a_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    code = [n for n in names if ".dist-info/" not in n]
    assert all(n.startswith("yieldrl/") for n in code)
    assert {n.split("/")[1] for n in code} == {
        *ROOMS,
        "__init__.py",
        "__main__.py",
        "abstractions.py",
        "late_dynamo.py",
        "py.typed",
    }
    assert "yieldrl/algorithms/ppo/configs/pendulum.yaml" in code
    assert any(n.endswith("/LICENSE") for n in names)


@pytest.mark.slow
def test_a_copied_folder_runs_from_an_installed_wheel(wheel, tmp_path):
    """With no checkout in sight: the wheel's files come first on the path."""
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel)
    where = {"cwd": work, "env": os.environ | {"PYTHONPATH": str(site)}}
    program = "import yieldrl, yieldrl.cli as cli; print(yieldrl.__file__)"
    found, *listed = run("-c", f"{program}; cli.main(['list'])", **where).splitlines()
    assert Path(found) == site / "yieldrl" / "__init__.py"
    assert any(line.split()[:1] == ["ppo"] for line in listed)
    shutil.copytree(site / "yieldrl" / "algorithms" / "ppo", work / "my_ppo")
    options = ("--total-steps", "512", "--eval-every", "0", "--run-name", "mine")
    out = run("-m", "my_ppo", *options, **where)
    assert "my_ppo on CartPole-v1, 20 episodes: return " in out
    assert (work / "runs" / "mine" / "logs.csv").is_file()


HEAVY = ["wandb", "matplotlib", "IPython", "imageio_ffmpeg", "mujoco", "ale_py"]
HEAVY += ["pygame", "tensorboard", "stable_baselines3"]


PROGRAM = f"""
import sys, yieldrl.envs
print("torch._dynamo" in sys.modules)
import yieldrl.algorithms.ppo, yieldrl.algorithms.dqn, yieldrl.loggers
print([name for name in {HEAVY} if name in sys.modules])
"""


def test_importing_costs_no_compiler_and_no_optional_package():
    """The compiler takes two seconds, and only those who compile need it."""
    compiler, optional = run("-c", PROGRAM).splitlines()
    assert compiler == "False"
    assert optional == "[]"


def test_the_package_itself_imports_nothing():
    program = "import sys, yieldrl; print('torch' in sys.modules, dir(yieldrl))"
    heavy, names = run("-c", program).split(maxsplit=1)
    assert heavy == "False"
    assert "check_algorithm" in names
    assert yieldrl.check_algorithm.__name__ == "check_algorithm"
    with pytest.raises(AttributeError, match="'yieldrl' has no attribute 'nothing'"):
        _ = yieldrl.nothing


def test_version():
    assert yieldrl.__version__.count(".") == 2
