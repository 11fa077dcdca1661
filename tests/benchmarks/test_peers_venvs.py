"""Virtual environments of peers: made once, and errors that say what to do."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from yieldrl.benchmarks.peers import venvs


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What pip was asked for; environments are empty files."""
    calls: list[list[str]] = []

    def create(home: Path, *, with_pip: bool) -> None:
        assert with_pip
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "python").touch()

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(venvs.venv, "create", create)
    monkeypatch.setattr(venvs.subprocess, "run", run)
    return calls


def test_an_environment_is_made_once(
    installed: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = venvs.python_of("jax", tmp_path)
    assert venvs.python_of("jax", tmp_path) == python
    assert python == tmp_path / "jax" / "bin" / "python"
    (command,) = installed
    assert command[-2:] == [*venvs.PEERS["jax"].requirements]
    newer = venvs.Peer(title="JAX", requirements=("jax==99",))
    monkeypatch.setitem(venvs.PEERS, "jax", newer)
    venvs.python_of("jax", tmp_path)
    assert installed[1][-1] == "jax==99"


def test_what_cannot_be_installed_is_named(
    installed: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        said = "a warning\nERROR: No matching distribution found for jax==0.10.2\n"
        return subprocess.CompletedProcess(command, 1, "", said)

    works = venvs.subprocess.run
    monkeypatch.setattr(venvs.subprocess, "run", fail)
    said = (
        "jax: pip cannot install jax==.*\nERROR: No matching.*without jax: --peers sb3"
    )
    with pytest.raises(RuntimeError, match=f"(?s){said}"):
        venvs.python_of("jax", tmp_path)
    monkeypatch.setattr(venvs.subprocess, "run", works)
    venvs.python_of("jax", tmp_path)
    assert len(installed) == 1, "half an environment is no environment"


def test_where_none_can_be_made_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(*_: Any, **__: Any) -> None:
        raise PermissionError("not yours")

    monkeypatch.setattr(venvs.venv, "create", create)
    with pytest.raises(RuntimeError, match=r"sb3: there is no.*not yours.*--venvs"):
        venvs.python_of("sb3", tmp_path)


def test_a_variable_says_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(venvs.FOLDER, raising=False)
    assert venvs.default_folder().parts[-2:] == (".cache", "peers")
    monkeypatch.setenv(venvs.FOLDER, "elsewhere")
    assert venvs.default_folder() == Path("elsewhere")


@pytest.mark.parametrize("name", venvs.PEERS)
def test_requirements_are_pinned_and_have_one_pytorch(name: str) -> None:
    requirements = venvs.PEERS[name].requirements
    assert all("==" in requirement for requirement in requirements)
    torch = [r for r in requirements if r.startswith("torch==")]
    assert torch == ([] if name == "jax" else [venvs.TORCH])
