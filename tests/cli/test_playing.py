"""`yieldrl play` shows an agent wherever it lies; those that come along are as said."""

import sys

import pytest

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.tasks import AGENTS, TASKS
from yieldrl.cli import catalog, load_agent, main, playing
from yieldrl.collectors import play_in_order
from yieldrl.exports import JsonPolicy
from yieldrl.loggers import videos

CLIFF = "q_learning/CliffWalking-v1"


@pytest.fixture(autouse=True)
def screen(monkeypatch):
    """There is none; call it, and there is one."""
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return lambda: monkeypatch.setenv("DISPLAY", ":0")


def test_without_a_screen_it_says_so_and_prints_returns(trained, capsys):
    checkpoint = trained / "checkpoints" / "step_000000256.pt"
    for agent in (trained, checkpoint):
        main(["play", str(agent), "--episodes", "3", "--seed", "7"])
        said, why, *episodes = capsys.readouterr().out.splitlines()
        assert said == f"agent: {checkpoint}, step 256"
        assert why.startswith("no window: there is no screen here")
        assert why.endswith("--video FILE.mp4 makes a film")
        with ppo.Trainer.load(checkpoint) as trainer:
            played = play_in_order(trainer.agent, trainer.evaluator.envs, 3, 7)
        assert episodes == [
            f"episode {n}: return {value:g}, length {value:.0f}"
            for n, value in enumerate(played.returns, 1)
        ]


def test_on_a_screen_it_plays_in_a_window(screen, monkeypatch, capsys):
    modes, drawn = [], videos.drawn

    def without_window(trainer, mode):
        modes.append(mode)
        return drawn(trainer, "rgb_array")

    monkeypatch.setattr(videos, "drawn", without_window)
    screen()
    main(["play", CLIFF, "--episodes", "1"])
    assert modes == ["human"]
    assert "no window" not in capsys.readouterr().out
    with load_agent(CLIFF) as trainer:
        trainer.evaluator.envs.metadata = {"render_modes": ["rgb_array"]}
        assert "CliffWalking-v1 opens none" in playing._no_window(trainer)


def test_an_agent_that_comes_along_goes_wherever_a_run_does(trained, capsys, refused):
    main(["play", CLIFF])
    said, evaluated, _, *episodes = capsys.readouterr().out.splitlines()
    assert said.endswith("CliffWalking-v1.safetensors, step 20,000")
    assert evaluated == "evaluated: return -13 +- 0 over 100 episodes"
    assert episodes[4:] == ["episode 5: return -13, length 13"]
    main(["export", CLIFF])  # not into the package
    assert JsonPolicy.load("policy.json").predict([36]) == [0]
    main(["import", CLIFF, "--run-name", "taken"])
    main(["evaluate", "runs/taken", "--episodes", "2"])
    assert "2 episodes: return -13.00 +- 0.00" in capsys.readouterr().out
    message = refused("play", "q_learning/CliffWalkin-v1")
    assert "does not come along: did you mean q_learning/CliffWalking-v1" in message
    assert "a checkpoint needs no import" in refused("import", str(trained))


def test_agents_that_come_along_are_those_of_the_tasks_and_listed(capsys):
    main(["list"])
    listed, tasks = capsys.readouterr().out, []
    for name, path in catalog.agents().items():
        about = catalog.about(path)
        *_, command, task, option, seed = about["command"].split()
        assert (command, option) == ("agents", "--seed"), name
        assert TASKS[task].algorithm == name.partition("/")[0]
        assert int(seed) == about["config"]["trainer"]["seed"]
        assert about["evaluation"]["episodes"] == 100
        assert about["evaluation"]["episode_return"] >= TASKS[task].threshold, name
        assert path.stat().st_size < 200_000
        mean = about["evaluation"]["episode_return"]
        assert f"    yieldrl play {name}: return {mean:.4g} +- " in listed
        tasks.append(task)
    assert sorted(tasks) == sorted(AGENTS)


@pytest.mark.parametrize(
    "name",
    [
        "ppo/CartPole-v1",
        *(pytest.param(name, marks=pytest.mark.slow) for name in catalog.agents()),
    ],
)
def test_an_agent_that_comes_along_plays_as_well_as_its_file_says(name):
    said = catalog.about(catalog.agents()[name])["evaluation"]
    with load_agent(name) as trainer:
        found = trainer.evaluate(20)["logs"]["episode_return"]
    error = 4 * said["episode_return_std"] / 20**0.5
    assert abs(found - said["episode_return"]) <= error + 1e-6
