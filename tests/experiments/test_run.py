"""A run's folder, and loading what was saved."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from yieldrl.experiments import (
    CheckpointError,
    Config,
    Run,
    load_checkpoint,
    save_checkpoint,
)


class Counter(Run):
    """The least that can be saved and loaded."""

    config_class = Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.count = 0
        self.closed = 0

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.count = state["count"] + 0

    def close(self) -> None:
        self.closed += 1


def counter(tmp_path: Path, **config: Any) -> Counter:
    return Counter(Config(run_root=str(tmp_path / "runs"), **config))


def test_a_folder_is_named_after_algorithm_environment_and_seed(tmp_path: Path) -> None:
    run = counter(tmp_path, env_id="my.module:ALE/Pong-v5", seed=7)
    assert not (tmp_path / "runs").exists()
    assert "-my.module-ALE-Pong-v5-seed7-" in run.run_dir.name
    assert run.run_dir.is_dir()
    assert run.run_dir is run.run_dir


def test_a_folder_that_holds_something_is_not_shared(tmp_path: Path) -> None:
    for name in ("mine", "mine-2", "mine-3"):
        folder = counter(tmp_path, run_name="mine").run_dir
        assert folder == tmp_path / "runs" / name
        (folder / "logs.csv").touch()
    (tmp_path / "runs" / "empty").mkdir()
    assert counter(tmp_path, run_name="empty").run_dir.name == "empty"


def test_what_was_saved_goes_on_in_its_folder(tmp_path: Path) -> None:
    run = counter(tmp_path, seed=5, run_name="mine")
    run.count = 3
    before = run.save(tmp_path / "before.pt")  # nobody has asked for the folder yet
    assert load_checkpoint(before)["run_dir"] is None
    path = run.save(run.run_dir / "one.pt")
    again = Counter.load(path)
    assert (again.count, again.config, again.run_dir) == (3, run.config, run.run_dir)
    assert load_checkpoint(path)["algorithm"] == __name__
    assert Counter.load(path, config=Config(seed=6)).config.seed == 6


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "'config'"),
        ({"config": {"gamma": 1}}, "no field 'gamma'"),
        ({"config": {"seed": -1}}, "seed = -1"),
        ({"config": {}}, "'count'"),
        ({"config": {}, "count": "three"}, "str"),
    ],
)
def test_what_does_not_fit_is_refused(
    state: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = save_checkpoint({"algorithm": "other", **state}, tmp_path / "other.pt")
    with pytest.raises(CheckpointError, match="saved by other") as caught:
        Counter.load(path)
    assert message in str(caught.value)


def test_a_run_that_could_not_be_loaded_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []
    monkeypatch.setattr(Counter, "close", lambda self: closed.append(self))
    path = save_checkpoint({"config": {}}, tmp_path / "other.pt")
    with pytest.raises(CheckpointError):
        Counter.load(path)
    assert len(closed) == 1


def test_with_closes(tmp_path: Path) -> None:
    with counter(tmp_path) as run:
        pass
    assert run.closed == 1
