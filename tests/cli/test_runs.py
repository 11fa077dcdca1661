"""`yieldrl evaluate`, `resume` and `plot`: what a run is good for afterwards."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yieldrl.algorithms import ppo
from yieldrl.cli import evaluating, main
from yieldrl.loggers import list_checkpoints

Run = Callable[..., Path]


def steps_of(run: Path) -> list[int]:
    return sorted(
        int(path.stem.removeprefix("step_")) for path in list_checkpoints(run)
    )


def test_evaluate_prints_every_episode(
    train: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train()
    capsys.readouterr()
    main(["evaluate", str(run), "--episodes", "3", "--seed", "7"])
    checkpoint, *episodes, summary = capsys.readouterr().out.splitlines()
    assert checkpoint == f"checkpoint: {run}/checkpoints/step_000000256.pt"
    assert [line.partition(":")[0] for line in episodes] == [
        "episode   1",
        "episode   2",
        "episode   3",
    ]
    with ppo.Trainer.load(run / "checkpoints" / "step_000000256.pt") as trainer:
        expected = evaluating.report(trainer, 3, 7, every_episode=True)
    assert [*episodes, summary] == expected.splitlines()


def test_evaluate_takes_the_best_or_any_other(
    train: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train("--eval-every", "128", "--eval-episodes", "1")
    folder = run / "checkpoints"
    last = folder / "step_000000256.pt"
    for words, path in [
        ((str(run),), folder / "best.pt"),
        ((str(run), "--checkpoint", "last"), last),
        ((str(run), "--checkpoint", last.name), last),
        ((str(last),), last),
    ]:
        main(["evaluate", *words, "--episodes", "1"])
        assert f"checkpoint: {path}\n" in capsys.readouterr().out


def test_what_cannot_be_evaluated_gets_one_line(train: Run, refused: Any) -> None:
    run = train()
    assert "no such folder of a run" in refused("evaluate", "runs/none")
    assert "no checkpoints/step_*.pt" in refused("evaluate", "runs")
    assert "not usable" in refused("evaluate", str(run), "--device", "abacus")
    path = list_checkpoints(run)[0]
    path.write_bytes(path.read_bytes()[:-5])
    assert "cut off" in refused("evaluate", str(run))
    Path("notes.txt").write_text("hello")
    assert "no checkpoint of ours" in refused("evaluate", "notes.txt")


def test_resume_goes_on_in_the_same_folder(
    train: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train()
    lines = (run / "logs.csv").read_text().splitlines()
    main(["resume", str(run), "--total-steps", "512"])
    out = capsys.readouterr().out
    assert f"goes on from {run}/checkpoints/step_000000256.pt, step 256" in out
    assert out.endswith(f"run folder: {run}\n")
    assert steps_of(run) == [256, 512]
    assert (run / "logs.csv").read_text().splitlines()[: len(lines)] == lines
    assert ppo.Config.from_file(run / "config.yaml").total_steps == 512
    assert [path.name for path in Path("runs").iterdir()] == ["tiny"]


def test_resume_ends_where_an_unbroken_run_does(train: Run) -> None:
    """A moved run, too: the folder that was named counts, not the one of old."""
    still = ("--no-anneal-learning-rate", "--env-id", "yieldrl/CartPole-v1")
    whole = train("--total-steps", "512", *still, name="whole")
    train(*still, name="half")
    shutil.move("runs/half", "moved")
    main(["resume", "moved", "--total-steps", "512"])
    assert not Path("runs/half").exists()
    one, two = (
        ppo.Trainer.load(run / "checkpoints" / "step_000000512.pt")
        for run in (whole, Path("moved"))
    )
    ours, theirs = (t.model.state_dict() for t in (one, two))
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_taken(
    train: Run, capsys: pytest.CaptureFixture[str], refused: Any
) -> None:
    run = train()
    main(["resume", str(run), "--total-steps", "384"])
    newest, before = list_checkpoints(run)
    newest.write_bytes(newest.read_bytes()[:1000])
    capsys.readouterr()
    main(["resume", str(run)])
    captured = capsys.readouterr()
    assert f"not usable: {newest}: cut off" in captured.err
    assert f"goes on from {before}, step 256" in captured.out
    assert steps_of(run) == [256, 384]

    for path in list_checkpoints(run):
        path.write_bytes(b"")
    with pytest.raises(SystemExit) as exit_:
        main(["resume", str(run)])
    assert exit_.value.code == 2
    assert "none of 2 checkpoints is usable" in capsys.readouterr().err


def test_what_cannot_go_on_gets_one_line(train: Run, refused: Any) -> None:
    run = train()
    finished = refused("resume", str(run))
    assert "finished, 256 of 256 steps are taken" in finished
    assert "--total-steps" in finished
    assert "total_steps = 0" in refused("resume", str(run), "--total-steps", "0")
    assert "no such folder of a run" in refused("resume", "runs/none")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("gone_ppo.trainer", "run this in the folder that holds gone_ppo/"),
        ("json.decoder", "which has no class Trainer"),
    ],
)
def test_a_trainer_that_is_not_found_gets_one_line(
    module: str,
    message: str,
    train: Run,
    refused: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(ppo.Trainer, "__module__", module)
        run = train()
    assert message in refused("resume", str(run))


def test_plot_draws_runs(train: Run, capsys: pytest.CaptureFixture[str]) -> None:
    evaluated = ("--eval-every", "128", "--eval-episodes", "1")
    runs = [train(*evaluated, "--seed", seed, name=seed) for seed in "12"]
    capsys.readouterr()
    main(["plot", *map(str, runs), "--out", "all.png"])
    assert capsys.readouterr().out.splitlines() == ["all.png", "all.svg"]
    assert b"ppo (2 runs)" in Path("all.svg").read_bytes()
    main(["plot", "runs", "--metric", "loss", "--log-type", "train"])
    assert Path("curves.png").is_file()


def test_what_cannot_be_plotted_gets_one_line(train: Run, refused: Any) -> None:
    run = train()
    assert "no evaluate/episode_return; it has" in refused("plot", str(run))
    assert "nowhere: neither it nor a folder in it" in refused("plot", "nowhere")
    assert "no runs: name at least one" in refused("plot")


def test_a_video_is_filmed(train: Run, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("imageio_ffmpeg")
    pytest.importorskip("pygame")
    run = train()
    main(["evaluate", str(run), "--episodes", "1", "--video", "film/one.mp4"])
    assert Path("film/one.mp4").stat().st_size > 0
    assert "one.mp4" in capsys.readouterr().out
