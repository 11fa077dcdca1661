"""The command line of `python -m benchmarks`."""

import pytest

from yieldrl.benchmarks.__main__ import parse


def test_without_a_command_it_measures_the_speed_of_all_workloads() -> None:
    parsed = parse([])
    assert parsed.command == "speed"
    assert parsed.workloads == []
    assert (parsed.runs, parsed.steps, parsed.threads) == (5, None, 1)
    assert not parsed.compile


def test_speed_takes_workloads_and_options() -> None:
    parsed = parse(["speed", "W1", "W4", "--runs", "2", "--steps", "9000", "--compile"])
    assert parsed.workloads == ["W1", "W4"]
    assert (parsed.runs, parsed.steps, parsed.compile) == (2, 9000, True)


def test_learning_takes_a_task() -> None:
    parsed = parse(["learning", "dqn-cartpole", "--seeds", "3", "--out", "a.json"])
    assert (parsed.command, parsed.task) == ("learning", "dqn-cartpole")
    assert (parsed.seeds, parsed.out) == (3, "a.json")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["speed", "W99"], "W99"),
        (["speed", "--runs", "0"], "at least 1"),
        (["learning", "ppo-chess"], "ppo-chess"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(arguments)
    assert complaint in capsys.readouterr().err
